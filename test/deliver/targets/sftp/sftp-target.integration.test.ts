import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import ssh2 from 'ssh2';
import { expect, onTestFinished, test } from 'vitest';
import { secretSource } from '../../../../src/base/secrets/secret.ts';
import { deliver } from '../../../../src/deliver/deliver.ts';
import type { SftpSpec } from '../../../../src/deliver/targets/sftp/sftp-schema.ts';
import { definitionWith, deliverInput, folderFor, RUN, sealedRun } from '../../../support/delivery-case.ts';
import { memoryLedger } from '../../../support/memory-ledger.ts';
import { SFTP_PASSWORD, SFTP_USER, type SftpServer, type SftpStep, sftpServer } from '../../../support/sftp-server.ts';

const FILES = { 'in/KPIs 2026-W46.xlsx': 'workbook', 'in/queue.csv': 'alerts\r\n3\r\n' };
const PATHS = Object.keys(FILES);

async function caseOf(
  over: Partial<SftpSpec> = {},
  options: {
    files?: Record<string, string | Uint8Array>;
    server?: Parameters<typeof sftpServer>[0];
    key?: string;
  } = {},
) {
  const server = await sftpServer(options.server);
  onTestFinished(() => server.close());
  const root = await folderFor(onTestFinished);
  const { archive, published } = await sealedRun(root, options.files);
  const ledger = memoryLedger();
  const spec: SftpSpec = {
    host: '127.0.0.1',
    port: server.port,
    user: SFTP_USER,
    password: { env: 'PASSWORD' },
    host_key: [server.fingerprint],
    path: 'in',
    mkdir: false,
    overwrite: false,
    ...over,
  };
  const input = deliverInput({
    definition: definitionWith([{ sftp: spec }]),
    secrets: secretSource({ PASSWORD: SFTP_PASSWORD, KEY: options.key, WRONG: 'wrong', PASSPHRASE: 'opens it' }),
    published,
    mail: undefined,
    ledger,
    archive,
    workingDirectory: root,
  });
  const once = async () => (await deliver(input)).receipts[0]!;
  return { server, ledger, input, once };
}

const contents = ({ files }: SftpServer) =>
  Object.fromEntries([...files].map(([path, { bytes }]) => [path, bytes.toString()]));
const put = (server: SftpServer, path: string, text: string, modified = Math.floor(Date.now() / 1000)) =>
  server.files.set(path, { bytes: Buffer.from(text), modified });

test('the files are in the folder under their names, with nothing else', async () => {
  const { server, once } = await caseOf();
  expect(await once()).toMatchObject({
    target: '0-sftp',
    recipient: `sftp://docket@127.0.0.1:${server.port}/in`,
    state: 'sent',
    detail: '2 files',
  });
  expect(contents(server)).toEqual(FILES);
  const before = server.steps.length;
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(server.steps).toHaveLength(before);
});

test('each file is written completely under a temporary name before any gets its own name', async () => {
  const { server, once } = await caseOf();
  await once();
  const names = server.steps.filter(([step]) => step === 'write' || step === 'rename');
  expect(names.map(([step, path]) => [step, /^in\/\.docket-[0-9a-f]{32}-\d-[0-9a-f]{8}\.tmp$/.test(path)])).toEqual([
    ['write', true],
    ['write', true],
    ['rename', false],
    ['rename', false],
  ]);
});

test('a large file arrives complete', async () => {
  const big = Buffer.alloc(5 * 1024 * 1024 + 17, 'abcdefghijklmnopqrstuvwxyz0123456789');
  const { server, once } = await caseOf({}, { files: { 'big.xlsx': big, 'empty.csv': '' } });
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(server.files.get('in/big.xlsx')?.bytes.equals(big)).toBe(true);
  expect(server.files.get('in/empty.csv')?.bytes).toHaveLength(0);
});

