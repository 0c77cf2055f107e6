import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { secretSource } from '../../src/base/secrets/secret.ts';
import { deliver } from '../../src/deliver/deliver.ts';
import { destinationGuard } from '../../src/deliver/destination-guard.ts';
import { targetProbe } from '../../src/deliver/targets/registry.ts';
import type { SftpSpec } from '../../src/deliver/targets/sftp/sftp-schema.ts';
import { program } from '../support/debian.ts';
import { definitionWith, deliverInput, folderFor, PERIOD, RUN, sealedRun } from '../support/delivery-case.ts';
import { freePort } from '../support/free-port.ts';
import { memoryLedger } from '../support/memory-ledger.ts';

const run = promisify(execFile);

/** OpenSSH's own server with the user who runs the tests, on a free port with new keys. */
async function sshd() {
  const binary = await program('sshd', 'openssh-server');
  const root = await folderFor(onTestFinished);
  const keygen = (type: string, name: string) =>
    run('ssh-keygen', ['-q', '-t', type, '-N', '', '-f', join(root, name)]);
  await Promise.all([keygen('ed25519', 'host_ed25519'), keygen('rsa', 'host_rsa'), keygen('ed25519', 'user')]);
  await writeFile(join(root, 'authorized'), await readFile(join(root, 'user.pub')), { mode: 0o600 });
  // sshd drops its privileges into this folder if it was started as root.
  if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true });
  const port = await freePort();
  const lines = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${join(root, 'host_ed25519')}`,
    `HostKey ${join(root, 'host_rsa')}`,
    `AuthorizedKeysFile ${join(root, 'authorized')}`,
    `PidFile none`,
    'StrictModes no',
    'UsePAM no',
    'PasswordAuthentication no',
    'PermitRootLogin prohibit-password',
    'Subsystem sftp internal-sftp',
  ];
  await writeFile(join(root, 'config'), `${lines.join('\n')}\n`);
  const child = spawn(binary, ['-D', '-e', '-f', join(root, 'config')], { stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(async () => {
    const ended = once(child, 'exit');
    child.kill();
    await ended;
  });
  for await (const line of createInterface(child.stderr)) if (line.includes('Server listening')) break;
  child.stderr.resume();
  const fingerprint = async (name: string) =>
    (await run('ssh-keygen', ['-lf', join(root, `${name}.pub`)])).stdout.split(' ')[1]!;
  const known = async (name: string) =>
    `[127.0.0.1]:${port} ${(await readFile(join(root, `${name}.pub`), 'utf8')).split(' ').slice(0, 2).join(' ')}`;
  const folder = join(root, 'in');
  await mkdir(folder);
  return { port, root, folder, fingerprint, known, userKey: await readFile(join(root, 'user'), 'utf8') };
}

async function caseOf(over: Partial<SftpSpec> = {}, files?: Record<string, string | Uint8Array>) {
  const server = await sshd();
  const archiveRoot = await folderFor(onTestFinished);
  const { archive, published } = await sealedRun(archiveRoot, files);
  const spec: SftpSpec = {
    host: '127.0.0.1',
    port: server.port,
    user: userInfo().username,
    private_key: { env: 'KEY' },
    host_key: [await server.fingerprint('host_ed25519')],
    path: server.folder,
    mkdir: false,
    overwrite: false,
    ...over,
  };
  const secrets = secretSource({ KEY: server.userKey });
  const input = deliverInput({
    definition: definitionWith([{ sftp: spec }]),
    secrets,
    published,
    mail: undefined,
    archive,
  });
  /** Delivers the same run with a worker that knows nothing of earlier ones: neither their ledger nor their archive. */
  const once = async (change: Partial<SftpSpec> = {}) => {
    const definition = definitionWith([{ sftp: { ...spec, ...change } }]);
    const fresh = await sealedRun(await folderFor(onTestFinished), files);
    return (await deliver({ ...input, ...fresh, ledger: memoryLedger(), definition })).receipts[0]!;
  };
  return { server, spec, input, once, secrets };
}

test('OpenSSH gets complete files, once', async () => {
  const { server, once } = await caseOf();
  expect(await once()).toMatchObject({ state: 'sent', detail: '2 files' });
  expect((await readdir(server.folder)).sort()).toEqual(['KPIs 2026-W46.xlsx', 'queue.csv']);
  expect(await readFile(join(server.folder, 'KPIs 2026-W46.xlsx'), 'utf8')).toBe('workbook');
  expect(await once()).toMatchObject({ state: 'sent', detail: '2 files, 2 there already' });
});

test('every form of a pinned OpenSSH host key is accepted, and no other key', async () => {
  const { server, once } = await caseOf();
  for (const name of ['host_ed25519', 'host_rsa']) {
    expect(await once({ host_key: [await server.known(name)] }), name).toMatchObject({ state: 'sent' });
  }
  const foreign = await server.fingerprint('user');
  expect(await once({ host_key: [foreign] })).toMatchObject({
    state: 'refused',
    detail: expect.stringContaining('another key'),
  });
});

test('existing files are kept, or replaced in one step if configured', async () => {
  const { server, once } = await caseOf();
  await writeFile(join(server.folder, 'queue.csv'), 'theirs');
  expect(await once()).toMatchObject({ state: 'refused' });
  expect(await readFile(join(server.folder, 'queue.csv'), 'utf8')).toBe('theirs');
  expect(await once({ overwrite: true })).toMatchObject({ state: 'sent' });
  expect(await readFile(join(server.folder, 'queue.csv'), 'utf8')).toBe('alerts\r\n3\r\n');
  expect((await readdir(server.folder)).sort()).toEqual(['KPIs 2026-W46.xlsx', 'queue.csv']);
});

test('missing folders are created only if configured', async () => {
  const { server, once } = await caseOf();
  const path = `${server.folder}/{{ org }}/{{ period.label }}`;
  expect(await once({ path })).toMatchObject({ state: 'pending', detail: expect.stringMatching(/no such file/i) });
  expect(await once({ path, mkdir: true })).toMatchObject({ state: 'sent' });
  expect(await readdir(join(server.folder, 'acme', '2026-W46'))).toHaveLength(2);
});

test('the check of doctor signs in, writes, and leaves no file', async () => {
  const { server, spec, secrets } = await caseOf();
  const variables = { period: PERIOD, org: 'acme', report: 'weekly', title: 'Weekly', run: RUN };
  const probe = targetProbe(
    { sftp: spec },
    { variables, secrets, allowPrivate: false, guard: destinationGuard({ id: 'acme' }), workingDirectory: '/' },
  );
  expect(await probe!.probe()).toContain('write to');
  expect(await readdir(server.folder)).toEqual([]);
});

/** A connection to the server that breaks after this many bytes, until it is repaired. */
async function brittle(port: number, bytes: number) {
  let limit = bytes;
  const sockets = new Set<Socket>();
  const proxy = createServer((inside) => {
    const outside = connect(port, '127.0.0.1');
    let seen = 0;
    for (const socket of [inside, outside]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    inside.on('data', (chunk) => {
      seen += chunk.length;
      if (seen <= limit) return void outside.write(chunk);
      inside.resetAndDestroy();
      outside.resetAndDestroy();
    });
    outside.on('data', (chunk) => void inside.write(chunk));
    inside.on('close', () => outside.destroy());
    outside.on('close', () => inside.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const mend = (): void => {
    limit = Number.POSITIVE_INFINITY;
  };
  return { port: (proxy.address() as AddressInfo).port, mend };
}

test('wherever the connection breaks, no partial file gets a final name, and no temporary file remains after the delivery', async () => {
  const big = Buffer.alloc(3 * 1024 * 1024, 'abcdefghijklmnopqrstuvwxyz0123456789');
  for (const bytes of [1_000, 5_000, 200_000, 2_000_000, 3_100_000, 3_170_000, 3_180_000]) {
    const { server, input, spec } = await caseOf({}, { 'big.xlsx': big, 'small.csv': 'a\r\n' });
    const way = await brittle(server.port, bytes);
    const definition = definitionWith([{ sftp: { ...spec, port: way.port } }]);
    const [broken] = (await deliver({ ...input, definition })).receipts;
    const named = (await readdir(server.folder)).filter((name) => !name.startsWith('.docket-'));
    for (const name of named) {
      const content = await readFile(join(server.folder, name));
      expect(content.equals(name === 'big.xlsx' ? big : Buffer.from('a\r\n')), `${name} after ${bytes}`).toBe(true);
    }
    if (broken!.state === 'unknown') continue;
    expect(['pending', 'sent'], `after ${bytes}`).toContain(broken!.state);
    way.mend();
    const again = await deliver({ ...input, definition });
    expect(again.receipts[0]).toMatchObject({ state: 'sent' });
    expect((await readdir(server.folder)).sort()).toEqual(['big.xlsx', 'small.csv']);
  }
});
