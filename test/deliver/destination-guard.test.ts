import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { secretSource } from '../../src/base/secrets/secret.ts';
import type { OrgSettings } from '../../src/definitions/schema/org-settings.ts';
import { type DeliverInput, deliver } from '../../src/deliver/deliver.ts';
import type { DestinationPolicy } from '../../src/deliver/destination-guard.ts';
import { assertAllowedBehindProxy, ForbiddenAddress } from '../../src/deliver/internal/address-guard.ts';
import type { S3Spec } from '../../src/deliver/targets/s3/s3-schema.ts';
import type { SftpSpec } from '../../src/deliver/targets/sftp/sftp-schema.ts';
import {
  definitionWith,
  deliverInput,
  folderFor,
  ORDER,
  SETTINGS,
  sealedRun,
  type TestDelivery,
} from '../support/delivery-case.ts';
import { hostileServer } from '../support/hostile-server.ts';
import { memoryLedger } from '../support/memory-ledger.ts';
import { ACCESS_KEY_ID, SECRET_ACCESS_KEY, s3Server } from '../support/s3-server.ts';
import { SFTP_PASSWORD, SFTP_USER, sftpServer } from '../support/sftp-server.ts';

const WEBHOOK_KEY = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;

async function caseOf(
  deliveryOf: (root: string) => TestDelivery,
  over: Partial<OrgSettings> = {},
  policyOf: (root: string) => Partial<DestinationPolicy> = () => ({}),
) {
  const root = await folderFor(onTestFinished);
  const { archive, published } = await sealedRun(root);
  const warnings: string[] = [];
  const policy: DestinationPolicy = {
    required: false,
    reservedFolders: [],
    enforcePrivate: true,
    warn: (warning) => warnings.push(warning),
    ...policyOf(root),
  };
  const ledger = memoryLedger();
  const input = deliverInput({
    definition: definitionWith([deliveryOf(root)]),
    settings: { ...SETTINGS, ...over },
    secrets: secretSource({
      KEY_ID: ACCESS_KEY_ID,
      SECRET: SECRET_ACCESS_KEY,
      PASSWORD: SFTP_PASSWORD,
      HOOK: WEBHOOK_KEY,
      METADATA_URL: 'http://169.254.169.254/latest/meta-data',
    }),
    published,
    mail: undefined,
    ledger,
    archive,
    workingDirectory: root,
    destinations: policy,
  });
  const once = async () => (await deliver(input)).receipts[0];
  return { root, ledger, input, once, warnings };
}

const sftp = (over: Partial<SftpSpec>): TestDelivery => ({
  sftp: {
    host: '127.0.0.1',
    port: 22,
    user: SFTP_USER,
    password: { env: 'PASSWORD' },
    host_key: [`SHA256:${'A'.repeat(43)}`],
    path: 'in',
    mkdir: false,
    overwrite: false,
    ...over,
  },
});
const s3 = (over: Partial<S3Spec>): TestDelivery => ({
  s3: {
    bucket: 'reports',
    key: '{{ file.name }}',
    credentials: { access_key_id: { env: 'KEY_ID' }, secret_access_key: { env: 'SECRET' } },
    tags: true,
    overwrite: false,
    ...over,
  },
});
const webhook = (url: string | { env: string }): TestDelivery => ({
  webhook: { url, secret: { env: 'HOOK' }, idempotent: false },
});