test('a line of known_hosts pins a key like a fingerprint', async () => {
  const { server, once, input } = await caseOf();
  const [{ sftp } = {}] = input.definition.deliveries;
  const definition = definitionWith([{ sftp: { ...(sftp as SftpSpec), host_key: [server.hostKey] } }]);
  expect((await deliver({ ...input, definition })).receipts[0]).toMatchObject({ state: 'sent' });
  expect(await once()).toMatchObject({ state: 'sent' });
});

test('a server with another key gets nothing, not even a password', async () => {
  const other = ssh2.utils.generateKeyPairSync('ed25519').public;
  for (const pin of ['SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU', `sftp.example ${other}`]) {
    const { server, once } = await caseOf({ host_key: [pin] });
    expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringContaining(server.fingerprint) });
    expect(server.logins()).toBe(0);
    expect(server.steps).toEqual([]);
  }
});

test('a wrong password leaves the delivery pending and is not repeated', async () => {
  const { server, once } = await caseOf({ password: { env: 'WRONG' } });
  const { state, detail } = await once();
  expect(state).toBe('pending');
  expect(detail).toMatch(/authentication/i);
  expect(detail).not.toContain('wrong');
  expect(server.logins()).toBe(0);
});

test('a server that asks for the password by keyboard-interactive login gets it', async () => {
  const { once } = await caseOf({}, { server: { onlyKeyboard: true } });
  expect(await once()).toMatchObject({ state: 'sent' });
});

test.each(['ed25519', 'rsa'] as const)('a private key (%s) from a secret is accepted', async (type) => {
  const pair =
    type === 'rsa' ? ssh2.utils.generateKeyPairSync('rsa', { bits: 2048 }) : ssh2.utils.generateKeyPairSync('ed25519');
  const { once } = await caseOf(
    { password: undefined, private_key: { env: 'KEY' } },
    { server: { userKey: pair.public }, key: pair.private },
  );
  expect(await once()).toMatchObject({ state: 'sent' });
});

test('an encrypted private key needs its own passphrase', async () => {
  const pair = ssh2.utils.generateKeyPairSync('rsa', { bits: 2048, passphrase: 'opens it', cipher: 'aes256-cbc' });
  const access = (passphrase: string) =>
    caseOf(
      { password: undefined, private_key: { env: 'KEY' }, passphrase: { env: passphrase } },
      { server: { userKey: pair.public }, key: pair.private },
    );
  expect(await (await access('PASSPHRASE')).once()).toMatchObject({ state: 'sent' });
  const refused = await (await access('WRONG')).once();
  expect(refused.state).toBe('pending');
  expect(refused.detail).not.toContain('wrong');
});

test('an unreadable private key is reported without its content', async () => {
  const { once } = await caseOf({ password: undefined, private_key: { env: 'KEY' } }, { key: 'no key at all' });
  const { state, detail } = await once();
  expect(state).toBe('pending');
  expect(detail).not.toContain('no key at all');
});

test.each([
  ['a server that answers', false],
  ['a server that is not there', true],
])('an unreadable private key leaves no open socket: %s', async (_, closed) => {
  const { server, once } = await caseOf({ password: undefined, private_key: { env: 'KEY' } }, { key: 'no key at all' });
  if (closed) await server.close();
  const uncaught: unknown[] = [];
  const note = (error: unknown) => void uncaught.push(error);
  const gone: Promise<void>[] = [];
  const follow = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    gone.push(new Promise((resolve) => void socket.once('close', () => resolve())));
  };
  process.on('uncaughtExceptionMonitor', note);
  subscribe('net.client.socket', follow);
  onTestFinished(() => {
    unsubscribe('net.client.socket', follow);
    process.off('uncaughtExceptionMonitor', note);
  });
  expect(await once()).toMatchObject({ state: 'pending' });
  expect(gone).toHaveLength(1);
  await Promise.all(gone);
  expect(uncaught).toEqual([]);
});

test('an existing file with other bytes is kept', async () => {
  const { server, once } = await caseOf();
  put(server, PATHS[1]!, 'somebody else');
  expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringContaining('other content') });
  expect(contents(server)).toEqual({ [PATHS[1]!]: 'somebody else' });
});

