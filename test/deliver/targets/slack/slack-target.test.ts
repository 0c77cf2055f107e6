import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import type { SteadyClock } from '../../../../src/base/clock.ts';
import { secretSource } from '../../../../src/base/secrets/secret.ts';
import { reportFileSchema as SCHEMA } from '../../../../src/compose/built-in-kinds.ts';
import { clearFigures } from '../../../../src/definitions/diagnostics/protection-diagnostics.ts';
import { generateSigningKey } from '../../../../src/deliver/archive/chain/signing-key.ts';
import { directoryStorage } from '../../../../src/deliver/archive/storage/directory-storage.ts';
import { verifyArchive } from '../../../../src/deliver/archive/verify/verify-archive.ts';
import { redisCircuitBreaker } from '../../../../src/deliver/circuit/circuit-breaker.ts';
import { type DeliverInput, deliver } from '../../../../src/deliver/deliver.ts';
import { destinationGuard } from '../../../../src/deliver/destination-guard.ts';
import { TARGETS, targetProbe } from '../../../../src/deliver/targets/registry.ts';
import type { SlackSpec } from '../../../../src/deliver/targets/slack/slack-target.ts';
import { archivedMessagePath } from '../../../support/archived-messages.ts';
import { definitionWith, folderFor, ORDER, PERIOD, RUN, SETTINGS, sealedRun } from '../../../support/delivery-case.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { memoryLedger } from '../../../support/memory-ledger.ts';
import { keyFrom, signedOver } from '../../../support/signed-archive.ts';
import {
  CHANNEL,
  PRIVATE_CHANNEL,
  SLACK_TOKEN,
  type SlackFault,
  type SlackStep,
  slackServer,
} from '../../../support/slack-server.ts';

const REPORT = {
  version: 1,
  title: 'Weekly KPIs',
  owner: 'ops@acme.example',
  period: 'previous_week',
  sections: [{ id: 'queue', metrics: ['alerts.open'] }],
  outputs: [{ format: 'xlsx' }],
};
const NOW = Date.UTC(2026, 10, 16, 7, 0, 30);
const HEADLINES = ['Reviews overdue: 62, target 0, breached', 'Profiles <created>: 460 & more'];

/** A clock whose sleeps end at once, so that waiting for shares takes no time. */
function hastyClock(): SteadyClock {
  const clock = manualClock(NOW);
  return { ...clock, sleep: async (ms) => clock.advance(ms) };
}

async function caseOf(
  over: Partial<SlackSpec> = {},
  {
    looks = 1,
    files,
    manifest = {},
    settings = {},
  }: {
    readonly looks?: number;
    readonly files?: Readonly<Record<string, string>>;
    readonly manifest?: Parameters<typeof sealedRun>[3];
    readonly settings?: Partial<DeliverInput['settings']>;
  } = {},
) {
  const server = await slackServer({ looks });
  onTestFinished(() => server.close());
  const root = await folderFor(onTestFinished);
  const { archive, published } = await sealedRun(root, files, undefined, { headlines: HEADLINES, ...manifest });
  const ledger = memoryLedger();
  const spec: SlackSpec = {
    channel: CHANNEL,
    token: { env: 'TOKEN' },
    body: 'summary',
    files: false,
    api_url: server.apiUrl,
    ...over,
  };
  const clock = hastyClock();
  const input: DeliverInput = {
    order: ORDER,
    definition: definitionWith([{ slack: spec }]),
    settings: { ...SETTINGS, allow_private: true, ...settings },
    secrets: secretSource({ TOKEN: SLACK_TOKEN }),
    published,
    mail: undefined,
    ledger,
    archive,
    clock,
    signal: new AbortController().signal,
    observe: () => {},
    workingDirectory: root,
    publicUrl: 'https://docket.acme.example',
  };
  const once = async (more: Partial<DeliverInput> = {}) => (await deliver({ ...input, ...more })).receipts[0]!;
  return { server, published, ledger, input, once, clock };
}

const SHARED_FILES = [
  { name: 'KPIs 2026-W46.xlsx', bytes: 'workbook' },
  { name: 'queue.csv', bytes: 'alerts\r\n3\r\n' },
];