test.each<[string, TestDelivery]>([
  ['an SFTP host', sftp({ host: '169.254.169.254' })],
  // The resolver reads this as an address. Only the resolved address shows it.
  ['what an SFTP name resolves to', sftp({ host: '2852039166' })],
  ['an SFTP host that carries it in IPv6', sftp({ host: '::ffff:a9fe:a9fe' })],
  ['an S3 endpoint', s3({ endpoint: 'http://169.254.169.254' })],
  ['an S3 endpoint behind NAT64', s3({ endpoint: 'http://[64:ff9b::a9fe:a9fe]' })],
  ['a webhook', webhook('http://169.254.169.254/latest')],
  ['a webhook in 6to4', webhook('http://[2002:a9fe:a9fe::1]/latest')],
  ['a webhook whose URL is a secret', webhook({ env: 'METADATA_URL' })],
])('a metadata address is refused regardless of allow_private: %s', async (_, delivery) => {
  const { once } = await caseOf(
    () => delivery,
    { allow_private: true },
    () => ({ enforcePrivate: false }),
  );
  expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringMatching(/metadata/) });
});

const PRIVATE: [string, () => Promise<{ delivery: TestDelivery; requests: () => number }>][] = [
  [
    'SFTP',
    async () => {
      const server = await sftpServer();
      onTestFinished(() => server.close());
      // A name, so that its resolved address is refused.
      const delivery = sftp({ host: 'localhost', port: server.port, host_key: [server.fingerprint] });
      return { delivery, requests: () => server.steps.length };
    },
  ],
  [
    'S3',
    async () => {
      const server = await s3Server();
      onTestFinished(() => server.close());
      const endpoint = server.url.replace('127.0.0.1', 'localhost');
      return { delivery: s3({ bucket: server.bucket, endpoint }), requests: () => server.requests.length };
    },
  ],
];

test.each(PRIVATE)('%s to a private address is refused if refusals are enforced', async (_, open) => {
  const { delivery, requests } = await open();
  const { once } = await caseOf(() => delivery);
  expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringContaining('allow_private') });
  expect(requests()).toBe(0);
});

test.each(PRIVATE)('%s to a private address causes a warning if refusals are not enforced', async (_, open) => {
  const { delivery, requests } = await open();
  const { once, warnings } = await caseOf(
    () => delivery,
    {},
    () => ({ enforcePrivate: false }),
  );
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(requests()).toBeGreaterThan(0);
  expect(warnings).not.toEqual([]);
});

test.each(PRIVATE)('%s to a private address is delivered with allow_private', async (_, open) => {
  const { delivery } = await open();
  const { once, warnings } = await caseOf(() => delivery, { allow_private: true });
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(warnings).toEqual([]);
});

const list = (hosts: string[], buckets: string[] = [], folders: string[] = []): Partial<OrgSettings> => ({
  allow_private: true,
  destinations: { hosts, buckets, folders },
});

test.each(PRIVATE)('%s to a host outside of destinations is refused before connecting', async (_, open) => {
  const { delivery, requests } = await open();
  const { once } = await caseOf(() => delivery, list(['*.acme.example'], ['reports', 'test']));
  expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringContaining('destinations') });
  expect(requests()).toBe(0);
});

test('an interrupted attempt is not verified at a host that destinations no longer list', async () => {
  const server = await sftpServer();
  onTestFinished(() => server.close());
  const { input, ledger, once } = await caseOf(
    () => sftp({ port: server.port, host_key: [server.fingerprint] }),
    list(['sftp.acme.example']),
  );
  await once();
  const [row] = await ledger.list(ORDER.id);
  if (row === undefined) throw new Error('no row');
  const left = { ...row, state: 'sending' as const };
  const again: DeliverInput = {
    ...input,
    ledger: { ...memoryLedger(), open: async () => left, list: async () => [left], settle: async () => true },
  };
  await deliver(again).catch(() => {});
  expect(server.steps).toEqual([]);
});

test('a bucket gets files only if both its host and the bucket are listed', async () => {
  const server = await s3Server();
  onTestFinished(() => server.close());
  const delivery = s3({ bucket: server.bucket, endpoint: server.url });
  const refused = await caseOf(() => delivery, list(['127.0.0.1'], ['another']));
  expect(await refused.once()).toMatchObject({ state: 'refused' });
  expect(server.requests).toHaveLength(0);
  const allowed = await caseOf(() => delivery, list(['127.0.0.1'], [server.bucket]));
  expect(await allowed.once()).toMatchObject({ state: 'sent' });
});

