import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { secretSource } from '../../../../src/base/secrets/secret.ts';
import { type DeliverInput, deliver } from '../../../../src/deliver/deliver.ts';
import type { S3Spec } from '../../../../src/deliver/targets/s3/s3-schema.ts';
import { openS3 } from '../../../../src/deliver/targets/s3/s3-store.ts';
import {
  definitionWith,
  folderFor,
  ORDER,
  RUN,
  SETTINGS,
  sealedRun,
  type TestDelivery,
} from '../../../support/delivery-case.ts';
import { memoryLedger } from '../../../support/memory-ledger.ts';
import { ACCESS_KEY_ID, type S3Server, SECRET_ACCESS_KEY, s3Server } from '../../../support/s3-server.ts';

const secrets = secretSource({ KEY_ID: ACCESS_KEY_ID, SECRET: SECRET_ACCESS_KEY });
const KEYS = ['acme/2026-11-09/KPIs 2026-W46.xlsx', 'acme/2026-11-09/queue.csv'];

const specOf = (server: S3Server, over: Partial<S3Spec> = {}): S3Spec => ({
  bucket: server.bucket,
  key: 'acme/{{ period.from }}/{{ file.name }}',
  endpoint: server.url,
  credentials: { access_key_id: { env: 'KEY_ID' }, secret_access_key: { env: 'SECRET' } },
  tags: true,
  overwrite: false,
  ...over,
});

async function caseOf(over: Partial<S3Spec> = {}, files?: Record<string, string | Uint8Array>) {
  const server = await s3Server();
  onTestFinished(() => server.close());
  const root = await folderFor(onTestFinished);
  const { archive, published } = await sealedRun(root, files);
  const ledger = memoryLedger();
  const spec = specOf(server, over);
  const inputOf = (deliveries: readonly TestDelivery[]): DeliverInput => ({
    order: ORDER,
    definition: definitionWith(deliveries),
    settings: SETTINGS,
    secrets,
    published,
    mail: undefined,
    ledger,
    archive,
    clock: systemClock,
    signal: new AbortController().signal,
    observe: () => {},
    workingDirectory: root,
  });
  const input = inputOf([{ s3: spec }]);
  const once = async () => (await deliver(input)).receipts[0]!;
  return { server, sealed: published, ledger, spec, input, inputOf, once };
}

const puts = (server: S3Server) => server.requests.filter(({ method }) => method === 'PUT').length;

test('each file is stored under its key with type, name, hash and run', async () => {
  const { server, sealed, once } = await caseOf({ encryption: 'AES256' });
  expect(await once()).toMatchObject({
    target: '0-s3',
    recipient: 's3://reports/acme/2026-11-09/',
    state: 'sent',
    detail: '2 objects',
  });
  expect([...server.objects.keys()]).toEqual(KEYS);
  for (const { name, sha256, mediaType } of sealed.artifacts) {
    const { bytes, headers } = server.objects.get(`acme/2026-11-09/${name}`)!;
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
    expect(headers).toMatchObject({
      'content-type': mediaType,
      'content-disposition': expect.stringContaining(`filename*=UTF-8''${encodeURIComponent(name)}`),
      'if-none-match': '*',
      'x-amz-checksum-sha256': Buffer.from(sha256, 'hex').toString('base64'),
      'x-amz-meta-docket-run': RUN,
      'x-amz-meta-docket-sha256': sha256,
      'x-amz-server-side-encryption': 'AES256',
      'x-amz-tagging': `docket-run=${RUN}`,
    });
  }
});

test('a second delivery stores nothing again', async () => {
  const { server, once } = await caseOf();
  const first = await once();
  expect(await once()).toEqual(first);
  expect(puts(server)).toBe(2);
});