test('an existing file counts as sent only with the same bytes, not with the same length', async () => {
  const { server, once } = await caseOf();
  put(server, PATHS[0]!, 'workbook');
  expect(await once()).toMatchObject({ state: 'sent', detail: '2 files, 1 there already' });
  const other = await caseOf();
  put(other.server, PATHS[0]!, 'WORKBOOK');
  expect(await other.once()).toMatchObject({ state: 'refused' });
});

test('a file that appears while ours is written is not replaced', async () => {
  const { server, once } = await caseOf({}, { files: { 'queue.csv': 'ours' } });
  server.fault = (step) => {
    if (step === 'rename') put(server, 'in/queue.csv', 'theirs');
    return undefined;
  };
  expect(await once()).toMatchObject({ state: 'refused' });
  expect(contents(server)).toEqual({ 'in/queue.csv': 'theirs' });
});

test('a missing folder leaves the delivery pending; `mkdir` creates it with its parents', async () => {
  const { once } = await caseOf({ path: 'out/{{ period.label }}' });
  expect(await once()).toMatchObject({ state: 'pending' });
  const made = await caseOf({ path: 'out/{{ period.label }}', mkdir: true });
  expect(await made.once()).toMatchObject({ state: 'sent' });
  expect([...made.server.folders]).toEqual(['in', 'out', 'out/2026-W46']);
  expect(made.server.files.has('out/2026-W46/queue.csv')).toBe(true);
});

test('an absolute path is created from the root; the delivery stays pending if that is denied', async () => {
  const { server, once } = await caseOf({ path: '/srv/in', mkdir: true }, { files: { 'queue.csv': 'ours' } });
  server.fault = (step) => (step === 'mkdir' ? { when: 'before', how: 'denied' } : undefined);
  expect(await once()).toMatchObject({ state: 'pending', detail: expect.stringContaining('Permission denied') });
  server.fault = () => undefined;
  expect(await once()).toMatchObject({ state: 'sent', detail: '1 file' });
  expect(contents(server)).toEqual({ '/srv/in/queue.csv': 'ours' });
});

test('a folder that another process creates at the same time is used', async () => {
  const { server, once } = await caseOf({ path: 'out', mkdir: true });
  server.fault = (step, path) => {
    if (step !== 'mkdir') return undefined;
    server.folders.add(path);
    return { when: 'before', how: 'failure' };
  };
  expect(await once()).toMatchObject({ state: 'sent' });
});

test('a folder without permission to list is delivered to', async () => {
  const { server, once } = await caseOf();
  server.fault = (step) => (step === 'list' ? { when: 'before', how: 'denied' } : undefined);
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(contents(server)).toEqual(FILES);
});

test('an existing file without permission to read is kept, because it cannot be compared', async () => {
  const { server, once } = await caseOf();
  put(server, PATHS[0]!, FILES['in/KPIs 2026-W46.xlsx']);
  server.fault = (step, path) => (step === 'open' && path === PATHS[0] ? { when: 'before', how: 'denied' } : undefined);
  expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringContaining('other content') });
});

test('a file that the server truncated does not get its name', async () => {
  const { server, once } = await caseOf({}, { files: { 'queue.csv': 'alerts\r\n3\r\n' } });
  server.fault = (step, path) => {
    const file = server.files.get(path);
    if (step === 'stat' && file !== undefined) file.bytes = file.bytes.subarray(0, 4);
    return undefined;
  };
  const cut = await once();
  expect(cut).toMatchObject({ state: 'pending', detail: expect.stringContaining('the server holds 4 bytes of 11') });
  expect(contents(server)).toEqual({});
  server.fault = () => undefined;
  expect(await once()).toMatchObject({ state: 'sent' });
});

