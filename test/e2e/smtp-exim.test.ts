import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/base/secrets/secret.ts';
import { deliver } from '../../src/deliver/deliver.ts';
import { smtpMailer } from '../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { probeSmtp } from '../../src/deliver/targets/email/smtp/smtp-probe.ts';
import { archivedMessagePath } from '../support/archived-messages.ts';
import { program } from '../support/debian.ts';
import { definitionWith, deliverInput, folderFor, sealedRun } from '../support/delivery-case.ts';
import { freePort } from '../support/free-port.ts';
import { TLS } from '../support/tls.ts';
import { waitFor } from '../support/wait-for.ts';

const run = promisify(execFile);

/**
 * Exim as Debian ships it, with its own configuration, spool and port, so that no mail system of the machine is touched. It
 * accepts clients that log in over TLS, keeps messages in its spool, and delivers nothing.
 */
async function exim() {
  const binary = await program('exim4', 'exim4-daemon-light');
  const root = await folderFor(onTestFinished);
  // Exim drops root's privileges for those of its own user.
  const user = process.getuid?.() === 0 ? 'Debian-exim' : userInfo().username;
  const group = (await run('id', ['-gn', user])).stdout.trim();
  const port = await freePort();
  await mkdir(join(root, 'spool'));
  await mkdir(join(root, 'log'));
  await writeFile(join(root, 'cert.pem'), TLS.cert);
  await writeFile(join(root, 'key.pem'), TLS.key);
  await writeFile(
    join(root, 'exim.conf'),
    `primary_hostname = exim.example
exim_user = ${user}
exim_group = ${group}
spool_directory = ${root}/spool
log_file_path = ${root}/log/%slog
log_selector = +smtp_connection
queue_only = true
host_lookup =
rfc1413_query_timeout = 0s
tls_advertise_hosts = *
tls_certificate = ${root}/cert.pem
tls_privatekey = ${root}/key.pem
acl_smtp_rcpt = recipient
begin acl
recipient:
  deny local_parts = gone
       message = no such user
  defer local_parts = slow
       message = greylisted
  accept authenticated = *
  deny message = log in first
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = \${if and{{eq{$auth2}{me}}{eq{$auth3}{s3cret}}}}
  server_set_id = $auth2
  server_advertise_condition = \${if def:tls_in_cipher}
`,
  );
  if (process.getuid?.() === 0) await run('chown', ['-R', `${user}:${group}`, root]);
  await chmod(join(root, 'exim.conf'), 0o644);
  await chmod(root, 0o755);
  if (process.getuid?.() === 0) await run('chown', ['root:root', join(root, 'exim.conf')]);
  const server = spawn(
    binary,
    ['-C', join(root, 'exim.conf'), '-bdf', '-oP', join(root, 'spool', 'pid'), '-oX', `<; [127.0.0.1]:${port}`],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  onTestFinished(async () => {
    if (server.exitCode !== null) return;
    server.kill();
    await once(server, 'exit');
  });
  await waitFor(
    'Exim to listen',
    () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => {
          socket.destroy();
          resolve(true);
        }).once('error', () => resolve(false));
      }),
    { intervalMs: 100 },
  );
  const spool = join(root, 'spool', 'input');
  /** The accepted messages: recipients, and the body as received. */
  const taken = async () => {
    const names = (await readdir(spool).catch(() => [])).filter((name) => name.endsWith('-H'));
    return Promise.all(
      names.map(async (name) => {
        const head = await readFile(join(spool, name), 'latin1');
        const data = await readFile(join(spool, name.replace(/-H$/, '-D')), 'latin1');
        const before = head.split('\n\n')[0] ?? '';
        return {
          to: before.split('\n').filter((line) => /^[^<\s@]+@[^\s@]+$/.test(line)),
          tls: /^-tls_cipher /m.test(head),
          body: data.slice(data.indexOf('\n') + 1),
        };
      }),
    );
  };
  const connections = async () =>
    (await readFile(join(root, 'log', 'mainlog'), 'utf8')).match(/SMTP connection from .*TCP\/IP connection count/g)
      ?.length ?? 0;
  return { port, taken, connections };
}

test('Exim accepts each message once over TLS, and the ledger has its reply for each recipient', async () => {
  const { port, taken, connections } = await exim();
  const url = new Secret(`smtp://me:s3cret@localhost:${port}?tls=required`);
  expect(await probeSmtp(url, { ca: TLS.cert })).toMatchObject({
    encrypted: true,
    detail: expect.stringContaining('me'),
  });
  const mailer = smtpMailer(url, { ca: TLS.cert });
  onTestFinished(() => mailer.close());
  const to = ['a', 'gone', 'slow', 'b', 'c'].map((name) => `${name}@acme.example`);
  const { archive, published } = await sealedRun(await folderFor(onTestFinished), {
    'queue.csv': '.\r\n..\r\n'.repeat(2_000),
  });
  const input = deliverInput({
    definition: definitionWith([{ email: { to, attach: ['csv'] } }]),
    published,
    mail: { mailer, from: 'reports@docket.example' },
    archive,
  });
  await deliver(input);
  const { receipts } = await deliver(input);
  expect(receipts.map(({ recipient, state, detail }) => [recipient, state, detail?.slice(0, 3)])).toEqual([
    ['a@acme.example', 'sent', '250'],
    ['gone@acme.example', 'refused', '550'],
    ['slow@acme.example', 'pending', '451'],
    ['b@acme.example', 'sent', '250'],
    ['c@acme.example', 'sent', '250'],
  ]);
  const messages = await taken();
  expect(messages.map((message) => message.to.join()).sort()).toEqual([
    'a@acme.example',
    'b@acme.example',
    'c@acme.example',
  ]);
  for (const { to: recipients, tls, body } of messages) {
    expect(tls).toBe(true);
    const receipt = receipts.find(({ recipient }) => recipient === recipients[0]);
    const kept = await readFile(await archivedMessagePath(published.folder, receipt?.delivery ?? ''), 'latin1');
    expect(body.trimEnd()).toBe(
      kept
        .slice(kept.indexOf('\r\n\r\n') + 4)
        .replaceAll('\r\n', '\n')
        .trimEnd(),
    );
  }
  // One connection for the probe and one for the check of the port; then one until `gone`, one until `slow`, and one for
  // the rest. The second attempt sends only to `slow`.
  expect(await connections()).toBeLessThanOrEqual(7);

  const wrong = smtpMailer(new Secret(`smtp://me:wr0ng@localhost:${port}?tls=required`), { ca: TLS.cert });
  const refused = await wrong.send(
    { from: 'reports@docket.example', to: 'a@acme.example' },
    Buffer.from('Subject: x\r\n\r\nx\r\n'),
    input.signal,
  );
  expect(refused).toMatchObject({ kind: 'deferred', server: true, response: expect.stringContaining('535') });
  const stranger = smtpMailer(new Secret(`smtp://me:s3cret@localhost:${port}?tls=required`));
  expect(
    await stranger.send({ from: 'reports@docket.example', to: 'a@acme.example' }, Buffer.from('x'), input.signal),
  ).toMatchObject({
    kind: 'deferred',
    response: expect.stringContaining('certificate'),
  });
  expect(await taken()).toHaveLength(3);
});