test('a retry stores only missing files', async () => {
  const { server, once } = await caseOf();
  server.fault = ({ key, method }) =>
    method === 'PUT' && key.endsWith('.csv')
      ? { when: 'before', how: { status: 403, code: 'AccessDenied' } }
      : undefined;
  expect(await once()).toMatchObject({ state: 'pending', detail: expect.stringContaining('1 of 2 files are there') });
  server.fault = () => undefined;
  const before = puts(server);
  expect(await once()).toMatchObject({ state: 'sent', detail: '2 objects, 1 there already' });
  expect(puts(server) - before).toBe(1);
});

test('the completion marker is stored once all files are there', async () => {
  const { server, once } = await caseOf({ complete_marker: true });
  const marker = 'acme/2026-11-09/_SUCCESS';
  server.fault = ({ key, method }) =>
    method === 'PUT' && key.endsWith('.csv')
      ? { when: 'before', how: { status: 403, code: 'AccessDenied' } }
      : undefined;
  await once();
  expect(server.objects.has(marker)).toBe(false);
  server.fault = () => undefined;
  expect(await once()).toMatchObject({ state: 'sent' });
  expect([...server.objects.keys()]).toEqual([...KEYS, marker]);
  expect(server.objects.get(marker)?.bytes).toHaveLength(0);
});

test.each(['reset', 'close'] as const)('a PUT whose reply is lost (%s) is checked, and counts as sent', async (how) => {
  const { server, once } = await caseOf();
  const lost = new Set<string>();
  server.fault = ({ key, method }) => {
    if (method !== 'PUT' || lost.has(key)) return undefined;
    lost.add(key);
    return { when: 'after', how };
  };
  expect(await once()).toMatchObject({ state: 'sent' });
  expect([...server.objects.keys()]).toEqual(KEYS);
});

test('a delivery is sent if every reply to its PUTs is lost but the objects can be checked', async () => {
  const { server, once } = await caseOf();
  // Every attempt of the SDK loses its reply. Only the check afterwards succeeds.
  server.fault = ({ method }) => (method === 'PUT' ? { when: 'after', how: 'reset' } : undefined);
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(server.objects.size).toBe(2);
});

test('files that never reached the store are sent by a retry', async () => {
  const { server, once } = await caseOf();
  server.fault = ({ method }) => (method === 'PUT' ? { when: 'before', how: 'reset' } : undefined);
  expect(await once()).toMatchObject({ state: 'pending' });
  expect(server.objects.size).toBe(0);
  server.fault = () => undefined;
  expect(await once()).toMatchObject({ state: 'sent' });
});

/** A run whose worker died right after the ledger recorded `sending`. */
async function left(over: Partial<S3Spec> = {}) {
  const made = await caseOf(over);
  await expect(deliver({ ...made.input, signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
  const [row] = await made.ledger.list(RUN);
  await made.ledger.begin(row!.id, 1);
  return made;
}

test('a row left as `sending` before any upload is delivered', async () => {
  const { server, once } = await left();
  expect(await once()).toMatchObject({ state: 'sent', detail: '2 objects' });
  expect(server.objects.size).toBe(2);
});

test('a row left as `sending` after the last upload is sent, and nothing is uploaded again', async () => {
  const { server, once } = await left();
  server.objects.set(KEYS[0]!, { bytes: Buffer.from('workbook'), headers: {} });
  server.objects.set(KEYS[1]!, { bytes: Buffer.from('alerts\r\n3\r\n'), headers: {} });
  expect(await once()).toMatchObject({ state: 'sent', detail: expect.stringContaining('Interrupted') });
  expect(puts(server)).toBe(0);
});

test('a row left as `sending` stays pending while the store cannot be reached, and is never unknown', async () => {
  const { server, once } = await left();
  server.fault = () => ({ when: 'before', how: { status: 503, code: 'SlowDown' } });
  expect(await once()).toMatchObject({ state: 'pending' });
  server.fault = () => undefined;
  expect(await once()).toMatchObject({ state: 'sent' });
});

test('an object with other bytes is never replaced', async () => {
  const { server, once } = await caseOf();
  const theirs = { bytes: Buffer.from('somebody else wrote this'), headers: {} };
  server.objects.set(KEYS[0]!, theirs);
  expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringContaining('other content') });
  expect(server.objects.get(KEYS[0]!)).toBe(theirs);
});

test('an object of the same length without our hash is read and compared', async () => {
  const { server, once } = await caseOf();
  server.objects.set(KEYS[0]!, { bytes: Buffer.from('WORKBOOK'), headers: {} });
  expect(await once()).toMatchObject({ state: 'refused' });
});

test('an object with the same bytes counts as sent, whoever wrote it', async () => {
  const { server, once } = await caseOf();
  server.objects.set(KEYS[0]!, { bytes: Buffer.from('workbook'), headers: {} });
  expect(await once()).toMatchObject({ state: 'sent', detail: '2 objects, 1 there already' });
});

test('`overwrite: true` replaces other bytes', async () => {
  const { server, once } = await caseOf({ overwrite: true });
  server.objects.set(KEYS[0]!, { bytes: Buffer.from('old'), headers: {} });
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(server.objects.get(KEYS[0]!)?.bytes.toString()).toBe('workbook');
});

test('an object that appears between the check and the PUT is not replaced by a store with conditional writes', async () => {
  const { server, once } = await caseOf();
  server.fault = ({ key, method }) => {
    if (method === 'PUT' && !server.objects.has(key)) {
      server.objects.set(key, { bytes: Buffer.from('quicker'), headers: {} });
    }
    return undefined;
  };
  expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringContaining('other content') });
  expect(server.objects.get(KEYS[0]!)?.bytes.toString()).toBe('quicker');
});