test('`overwrite: true` asks the server to replace, and is refused if the server keeps existing files', async () => {
  const { server, once } = await caseOf({ overwrite: true }, { files: { 'queue.csv': 'ours' } });
  put(server, 'in/queue.csv', 'of last week');
  expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringContaining('other content') });
  expect(contents(server)).toEqual({ 'in/queue.csv': 'of last week' });
  server.files.clear();
  const fresh = await caseOf({ overwrite: true });
  expect(await fresh.once()).toMatchObject({ state: 'sent' });
  expect(contents(fresh.server)).toEqual(FILES);
});

test('a run stopped while writing leaves no file under its final name, and can be retried', async () => {
  const { server, input, once } = await caseOf();
  const stopping = new AbortController();
  server.fault = (step) => {
    if (step === 'write') stopping.abort(new Error('stopped'));
    return undefined;
  };
  const { receipts } = await deliver({ ...input, signal: stopping.signal });
  expect(receipts).toMatchObject([{ state: 'pending' }]);
  expect(PATHS.filter((path) => server.files.has(path))).toEqual([]);
  server.fault = () => undefined;
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(contents(server)).toEqual(FILES);
});

test('our own old temporary files are removed, other files never', async () => {
  const { server, once } = await caseOf();
  const old = 1_000_000;
  put(server, `in/.docket-${'a'.repeat(32)}-0-00112233.tmp`, 'half', old);
  put(server, `in/.docket-${'b'.repeat(32)}-0-00112233.tmp`, 'of somebody who is at work');
  put(server, 'in/.docketrc', 'x', old);
  put(server, 'in/report.tmp', 'x', old);
  await once();
  expect([...server.files.keys()].sort()).toEqual(
    [`in/.docket-${'b'.repeat(32)}-0-00112233.tmp`, 'in/.docketrc', 'in/report.tmp', ...PATHS].sort(),
  );
});

/** Whether every file with its final name is complete. */
const onlyWhole = (server: SftpServer) =>
  Object.entries(contents(server)).every(
    ([path, text]) => path.includes('/.docket-') || text === FILES[path as keyof typeof FILES],
  );

/** The state after the connection breaks at this step. The test delivers once more afterwards. */
const BREAKS: readonly [SftpStep, number, 'before' | 'after', string][] = [
  ['list', 0, 'before', 'pending'],
  ['stat', 0, 'before', 'pending'],
  ['open', 0, 'before', 'pending'],
  ['open', 0, 'after', 'pending'],
  ['write', 0, 'before', 'pending'],
  ['write', 0, 'after', 'pending'],
  ['close', 1, 'after', 'pending'],
  ['write', 1, 'before', 'pending'],
  ['write', 1, 'after', 'pending'],
  // Not renamed: the first file still has its temporary name, which proves it.
  ['rename', 0, 'before', 'pending'],
  // The first file was renamed and the second was not. Somebody may have read the first one.
  ['rename', 0, 'after', 'unknown'],
  ['rename', 1, 'before', 'unknown'],
  // All files were renamed and only the reply was lost. The folder proves it.
  ['rename', 1, 'after', 'sent'],
];

test.each(BREAKS.flatMap((one) => (['reset', 'close'] as const).map((how) => [...one, how] as const)))(
  'a connection lost at %s %i (%s) leaves the delivery %s (%s)',
  async (step, nth, when, state, how) => {
    const { server, once } = await caseOf();
    let seen = -1;
    server.fault = (at) => {
      if (at !== step) return undefined;
      seen += 1;
      return seen === nth ? { when, how } : undefined;
    };
    expect(await once()).toMatchObject({ state });
    expect(onlyWhole(server)).toBe(true);
    server.fault = () => undefined;
    const again = await once();
    expect(again.state).toBe(state === 'pending' ? 'sent' : state);
    if (again.state === 'sent') expect(contents(server)).toEqual(FILES);
  },
);