test('the channel gets title, period and headlines as plain text, and a link to the page', async () => {
  const { server, once, published } = await caseOf();
  const receipt = await once();
  expect(receipt).toMatchObject({
    state: 'sent',
    recipient: `Slack channel ${CHANNEL}`,
    detail: expect.stringContaining('1503435956.000001'),
  });
  const [posted] = server.posted;
  const url = `https://docket.acme.example/runs/${RUN}`;
  expect(posted?.blocks).toEqual([
    { type: 'header', text: { type: 'plain_text', text: 'Weekly KPIs, 2026-W46', emoji: false } },
    {
      type: 'section',
      text: {
        type: 'plain_text',
        text: ['Acme Ltd', ...HEADLINES.map((line) => `• ${line}`)].join('\n'),
        emoji: false,
      },
    },
    { type: 'section', text: { type: 'mrkdwn', text: `<${url}|Open the run in Docket>` } },
  ]);
  // Screen readers read this text. It is markup, so names must not become mentions.
  expect(posted?.text).toContain('Profiles &lt;created&gt;: 460 &amp; more');
  expect(server.requests[0]?.authorization).toBe(`Bearer ${SLACK_TOKEN}`);
  const kept = await readFile(await archivedMessagePath(published.folder, receipt.delivery), 'utf8');
  expect(JSON.parse(kept)).toMatchObject({ channel: CHANNEL, text: posted?.text, files: [] });
  expect(kept).not.toContain(SLACK_TOKEN);
});

test('a long report has ten lines, and says how many headlines are left out', async () => {
  const headlines = Array.from({ length: 30 }, (_, index) => `Metric ${index}: ${'long '.repeat(200)}`);
  const incomplete = [{ section: 'queue', code: 'truncated', text: 'cut', incomplete: true } as const];
  const { server, once } = await caseOf({}, { manifest: { headlines, incomplete, title: 'T'.repeat(300) } });
  expect(await once()).toMatchObject({ state: 'sent' });
  const [header, section] = (server.posted[0]?.blocks ?? []) as { text: { text: string } }[];
  expect(header?.text.text.length).toBeLessThanOrEqual(150);
  expect(section?.text.text.length).toBeLessThanOrEqual(3_000);
  const lines = section?.text.text.split('\n') ?? [];
  expect(lines).toHaveLength(10);
  expect(lines[1]).toContain('1');
  expect(lines.at(-1)).toContain('23');
});

test('a notice has no figures, and a corrected edition says what it is', async () => {
  const corrects = { run: 'a'.repeat(32), at: '2026-11-15T07:00:00.000Z', changes: 1, subject: 'Corrected' };
  const conditions = [
    { target: '0-slack', recipient: null, send_if: 'correction', send: true, reason: 'It has the replaced edition.' },
  ];
  const { server, once } = await caseOf({ body: 'notice' }, { manifest: { corrects, conditions } });
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(server.posted[0]?.text).toContain('Corrected: Weekly KPIs');
  expect(server.posted[0]?.text).not.toMatch(/62|460/);
});

test('a delivery is sent once Slack shows its files in the channel, with the message', async () => {
  const { server, once } = await caseOf({ files: true }, { looks: 4 });
  expect(await once()).toMatchObject({ state: 'sent', detail: expect.stringContaining('F000000001, F000000002') });
  expect(server.posted).toEqual([{ channel: CHANNEL, text: '', blocks: expect.any(Array), files: SHARED_FILES }]);
  const { fields } = server.requests.find(({ step }) => step === 'files.completeUploadExternal')!;
  expect(fields).toMatchObject({ channel_id: CHANNEL });
  expect(fields).not.toHaveProperty('initial_comment');
});

test('a delivery to a private channel is sent once Slack shows its files there', async () => {
  const { server, once } = await caseOf({ files: true, channel: PRIVATE_CHANNEL });
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(server.posted[0]).toMatchObject({ channel: PRIVATE_CHANNEL, files: SHARED_FILES });
});

test('a second delivery posts nothing again', async () => {
  const { server, once } = await caseOf({ files: true });
  expect(await once()).toEqual(await once());
  expect(server.posted).toHaveLength(1);
});

const cut = (when: 'before' | 'after'): SlackFault => ({ when, cut: true });
const status = (code: number, when: 'before' | 'after' = 'before'): SlackFault => ({ when, status: code });
const error = (name: string, when: 'before' | 'after' = 'before'): SlackFault => ({ when, error: name });
const ticket = (url: string, id: string): SlackFault => {
  return { when: 'before', status: 200, text: JSON.stringify({ ok: true, upload_url: url, file_id: id }) };
};