test('a webhook to a host outside of destinations is refused, even if its URL is a secret', async () => {
  const server = await hostileServer();
  onTestFinished(() => server.close());
  server.behave((_request, response) => void response.writeHead(204).end());
  const of = async (delivery: TestDelivery, hosts: string[]) => (await caseOf(() => delivery, list(hosts))).once();
  expect(await of(webhook(server.url), ['hooks.acme.example'])).toMatchObject({ state: 'refused' });
  expect(await of(webhook({ env: 'METADATA_URL' }), ['127.0.0.1'])).toMatchObject({
    state: 'refused',
    detail: expect.not.stringContaining('169.254'),
  });
  expect(server.requests).toHaveLength(0);
  expect(await of(webhook(server.url), ['127.0.0.1'])).toMatchObject({ state: 'sent' });
});

test('a deployment that requires destinations refuses an organization without them', async () => {
  const { root, once } = await caseOf(
    () => ({ directory: { path: 'out' } }),
    {},
    () => ({ required: true }),
  );
  expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringContaining('destinations') });
  expect(await readdir(root)).not.toContain('out');
});

test.each<[string, string, string]>([
  ['listed', 'out', 'sent'],
  ['below a listed one', 'out/acme', 'sent'],
  ['beside it, with the same beginning', 'out-other', 'refused'],
  ['reached by a link out of it', 'out/link', 'refused'],
])('a folder %s is %s', async (_, path, state) => {
  const { root, once } = await caseOf(() => ({ directory: { path } }), list([], [], ['out']));
  await mkdir(join(root, 'out'));
  await mkdir(join(root, 'elsewhere'));
  await symlink(join(root, 'elsewhere'), join(root, 'out/link'));
  expect(await once()).toMatchObject({ state });
});

test.each<[string, (root: string) => string]>([
  ['itself', (root) => join(root, 'jobs')],
  ['a folder in it that is not there yet', (root) => join(root, 'jobs/acme/new')],
  ['by a link', (root) => join(root, 'link/acme')],
])('nothing is delivered into a folder of Docket: %s', async (_, path) => {
  const { root, once } = await caseOf(
    (folder) => ({ directory: { path: path(folder) } }),
    {},
    (folder) => ({
      enforcePrivate: false,
      reservedFolders: [{ path: join(folder, 'jobs'), includesSubfolders: true }],
    }),
  );
  await mkdir(join(root, 'jobs'));
  await symlink(join(root, 'jobs'), join(root, 'link'));
  expect(await once()).toMatchObject({ state: 'refused' });
  expect(await readdir(join(root, 'jobs'))).toEqual([]);
});

test('the folder of Docket’s own files is refused, but not a folder below it', async () => {
  const own = (root: string) => ({ reservedFolders: [{ path: join(root, 'state'), includesSubfolders: false }] });
  const beside = await caseOf(() => ({ directory: { path: 'state' } }), {}, own);
  expect(await beside.once()).toMatchObject({ state: 'refused' });
  const below = await caseOf(() => ({ directory: { path: 'state/out' } }), {}, own);
  expect(await below.once()).toMatchObject({ state: 'sent' });
});

test.each([
  ['10.1.2.3', false],
  ['169.254.169.254', true],
  ['metadata.google.internal', true],
])('%s is refused before a proxy is used', async (host, allowPrivate) => {
  await expect(assertAllowedBehindProxy(host, { allowPrivate })).rejects.toBeInstanceOf(ForbiddenAddress);
});

test('a host that only the proxy can resolve, or an allowed private one, is left to the proxy', async () => {
  await assertAllowedBehindProxy('hooks.docket.test', { allowPrivate: false });
  await assertAllowedBehindProxy('10.1.2.3', { allowPrivate: true });
});
