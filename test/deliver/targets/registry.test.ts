import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createMetrics } from '../../../src/admin/metrics/process-metrics.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { DocketError } from '../../../src/base/error.ts';
import { expectedSeries, processInfo } from '../../../src/compose/admin.ts';
import { BUILT_IN_KINDS, loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { checkTargets } from '../../../src/compose/probes/definitions.ts';
import { checkAllowLists } from '../../../src/definitions/allow-lists/check-allow-lists.ts';
import { createDefinitionParser } from '../../../src/definitions/load/parse-definitions.ts';
import { diffReports } from '../../../src/definitions/report-diff.ts';
import { reportJsonSchema } from '../../../src/definitions/schema/json-schema.ts';
import { createReportSchema } from '../../../src/definitions/schema/report-definition.ts';
import { deliver } from '../../../src/deliver/deliver.ts';
import { plannedDeliveries } from '../../../src/deliver/planned-deliveries.ts';
import { TARGETS } from '../../../src/deliver/targets/registry.ts';
import { defineTarget, newRow } from '../../../src/deliver/targets/target.ts';
import { evaluateConditions } from '../../../src/run/delivery-conditions.ts';
import { readScopePolicy } from '../../../src/services/definitions/report-scope.ts';
import { assertNotDelivered, summarizeDeliveries } from '../../../src/services/runs/already-delivered.ts';
import { definitionWith, folderFor, NO_SECRETS, ORDER, SETTINGS, sealedRun } from '../../support/delivery-case.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { memoryLedger } from '../../support/memory-ledger.ts';
import { anOrder, recordingLog } from '../../support/queue-harness.ts';
import { reportFieldReference } from '../../support/reference/fields.ts';

const chatSchema = (formats: readonly string[]) =>
  z.strictObject({
    host: z.string().describe('The chat server.'),
    rooms: z.array(z.string()).min(1),
    attach: z.array(z.enum(formats)).default([]),
  });

/** A target kind of this test only. It posts to rooms of a chat server. */
function chat() {
  const posts: string[] = [];
  const target = defineTarget({
    kind: 'chat',
    label: 'Chat',
    audience: { one: 'room', many: 'rooms' },
    attachField: 'attach',
    schema: chatSchema,
    diagnostics: ({ rooms }) =>
      new Set(rooms).size === rooms.length
        ? []
        : [{ path: ['rooms'], expected: 'different rooms', got: 'a duplicate', next: 'remove it' }],
    describe: ({ host, rooms, attach }) => ({
      addresses: rooms.map((room) => `chat://${host}/${room}`),
      attach,
      destinations: [{ path: ['host'], host }],
    }),
    list: (name, { host, rooms }, { published }) =>
      rooms.map((room) => ({ row: newRow(published, name, room), service: host, messageId: null })),
    send:
      async ({ row }, { host }, { published }) =>
      async () => {
        posts.push(`${host} ${row.recipient}: ${published.artifacts.length} files`);
        return { state: 'sent', detail: 'posted' };
      },
    probe: ({ host }) => ({ name: `Chat ${host}`, probe: async () => `${host} answers` }),
  });
  return { posts, targets: [...TARGETS, target] };
}

const CHAT_ENTRY = 'chat: { host: chat.example, rooms: [ops, audit] }';

/** Loads a jobs folder with the chat target. This entry replaces the directory delivery. */
async function load(entry: string, org = ORG) {
  const { targets, posts } = chat();
  const kinds = { ...BUILT_IN_KINDS, targets };
  const report = REPORT.replace('directory: { path: out }', entry);
  const folder = await jobsFolder({ 'acme/org.yaml': org, 'acme/weekly.yaml': report });
  const jobs = await loadDefinitions(folder, { parser: createDefinitionParser(kinds) });
  return { jobs, kinds, targets, posts, folder };
}

const SPEC = { host: 'chat.example', rooms: ['ops', 'audit'], attach: [] };

test('an additional target is in the JSON Schema, in the order of the registry', () => {
  const { targets } = chat();
  const schema = reportJsonSchema({ ...BUILT_IN_KINDS, targets });
  expect(schema).toMatchObject({
    properties: { deliveries: { items: { properties: { chat: { required: ['host', 'rooms'] } } } } },
  });
  const { properties } = z
    .object({ properties: z.object({ deliveries: z.object({ items: z.object({ properties: z.looseObject({}) }) }) }) })
    .parse(schema);
  expect(Object.keys(properties.deliveries.items.properties)).toEqual([
    ...TARGETS.map(({ kind }) => kind),
    'chat',
    'send_if',
    'split',
    'unprotected',
  ]);
});

test('an additional target is loaded, stored and read again, and unknown without its registration', async () => {
  const { jobs, kinds, folder } = await load(CHAT_ENTRY);
  expect(jobs.diagnostics).toEqual([]);
  const definition = jobs.reports.get('acme/weekly')!;
  expect(definition.deliveries[1]).toEqual({ chat: SPEC });
  const { org, report, digest, ...file } = definition;
  expect(createReportSchema(kinds).parse(JSON.parse(JSON.stringify(file)))).toEqual(file);
  expect((await loadDefinitions(folder)).diagnostics).toHaveLength(1);
});

test.each([
  ['its own rules', 'chat: { host: chat.example, rooms: [ops, ops] }', { expected: 'different rooms', line: 25 }],
  ['one target per entry', `${CHAT_ENTRY}\n    directory: { path: out }`, { got: 'directory and chat' }],
  ['its schema', 'chat: { host: chat.example }', { line: 25 }],
  ['attachments that no output makes', 'chat: { host: chat.example, rooms: [ops], attach: [pdf] }', { line: 25 }],
])('check applies %s to an additional target', async (_, entry, expected) => {
  expect((await load(entry)).jobs.diagnostics).toMatchObject([expected]);
});

test('check compares the attachments of an additional target with the outputs', async () => {
  const { targets } = chat();
  const schema = createReportSchema({ ...BUILT_IN_KINDS, targets });
  const { data, error } = schema.safeParse({
    version: 1,
    title: 'Weekly',
    owner: 'ops@acme.example',
    period: 'previous_week',
    sections: [{ id: 'queue', metrics: ['alerts.open'] }],
    outputs: [{ format: 'xlsx' }],
    deliveries: [{ chat: { ...SPEC, attach: ['csv'] } }],
  });
  expect(data).toBeUndefined();
  expect(error?.issues).toMatchObject([{ path: ['deliveries', 0, 'chat', 'attach', 0] }]);
});

test('check compares the destinations of an additional target with the allow-list', async () => {
  const { jobs, kinds } = await load(CHAT_ENTRY, `${ORG}destinations: { hosts: [other.example], folders: [out] }\n`);
  const policy = readScopePolicy({ config: readConfig({}), env: {} });
  const { errors, warnings } = await checkAllowLists(jobs, policy, kinds);
  expect([errors, warnings]).toMatchObject([[{ got: 'chat.example', line: 25 }], []]);
});

test('diff names the addresses of an additional target', async () => {
  const { jobs, kinds } = await load(CHAT_ENTRY);
  const version = { definition: jobs.reports.get('acme/weekly')!, settings: jobs.orgs.get('acme')! };
  expect(diffReports(undefined, version, 0, kinds).targets.added).toEqual([
    'chat chat://chat.example/audit',
    'chat chat://chat.example/ops',
  ]);
});

test('doctor probes an additional target', async () => {
  const { jobs, targets } = await load(CHAT_ENTRY);
  const clock = manualClock(0);
  const around = { config: readConfig({}), env: {}, clock, log: recordingLog() };
  expect(await checkTargets(jobs, around, targets)).toMatchObject([
    { what: 'Chat chat.example of acme', state: 'ok', detail: 'chat.example answers' },
  ]);
});

/** A published run with two deliveries to the chat target. */
async function published() {
  const { targets, posts } = chat();
  const root = await folderFor(onTestFinished);
  const run = await sealedRun(root);
  const definition = { ...definitionWith([]), deliveries: [{ chat: SPEC }] };
  const ports = {
    definition,
    settings: SETTINGS,
    secrets: NO_SECRETS,
    archive: run.archive,
    ledger: memoryLedger(),
    clock: manualClock(0),
    workingDirectory: root,
  };
  return { ...run, ports, definition, targets, posts };
}

test('a run delivers to an additional target', async () => {
  const run = await published();
  const signal = new AbortController().signal;
  const observed: string[] = [];
  const observe = ({ target, state }: { readonly target: string; readonly state: string }) =>
    void observed.push(`${target} ${state}`);
  const input = { ...run.ports, order: ORDER, published: run.published, mail: undefined, signal, observe };
  const { receipts } = await deliver({ ...input, targets: run.targets });
  expect(receipts).toMatchObject([
    { target: '0-chat', recipient: 'ops', state: 'sent' },
    { target: '0-chat', recipient: 'audit', state: 'sent' },
  ]);
  expect(run.posts).toEqual(['chat.example ops: 2 files', 'chat.example audit: 2 files']);
  expect(observed).toEqual(['0-chat sent', '0-chat sent']);
});

test('a preview of a release lists the deliveries of an additional target', async () => {
  const { published: run, ports, targets } = await published();
  expect(plannedDeliveries(run.manifest, ports, targets)).toMatchObject([
    { target: '0-chat', recipient: 'ops', receives: true },
    { target: '0-chat', recipient: 'audit', receives: true },
  ]);
});

test('conditions of an additional target are evaluated under its name', async () => {
  const { targets } = chat();
  const deliveries = [{ chat: SPEC, send_if: 'non_empty' }];
  const report = { org: 'acme', report: 'weekly', deliveries };
  const { conditions } = await evaluateConditions({ tables: [] }, report, undefined, undefined, targets);
  expect(conditions).toMatchObject([{ target: '0-chat', recipient: null, send: false }]);
});

test('deliveries of an additional target count as earlier deliveries of a period', async () => {
  const { targets } = chat();
  const period = { from: '2026-11-09', to: '2026-11-15', timezone: 'UTC', label: '2026-W46' };
  const sent = { target: '0-chat', recipient: 'ops', state: 'sent', at: 1 };
  const earlier = summarizeDeliveries('r1', period, [sent], targets);
  expect(earlier).toMatchObject({ sent: { chat: 1 }, uncertain: 0 });
  const options = { again: false, find: async () => earlier, now: 0, targets };
  const repeated = assertNotDelivered(
    { org: 'acme', report: 'weekly', period, deliver: true },
    { deliveries: [{ chat: SPEC }] },
    options,
  );
  await expect(repeated).rejects.toMatchObject({ code: 'already_delivered', delivered: { people: 0, targets: 1 } });
});

test('metrics have the kind of an additional target as a label, from the start', async () => {
  const { jobs, targets } = await load(CHAT_ENTRY);
  const context = { config: readConfig({}), clock: manualClock(0) };
  const metrics = createMetrics(expectedSeries(jobs, targets), processInfo(context, { keeps: false }, targets));
  const unreachable = new DocketError('redis.unreachable', 'Redis does not answer.');
  const series = async () => (await metrics.scrape(() => Promise.reject(unreachable))).body.split('\n');
  expect(await series()).toContain('docket_deliveries_total{org="acme",kind="chat",state="sent"} 0');
  const delivered = { type: 'delivered', target: '0-chat', recipient: 'ops', state: 'sent', detail: null } as const;
  metrics.observe(anOrder({ org: 'acme' }), delivered);
  expect(await series()).toContain('docket_deliveries_total{org="acme",kind="chat",state="sent"} 1');
});

test('the reference documentation has the fields of an additional target', () => {
  const { targets } = chat();
  expect(reportFieldReference({ ...BUILT_IN_KINDS, targets })).toContain(
    '### `chat`\n\n| field | value | |\n|---|---|---|\n| `host` | text | Required. The chat server. |\n',
  );
});