test.each<[step: SlackStep, fault: SlackFault, state: string, visible: number]>([
  ['chat.postMessage', error('token_revoked'), 'refused', 0],
  ['chat.postMessage', error('is_archived'), 'refused', 0],
  ['chat.postMessage', error('not_in_channel'), 'refused', 0],
  ['chat.postMessage', error('an_error_of_tomorrow'), 'refused', 0],
  ['chat.postMessage', { when: 'before', error: 'missing_scope', needed: 'chat:write' }, 'refused', 0],
  ['chat.postMessage', error('ratelimited'), 'pending', 0],
  ['chat.postMessage', error('service_unavailable'), 'pending', 0],
  ['chat.postMessage', error('fatal_error', 'after'), 'unknown', 1],
  ['chat.postMessage', error('internal_error'), 'unknown', 0],
  ['chat.postMessage', status(301), 'refused', 0],
  ['chat.postMessage', status(403), 'refused', 0],
  ['chat.postMessage', status(429), 'pending', 0],
  ['chat.postMessage', status(500), 'unknown', 0],
  ['chat.postMessage', status(503, 'after'), 'unknown', 1],
  ['chat.postMessage', { when: 'after', status: 200, text: '<html>' }, 'unknown', 1],
  ['chat.postMessage', cut('after'), 'unknown', 1],
  ['chat.postMessage', { when: 'after', status: 200, text: '{"ok":true}' }, 'unknown', 1],
  ['chat.postMessage', { when: 'after', status: 200, text: `{"ok":true,"ts":"${SLACK_TOKEN}"}` }, 'unknown', 1],
  ['files.getUploadURLExternal', error('token_revoked'), 'refused', 0],
  ['files.getUploadURLExternal', error('file_uploads_disabled'), 'refused', 0],
  ['files.getUploadURLExternal', status(429), 'pending', 0],
  ['files.getUploadURLExternal', cut('after'), 'pending', 0],
  ['files.getUploadURLExternal', { when: 'before', status: 200, text: '{"ok":true}' }, 'pending', 0],
  ['files.getUploadURLExternal', ticket('file:///etc/passwd', 'F1'), 'pending', 0],
  ['files.getUploadURLExternal', ticket('http://127.0.0.1:1/', SLACK_TOKEN), 'pending', 0],
  ['upload', status(403), 'refused', 0],
  ['upload', status(500), 'pending', 0],
  ['upload', cut('after'), 'pending', 0],
  ['files.completeUploadExternal', error('token_revoked'), 'refused', 0],
  ['files.completeUploadExternal', error('is_archived'), 'refused', 0],
  ['files.completeUploadExternal', status(429), 'pending', 0],
  ['files.completeUploadExternal', status(500), 'unknown', 0],
  ['files.completeUploadExternal', error('file_not_found'), 'pending', 0],
  ['files.completeUploadExternal', cut('before'), 'unknown', 0],
  ['files.completeUploadExternal', { when: 'after', unshared: true }, 'unknown', 0],
  // Slack shows the files, whatever its reply was.
  ['files.completeUploadExternal', cut('after'), 'sent', 1],
  ['files.completeUploadExternal', error('internal_error', 'after'), 'sent', 1],
  ['files.completeUploadExternal', error('file_update_failed', 'after'), 'sent', 1],
  ['files.info', cut('before'), 'unknown', 1],
  ['files.info', error('internal_error'), 'unknown', 1],
  // Without this scope Docket could not see whether the files are shared, so it shares none.
  ['files.info', { when: 'before', error: 'missing_scope', needed: 'files:read' }, 'refused', 0],
])('%s with %j leaves the delivery %s', async (step, fault, state, visible) => {
  const { server, once } = await caseOf({ files: step !== 'chat.postMessage' });
  server.fail(step, fault);
  const receipt = await once();
  expect(receipt.state).toBe(state);
  expect(receipt.detail).not.toContain(SLACK_TOKEN);
  expect(receipt.detail).not.toContain('a1b2c3d4e5f6a7b8');
  expect(server.posted).toHaveLength(visible);
  server.fail(step, undefined);
  // The next call delivers what is pending, once. What Slack shows later is no longer unknown.
  const later = await once();
  const resolved = step === 'files.info' && state === 'unknown' ? 'sent' : state;
  expect(later.state).toBe(state === 'pending' ? 'sent' : resolved);
  expect(server.posted).toHaveLength(state === 'pending' ? 1 : visible);
});