test('a store without conditional writes gets the file after a check', async () => {
  const { server, once } = await caseOf();
  server.conditional = 'refuse';
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(server.objects.size).toBe(2);
});

test('a role without read access may deliver to a store with conditional writes, and to no other', async () => {
  const { server, once } = await caseOf();
  server.fault = ({ method }) =>
    method === 'HEAD' ? { when: 'before', how: { status: 403, code: 'AccessDenied' } } : undefined;
  expect(await once()).toMatchObject({ state: 'sent' });
  const other = await caseOf();
  other.server.fault = server.fault;
  other.server.conditional = 'refuse';
  expect(await other.once()).toMatchObject({ state: 'refused', detail: expect.stringContaining('overwrite: true') });
  expect(other.server.objects.size).toBe(0);
});

test.each([
  [503, 'SlowDown', 'pending'],
  [500, 'InternalError', 'pending'],
  [429, 'TooManyRequests', 'pending'],
  [409, 'ConditionalRequestConflict', 'pending'],
  [403, 'AccessDenied', 'pending'],
  [404, 'NoSuchBucket', 'pending'],
  [400, 'ExpiredToken', 'pending'],
  [400, 'InvalidTag', 'refused'],
  [400, 'EntityTooLarge', 'refused'],
])(
  'HTTP %i %s leaves the delivery %s',
  async (status, code, state) => {
    const { server, once } = await caseOf();
    server.fault = ({ method }) => (method === 'PUT' ? { when: 'before', how: { status, code } } : undefined);
    expect(await once()).toMatchObject({ state, detail: expect.stringContaining(code) });
    expect(server.objects.size).toBe(0);
  },
  60_000,
);

test('an unreachable store is tried once for all deliveries that use it', async () => {
  const { server, spec, inputOf } = await caseOf();
  await server.close();
  const { receipts } = await deliver(inputOf([{ s3: spec }, { s3: { ...spec, key: 'b/{{ file.name }}' } }]));
  expect(receipts.map(({ state }) => state)).toEqual(['pending', 'pending']);
  expect(receipts[1]!.detail).toBe(receipts[0]!.detail);
  expect(receipts[0]!.detail).toMatch(/ECONNREFUSED/);
});

test('an error of the store reveals no secret of ours', async () => {
  const { server, once } = await caseOf();
  server.fault = ({ headers }) => ({
    when: 'before',
    how: {
      status: 400,
      code: 'InvalidArgument',
      message: `${headers.authorization} ${ACCESS_KEY_ID} ${SECRET_ACCESS_KEY}`,
    },
  });
  const receipt = await once();
  expect(JSON.stringify(receipt)).not.toContain(ACCESS_KEY_ID);
  expect(JSON.stringify(receipt)).not.toContain(SECRET_ACCESS_KEY);
});