test.each(['denied', 'failure'] as const)('a refused write (%s) leaves nothing, and is retried', async (how) => {
  const { server, once } = await caseOf();
  server.fault = (at) => (at === 'write' ? { when: 'before', how } : undefined);
  expect(await once()).toMatchObject({ state: 'pending', detail: expect.stringMatching(/ WRITE in\/\.docket-/) });
  expect(contents(server)).toEqual({});
  server.fault = () => undefined;
  expect(await once()).toMatchObject({ state: 'sent' });
});

test.each(
  (['denied', 'failure'] as const).flatMap((how) => [
    ['open', how, /OPEN in\/\.docket-[0-9a-f]{32}-0-[0-9a-f]{8}\.tmp/] as const,
    ['stat', how, /STAT in\/KPIs 2026-W46\.xlsx/] as const,
    ['rename', how, /RENAME in\/\.docket-[0-9a-f]{32}-0-[0-9a-f]{8}\.tmp/] as const,
  ]),
)('a server that refuses %s (%s) refuses the delivery, and the error names the request', async (step, how, named) => {
  const { server, once } = await caseOf();
  server.fault = (at) => (at === step ? { when: 'before', how } : undefined);
  expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringMatching(named) });
  expect(contents(server)).toEqual({});
});

test('a server that refuses only names of temporary files, or FSTAT, refuses the delivery', async () => {
  for (const [step, verb] of [
    ['open', 'OPEN'],
    ['stat', 'FSTAT'],
  ] as const) {
    const { server, once } = await caseOf();
    server.fault = (at, path) => (at === step && path.endsWith('.tmp') ? { when: 'before', how: 'denied' } : undefined);
    const { state, detail } = await once();
    expect(state).toBe('refused');
    expect(detail).toContain(` ${verb} in/.docket-`);
    expect(contents(server)).toEqual({});
  }
});

test('a refused second rename leaves the delivery unknown, because the first file may have been read', async () => {
  const { server, once } = await caseOf();
  server.fault = (step, path) =>
    step === 'rename' && path === PATHS[1] ? { when: 'before', how: 'denied' } : undefined;
  expect(await once()).toMatchObject({ state: 'unknown', detail: expect.stringContaining(' RENAME in/.docket-') });
});

test('files that were picked up before the reply was lost are not sent twice', async () => {
  const { server, once } = await caseOf();
  server.fault = (step, path) => {
    if (step !== 'rename' || path !== PATHS[1]) return undefined;
    setImmediate(() => server.files.clear());
    return { when: 'after', how: 'reset' };
  };
  expect(await once()).toMatchObject({ state: 'unknown' });
  server.fault = () => undefined;
  expect(await once()).toMatchObject({ state: 'unknown' });
  expect(server.files.size).toBe(0);
});

test('the files in the folder decide about a row left as `sending`', async () => {
  const temporary = (id: string, index: number) => `in/.docket-${id}-${index}-00112233.tmp`;
  const cases: readonly [string, (server: SftpServer, id: string) => void, string][] = [
    [
      'every file is there',
      (server) => PATHS.forEach((path) => void put(server, path, FILES[path as keyof typeof FILES])),
      'sent',
    ],
    ['the first file still has its temporary name', (server, id) => void put(server, temporary(id, 0), 'work'), 'sent'],
    ['nothing is there', () => {}, 'unknown'],
    [
      'one file has its name',
      (server, id) => {
        put(server, PATHS[0]!, 'workbook');
        put(server, temporary(id, 1), 'alerts');
      },
      'unknown',
    ],
  ];
  for (const [what, lay, state] of cases) {
    const { server, ledger, input, once } = await caseOf();
    await expect(deliver({ ...input, signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
    const [row] = await ledger.list(RUN);
    await ledger.begin(row!.id, 1);
    lay(server, row!.id);
    expect(await once(), what).toMatchObject({ state });
    if (state === 'sent') expect(contents(server), what).toEqual(FILES);
  }
});

test('an unreachable server leaves the delivery pending', async () => {
  const { server, once } = await caseOf();
  await server.close();
  expect(await once()).toMatchObject({ state: 'pending', detail: expect.stringMatching(/ECONNREFUSED/) });
});