test('a reply of 429 with Retry-After stops requests for that long', async () => {
  const { server, input } = await caseOf();
  server.fail('chat.postMessage', { when: 'before', status: 429, headers: { 'retry-after': '30' } });
  const redis = new Redis(inject('redisUrl'));
  const prefix = `test-slack-${randomUUID()}:`;
  onTestFinished(async () => {
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  });
  const at = (clock: DeliverInput['clock']): DeliverInput => ({
    ...input,
    clock,
    circuit: redisCircuitBreaker(redis, { prefix, clock }),
  });
  await deliver(at(manualClock(NOW)));
  server.fail('chat.postMessage', undefined);
  expect((await deliver(at(manualClock(NOW + 29_999)))).outage?.until).toBe(NOW + 30_000);
  expect(server.requests).toHaveLength(1);
  expect(await deliver(at(manualClock(NOW + 30_000)))).toMatchObject({ receipts: [{ state: 'sent' }] });
});

test('looking for shares waits as long as a reply of 429 says, and the receipt names the reply', async () => {
  const { server, once, clock } = await caseOf({ files: true });
  const requested: number[] = [];
  server.watch((step) => {
    if (step === 'files.completeUploadExternal')
      server.fail('files.info', { when: 'before', status: 429, headers: { 'retry-after': '25' } });
    else if (step === 'files.info' && server.posted.length > 0) requested.push(clock.now());
    return undefined;
  });
  expect(await once()).toMatchObject({ state: 'unknown', detail: expect.stringContaining('HTTP 429') });
  expect(requested).toHaveLength(3);
  expect(requested.map((at) => at - (requested[0] ?? 0))).toEqual([0, 25_000, 50_000]);
});

test('an empty file refuses the delivery before anything is uploaded, and the receipt names the file', async () => {
  const { server, once } = await caseOf({ files: true }, { files: { 'KPIs.xlsx': 'workbook', 'queue.jsonl': '' } });
  expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringContaining('queue.jsonl') });
  expect(server.requests).toEqual([]);
});

test('a retry completes the same uploads', async () => {
  const { server, once } = await caseOf({ files: true });
  server.fail('files.completeUploadExternal', status(429));
  expect(await once()).toMatchObject({ state: 'pending' });
  server.fail('files.completeUploadExternal', undefined);
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(server.steps().filter((step) => step === 'upload')).toHaveLength(2);
  expect(server.posted).toHaveLength(1);
});

test('a signed archive verifies the message with the ids of its files', async () => {
  const server = await slackServer();
  onTestFinished(() => server.close());
  const root = await folderFor(onTestFinished);
  const clock = hastyClock();
  const storage = directoryStorage(join(root, 'archive'));
  const { pem } = generateSigningKey();
  const { archive } = signedOver(storage, pem, clock);
  const { published } = await sealedRun(root, undefined, archive);
  const spec = {
    channel: CHANNEL,
    token: { env: 'TOKEN' },
    body: 'summary',
    files: true,
    api_url: server.apiUrl,
  } as const;
  const input = { order: ORDER, definition: definitionWith([{ slack: spec }]), published, archive, clock };
  const { receipts } = await deliver({
    ...input,
    settings: { ...SETTINGS, allow_private: true },
    secrets: secretSource({ TOKEN: SLACK_TOKEN }),
    mail: undefined,
    ledger: memoryLedger(),
    signal: new AbortController().signal,
    observe: () => {},
  });
  const message = await archive.getMessage(published, receipts[0]?.delivery ?? '', 'json');
  expect(JSON.parse(Buffer.from(message ?? []).toString()).files.map(({ id }: { id?: string }) => id)).toEqual([
    'F000000001',
    'F000000002',
  ]);
  const findings = [];
  for await (const checked of verifyArchive(storage, { keys: keyFrom(pem).trusted, now: NOW })) {
    findings.push(...checked.findings.filter(({ note }) => !note));
  }
  expect(findings).toEqual([]);
});

test('uploads that Slack has discarded are made again', async () => {
  const { server, once } = await caseOf({ files: true });
  server.fail('files.completeUploadExternal', status(429));
  await once();
  server.fail('files.completeUploadExternal', undefined);
  server.discardUploads();
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(server.posted).toHaveLength(1);
});

test('a token revoked during the uploads refuses the delivery, and no file is visible', async () => {
  const { server, once } = await caseOf({ files: true });
  server.watch((step) => {
    if (step === 'upload') server.state.revoked = true;
    return undefined;
  });
  expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringContaining('token_revoked') });
  expect(server.posted).toEqual([]);
});

