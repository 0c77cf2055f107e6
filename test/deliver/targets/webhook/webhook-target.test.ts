import { createHmac, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import type { Clock } from '../../../../src/base/clock.ts';
import { Secret, secretSource } from '../../../../src/base/secrets/secret.ts';
import { redisCircuitBreaker } from '../../../../src/deliver/circuit/circuit-breaker.ts';
import { type DeliverInput, deliver } from '../../../../src/deliver/deliver.ts';
import { probeConnection } from '../../../../src/deliver/targets/guarded-post.ts';
import { parseWebhookSecret, webhookBody } from '../../../../src/deliver/targets/webhook/webhook-message.ts';
import type { WebhookSpec } from '../../../../src/deliver/targets/webhook/webhook-target.ts';
import type { Artifact } from '../../../../src/render/artifact.ts';
import { archivedMessagePath } from '../../../support/archived-messages.ts';
import {
  definitionWith,
  folderFor,
  manifestOf,
  ORDER,
  RUN,
  SETTINGS,
  sealedRun,
  type TestDelivery,
} from '../../../support/delivery-case.ts';
import { type Behaviour, hostileServer } from '../../../support/hostile-server.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { memoryLedger } from '../../../support/memory-ledger.ts';
import { TLS } from '../../../support/tls.ts';

const KEY = Buffer.from('0123456789abcdef0123456789abcdef');
const SECRET = `whsec_${KEY.toString('base64')}`;
const NOW = Date.UTC(2026, 10, 16, 7, 0, 30, 900);

const answer =
  (status: number, text = '', headers: Record<string, string> = {}): Behaviour =>
  (_request, response) =>
    void response.writeHead(status, headers).end(text);

async function caseOf(
  over: Partial<WebhookSpec> = {},
  others: readonly TestDelivery[] = [],
  allowPrivate = true,
  manifest: Parameters<typeof sealedRun>[3] = {},
) {
  const server = await hostileServer();
  onTestFinished(() => server.close());
  server.behave(answer(204));
  const root = await folderFor(onTestFinished);
  const { archive, published } = await sealedRun(root, undefined, undefined, manifest);
  const ledger = memoryLedger();
  const spec: WebhookSpec = {
    url: `${server.url}/hooks/reports?of=acme`,
    secret: { env: 'SECRET' },
    idempotent: false,
    ...over,
  };
  const input: DeliverInput = {
    order: ORDER,
    definition: definitionWith([{ webhook: spec }, ...others]),
    settings: { ...SETTINGS, ...(allowPrivate ? { allow_private: true } : {}) },
    secrets: secretSource({ SECRET, URL: `${server.url}/services/T0/B0/VerySecretPath` }),
    published,
    mail: undefined,
    ledger,
    archive,
    clock: manualClock(NOW),
    signal: new AbortController().signal,
    observe: () => {},
    workingDirectory: root,
  };
  const once = async () => (await deliver(input)).receipts.find(({ target }) => target === '0-webhook')!;
  return { server, root, sealed: published, ledger, input, once };
}

test('a webhook gets the run and its files, signed, with the id of its ledger row', async () => {
  const { server, sealed, once } = await caseOf();
  const receipt = await once();
  expect(receipt).toMatchObject({ state: 'sent', detail: 'HTTP 204', recipient: `${server.url}/hooks/reports` });
  const [request] = server.requests;
  expect(request).toMatchObject({ method: 'POST', url: '/hooks/reports?of=acme' });
  const { 'webhook-id': id, 'webhook-timestamp': second, 'webhook-signature': signature } = request!.headers;
  expect(id).toBe(receipt.delivery);
  expect(second).toBe(String(Math.floor(NOW / 1000)));
  const expected = createHmac('sha256', KEY).update(`${id}.${second}.${request!.body}`).digest('base64');
  expect(signature).toBe(`v1,${expected}`);
  expect(JSON.parse(request!.body)).toEqual({
    type: 'report.made',
    timestamp: '2026-11-16T07:00:05.000Z',
    data: {
      run: RUN,
      org: 'acme',
      organization: 'Acme Ltd',
      report: 'weekly-kpi',
      title: 'Weekly KPIs',
      slot: ORDER.slot,
      period: ORDER.period,
      incomplete: [],
      files: sealed.artifacts.map(({ name, mediaType, bytes, sha256 }) => ({
        name,
        media_type: mediaType,
        bytes,
        sha256,
        links: [],
      })),
    },
  });
  const kept = await readFile(await archivedMessagePath(sealed.folder, receipt.delivery), 'utf8');
  expect(kept).toBe(request!.body);
});

test('a webhook gets the raw figures that have a usual range, unless the report is classified', async () => {
  const range = { section: 'kpis', metric: 'a.b', value: 0.71, low: 0.8, high: 0.92, state: 'unusual' } as const;
  const manifest = { ranges: [{ ...range, headline: 0 }] };
  const { server, once } = await caseOf({}, [], true, manifest);
  await once();
  expect(JSON.parse(server.requests[0]?.body ?? '').data.ranges).toEqual([range]);
  const { server: other, input } = await caseOf({}, [], true, manifest);
  await deliver({ ...input, settings: { ...input.settings, classification: 'Confidential' } });
  expect(JSON.parse(other.requests[0]?.body ?? '').data).not.toHaveProperty('ranges');
});

test('a webhook is sent after the other deliveries and names the locations of their files', async () => {
  const { server, root, once } = await caseOf({}, [
    { directory: { path: 'out/{{ period.label }}' } },
    { directory: { path: 'a/../b' } },
  ]);
  expect(await once()).toMatchObject({ state: 'sent' });
  const { files } = JSON.parse(server.requests[0]!.body).data;
  expect(files[1]).toMatchObject({ name: 'queue.csv', links: [join(root, 'out/2026-W46/queue.csv')] });
});

test('a second delivery sends nothing again', async () => {
  const { server, once } = await caseOf();
  expect(await once()).toEqual(await once());
  expect(server.requests).toHaveLength(1);
});

test.each([
  [200, 'sent'],
  [204, 'sent'],
  [299, 'sent'],
  [301, 'refused'],
  [307, 'refused'],
  [400, 'refused'],
  [401, 'refused'],
  [404, 'refused'],
  [410, 'refused'],
  [408, 'pending'],
  [429, 'pending'],
  [599, 'pending'],
  [600, 'unknown'],
  [999, 'unknown'],
  [500, 'pending'],
  [502, 'pending'],
  [503, 'pending'],
])('HTTP %i leaves the delivery %s', async (status, state) => {
  const { server, once } = await caseOf();
  server.behave(answer(status, 'because', { location: 'http://127.0.0.1:1/' }));
  expect(await once()).toMatchObject({ state, detail: expect.stringContaining(`HTTP ${status}`) });
  expect(server.requests).toHaveLength(1);
  server.behave(answer(204));
  expect(await once()).toMatchObject({ state: state === 'pending' ? 'sent' : state });
});

const MINUTE = 60_000;
test.each<[string, number, Record<string, string>, number | undefined]>([
  ['seconds', 429, { 'retry-after': '120' }, 2 * MINUTE],
  ['seconds', 503, { 'retry-after': '120' }, 2 * MINUTE],
  [
    'a date, measured by the clock of who said it',
    429,
    { 'retry-after': 'Mon, 16 Nov 2026 09:10:00 GMT', date: 'Mon, 16 Nov 2026 09:00:00 GMT' },
    10 * MINUTE,
  ],
  ['an hour at most', 503, { 'retry-after': '86400' }, 60 * MINUTE],
  ['nothing that can be read', 429, { 'retry-after': 'soon' }, undefined],
  ['nothing', 429, {}, undefined],
  ['another answer, of which it says nothing', 500, { 'retry-after': '120' }, undefined],
])(
  'Retry-After with %s (HTTP %i) stops every run from trying until then, without using an attempt',
  async (_, status, headers, wait) => {
    const { server, input } = await caseOf();
    const redis = new Redis(inject('redisUrl'));
    const prefix = `test-webhook-${randomUUID()}:`;
    onTestFinished(async () => {
      const keys = await redis.keys(`${prefix}*`);
      if (keys.length > 0) await redis.del(...keys);
      redis.disconnect();
    });
    const at = (clock: Clock): DeliverInput => ({
      ...input,
      clock,
      circuit: redisCircuitBreaker(redis, { prefix, clock }),
    });
    server.behave(answer(status, 'busy', headers));
    // This attempt made a request. The next one must not.
    expect(await deliver(at(manualClock(NOW)))).toMatchObject({ retryable: true, outage: undefined });
    server.behave(answer(204));
    if (wait !== undefined) {
      const early = await deliver(at(manualClock(NOW + wait - 1)));
      expect(early).toMatchObject({ retryable: true, outage: { until: NOW + wait } });
      expect(early.receipts[0]).toMatchObject({
        state: 'pending',
        detail: expect.stringContaining(`HTTP ${status} busy`),
      });
      expect(server.requests).toHaveLength(1);
    }
    expect(await deliver(at(manualClock(NOW + (wait ?? 1))))).toMatchObject({ receipts: [{ state: 'sent' }] });
    expect(server.requests).toHaveLength(2);
  },
);

test('a retry has the same id and a new signature', async () => {
  const { server, input, once } = await caseOf();
  server.behave(answer(503));
  await once();
  server.behave(answer(204));
  await deliver({ ...input, clock: manualClock(NOW + 60_000) });
  const [one, two] = server.requests.map(({ headers }) => headers);
  expect(two!['webhook-id']).toBe(one!['webhook-id']);
  expect(two!['webhook-signature']).not.toBe(one!['webhook-signature']);
});

const SILENCES: readonly [string, Behaviour][] = [
  ['reset', (request) => void request.socket.resetAndDestroy()],
  ['closed', (request) => void request.socket.end()],
  ['broken off amid the headers', (request) => void request.socket.end('HTTP/1.1 200 O')],
  ['garbage', (request) => void request.socket.end('220 mail.example ESMTP\r\n')],
];

test.each(SILENCES)('a request whose connection is then %s is unknown, and never sent again', async (_, behaviour) => {
  const { server, once } = await caseOf();
  server.behave(behaviour);
  expect(await once()).toMatchObject({ state: 'unknown' });
  server.behave(answer(204));
  expect(await once()).toMatchObject({ state: 'unknown' });
  expect(server.requests).toHaveLength(1);
});

test.each(SILENCES)(
  'a request whose connection is then %s is retried if the receiver is idempotent',
  async (_, behaviour) => {
    const { server, once } = await caseOf({ idempotent: true });
    server.behave(behaviour);
    expect(await once()).toMatchObject({ state: 'pending' });
    server.behave(answer(204));
    expect(await once()).toMatchObject({ state: 'sent' });
    expect(new Set(server.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  },
);

test('a request with too many files is refused, and one about incomplete figures names them', () => {
  const artifact = (name: string): Artifact => ({
    name,
    format: 'csv',
    mediaType: 'text/csv',
    path: name,
    bytes: 1,
    sha256: '0'.repeat(64),
  });
  const says = { section: 'queue', code: 'truncated', text: 'Rows are missing.' } as const;
  const manifest = { ...manifestOf([]), incomplete: [{ ...says, incomplete: true }] };
  const { data } = JSON.parse(webhookBody(manifest, [artifact('a.csv')], new Map()));
  expect(data.incomplete).toEqual([says]);
  expect(data.files).toMatchObject([{ name: 'a.csv', links: [] }]);
  const many = Array.from({ length: 8000 }, (_, index) => artifact(`${index}.csv`));
  expect(() => webhookBody(manifest, many, new Map())).toThrow(
    expect.objectContaining({ code: 'deliver.target_refused', got: expect.stringContaining('8000 files') }),
  );
});

test('an endless response is not read to its end', async () => {
  const { server, once } = await caseOf();
  server.behave((_request, response) => {
    response.writeHead(200);
    const more = (): void => void (response.destroyed || response.write('x'.repeat(65_536), more));
    more();
  });
  expect(await once()).toMatchObject({ state: 'sent', detail: 'HTTP 200' });
});

test('an unreachable receiver leaves the delivery pending', async () => {
  const { server, once } = await caseOf();
  await server.close();
  expect(await once()).toMatchObject({ state: 'pending', detail: expect.stringMatching(/ECONNREFUSED/) });
});

test('a server that closes before TLS is established leaves the delivery pending', async () => {
  const tcp = createTcpServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void tcp.close());
  const { once } = await caseOf({ url: `https://127.0.0.1:${(tcp.address() as AddressInfo).port}/` });
  expect(await once()).toMatchObject({ state: 'pending' });
});

test('an untrusted certificate leaves the delivery pending', async () => {
  const server = createServer({ cert: TLS.cert, key: TLS.key }, (_request, response) => void response.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { once } = await caseOf({ url });
  expect(await once()).toMatchObject({ state: 'pending', detail: expect.stringMatching(/self.signed/i) });
  await probeConnection(new URL(url), { allowPrivate: true, ca: TLS.cert });
  await expect(probeConnection(new URL(url), { allowPrivate: true })).rejects.toThrow(/self.signed/i);
});

test('private addresses are refused unless the organization allows them', async () => {
  const { server, once } = await caseOf({}, [], false);
  expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringContaining('allow_private') });
  expect(server.requests).toEqual([]);
});

test('a secret URL is in no receipt, even if the receiver repeats it', async () => {
  const { server, once } = await caseOf({ url: { env: 'URL' } });
  server.behave((request, response) => void response.writeHead(404).end(`Cannot POST ${request.url}`));
  const receipt = await once();
  expect(receipt).toMatchObject({
    state: 'refused',
    recipient: 'webhook of URL',
    detail: 'HTTP 404 Cannot POST [secret]',
  });
  expect(server.requests[0]!.url).toContain('VerySecretPath');
});

test.each([
  [{ secret: { env: 'NOT_SET' } }, /NOT_SET/],
  [{ url: { env: 'NOT_SET' } }, /NOT_SET/],
  [{ url: { env: 'SECRET' } }, /URL of the webhook of SECRET is invalid/],
  [{ secret: { env: 'URL' } }, /secret of a webhook is invalid/],
] as const)('the configuration %j keeps the delivery pending, and the others are sent', async (over, detail) => {
  const { input, once } = await caseOf(over, [{ directory: { path: 'out' } }]);
  expect(await once()).toMatchObject({ state: 'pending', detail: expect.stringMatching(detail) });
  const { receipts } = await deliver(input);
  expect(receipts.map(({ state }) => state)).toEqual(['pending', 'sent']);
  expect(JSON.stringify(receipts)).not.toContain(KEY.toString('base64'));
});

test.each(['', 'whsec_', 'whsec_Zm9v', 'plain text of many characters, many', `whsec_${'A'.repeat(200)}`])(
  'the key %j is invalid and is not repeated in the error',
  (text) => {
    expect(() => parseWebhookSecret(new Secret(text))).toThrowError(
      expect.objectContaining({ code: 'config.invalid', got: 'a text in another form (not shown)' }),
    );
  },
);

test.each([
  [false, 'unknown', 0],
  [true, 'sent', 1],
])('a row left as `sending` (idempotent: %s) becomes %s', async (idempotent, state, requests) => {
  const { server, ledger, input, once } = await caseOf({ idempotent });
  await expect(deliver({ ...input, signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
  const [row] = await ledger.list(RUN);
  await ledger.begin(row!.id, 1);
  expect(await once()).toMatchObject({ state });
  expect(server.requests).toHaveLength(requests);
});