test('a wrong key is reported with the store’s error, and works again once corrected', async () => {
  const { server, input, once } = await caseOf();
  const wrong = secretSource({ KEY_ID: ACCESS_KEY_ID, SECRET: 'wrong' });
  const { receipts } = await deliver({ ...input, secrets: wrong });
  expect(receipts[0]).toMatchObject({ state: 'pending', detail: expect.stringMatching(/SignatureDoesNotMatch|403/) });
  const missing = await deliver({ ...input, secrets: secretSource({}) });
  expect(missing.receipts[0]).toMatchObject({ state: 'pending', detail: expect.stringContaining('KEY_ID') });
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(server.objects.size).toBe(2);
});

test('a large file is uploaded in parts and arrives complete', async () => {
  const big = Buffer.alloc(20 * 1024 * 1024, 'abcdefghijklmnopqrstuvwxyz0123456789');
  const { server, sealed, once } = await caseOf({}, { 'big.xlsx': big });
  expect(await once()).toMatchObject({ state: 'sent', recipient: 's3://reports/acme/2026-11-09/big.xlsx' });
  const object = server.objects.get('acme/2026-11-09/big.xlsx')!;
  expect(object.bytes.equals(big)).toBe(true);
  expect(object.headers['x-amz-meta-docket-sha256']).toBe(sealed.artifacts[0]!.sha256);
  expect(object.headers['x-amz-tagging']).toBe(`docket-run=${RUN}`);
  expect(server.requests.filter(({ query }) => query.has('partNumber'))).toHaveLength(3);
  expect(server.uploads.size).toBe(0);
});

test.each(['create', 'part', 'complete'] as const)(
  'a large file whose upload fails at "%s" leaves nothing under its key',
  async (step) => {
    const { server, once } = await caseOf({}, { 'big.xlsx': Buffer.alloc(9 * 1024 * 1024, 'x') });
    const at = ({ method, query }: { method: string; query: URLSearchParams }) =>
      query.has('uploads') ? 'create' : query.has('partNumber') ? 'part' : method === 'POST' ? 'complete' : 'other';
    server.fault = (request) => (at(request) === step ? { when: 'before', how: 'reset' } : undefined);
    expect(await once()).toMatchObject({ state: 'pending' });
    expect(server.objects.size).toBe(0);
    expect(server.uploads.size).toBe(0);
    server.fault = () => undefined;
    expect(await once()).toMatchObject({ state: 'sent' });
  },
);

test('a file that changed in the archive is not sent, whatever its size', async () => {
  for (const size of [8, 9 * 1024 * 1024]) {
    const { server, sealed, once } = await caseOf({}, { 'a.xlsx': Buffer.alloc(size, 'x') });
    await writeFile(sealed.artifacts[0]!.path, Buffer.alloc(size, 'y'));
    expect(await once()).toMatchObject({ state: 'pending', detail: expect.stringContaining('has changed') });
    expect(server.objects.size).toBe(0);
    expect(server.uploads.size).toBe(0);
  }
});

test.each(['same-for-all', '../{{ file.name }}', '/{{ file.name }}', 'a//{{ file.name }}'])(
  'the key %j is refused before the first request',
  async (key) => {
    const { server, once } = await caseOf({ key });
    expect(await once()).toMatchObject({ state: 'refused' });
    expect(server.requests).toEqual([]);
  },
);

test('a probe tests write access and leaves nothing', async () => {
  const server = await s3Server();
  onTestFinished(() => server.close());
  const store = await openS3(specOf(server), RUN, secrets);
  onTestFinished(() => store.close());
  await store.probe('acme/.docket-probe');
  expect(server.objects.size).toBe(0);
  expect(server.uploads.size).toBe(0);
  expect(server.requests.map(({ method }) => method)).toEqual(['POST', 'DELETE']);
});