test('files are uploaded only to hosts of the allow-list', async () => {
  const { server, once } = await caseOf(
    { files: true },
    { settings: { destinations: { hosts: ['127.0.0.1'], buckets: [], folders: [] } } },
  );
  server.fail('files.getUploadURLExternal', {
    when: 'before',
    status: 200,
    text: JSON.stringify({ ok: true, upload_url: 'http://localhost:1/upload', file_id: 'F1' }),
  });
  expect(await once()).toMatchObject({ state: 'refused', detail: expect.stringContaining('localhost') });
  expect(server.steps()).toEqual(['files.getUploadURLExternal']);
});

test('a host outside of the allow-list, or a private one, gets no request', async () => {
  const listed = { destinations: { hosts: ['slack.com'], buckets: [], folders: [] } };
  const outside = await caseOf({}, { settings: listed });
  expect(await outside.once()).toMatchObject({ state: 'refused' });
  const inside = await caseOf({}, { settings: { allow_private: false } });
  expect(await inside.once()).toMatchObject({ state: 'refused' });
  expect([outside.server.requests, inside.server.requests]).toEqual([[], []]);
});

test('an unreadable token or an unreachable server leaves the delivery pending', async () => {
  const { server, once } = await caseOf();
  expect(await once({ secrets: secretSource({}) })).toMatchObject({ state: 'pending' });
  await server.close();
  expect(await once()).toMatchObject({ state: 'pending', detail: expect.stringContaining('Not connected') });
});

test('doctor checks the channel and posts nothing', async () => {
  const { server } = await caseOf();
  const probe = (channel = CHANNEL) =>
    targetProbe(
      { slack: { channel, token: { env: 'TOKEN' }, body: 'summary', files: true, api_url: server.apiUrl } },
      {
        variables: { period: PERIOD, org: 'acme', report: 'weekly', title: 'Weekly', run: 'doctor' },
        secrets: secretSource({ TOKEN: SLACK_TOKEN }),
        allowPrivate: true,
        guard: destinationGuard({ id: 'acme' }),
        workingDirectory: '/',
      },
    )!.probe();
  expect(await probe()).toContain(CHANNEL);
  const failed = { code: 'deliver.target_failed' };
  await expect(probe('C0000000000')).rejects.toMatchObject({
    ...failed,
    got: expect.stringContaining('channel_not_found'),
  });
  server.state.member = false;
  await expect(probe()).rejects.toMatchObject(failed);
  Object.assign(server.state, { member: true, archived: true });
  await expect(probe()).rejects.toMatchObject(failed);
  server.state.archived = false;
  server.fail('files.info', { when: 'before', error: 'missing_scope', needed: 'files:read' });
  await expect(probe()).rejects.toMatchObject({ ...failed, got: expect.stringContaining('files:read') });
  server.state.revoked = true;
  await expect(probe()).rejects.toMatchObject({ ...failed, got: expect.stringContaining('token_revoked') });
  expect(new Set(server.steps())).toEqual(new Set(['conversations.info', 'files.info']));
});

test.each(['#reports', 'reports', 'D0123ABCDEF', 'c0123abcdef', 'https://acme.slack.com/archives/C0123ABCDEF'])(
  'a channel needs its id: %s is refused',
  (channel) => {
    const parsed = SCHEMA.safeParse({ ...REPORT, deliveries: [{ slack: { channel, token: { env: 'TOKEN' } } }] });
    expect(parsed.error?.issues[0]).toMatchObject({ path: ['deliveries', 0, 'slack', 'channel'] });
  },
);

test('in a report with a protected output, plain files and the summary are reported, and a notice is not', () => {
  const clear = (slack: object) => {
    const outputs = [{ format: 'xlsx', password: { env: 'PASSWORD' } }, { format: 'csv' }];
    const deliveries = [{ slack: { channel: CHANNEL, token: { env: 'TOKEN' }, ...slack } }];
    return clearFigures(SCHEMA.parse({ ...REPORT, outputs, deliveries }), TARGETS);
  };
  expect(clear({})).toEqual([{ index: 0, what: ['the summary'] }]);
  expect(clear({ files: true, body: 'notice' })).toEqual([{ index: 0, what: ['csv'] }]);
  expect(clear({ body: 'notice' })).toEqual([]);
});
