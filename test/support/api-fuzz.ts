import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newToken, type TokenEntry } from '../../src/admin/auth/tokens.ts';
import type { AdminApp } from '../../src/admin/hono-env.ts';
import { definitionParser } from '../../src/compose/built-in-kinds.ts';
import { createArchive } from '../../src/deliver/archive/create-archive.ts';
import { directoryStorage } from '../../src/deliver/archive/storage/directory-storage.ts';
import { archivedDenials, sharedDenials } from '../../src/deliver/denials/shared-denials.ts';
import { DELIVERY_STATES, deliveryId } from '../../src/deliver/ledger/ledger.ts';
import { archivedSwitches } from '../../src/deliver/switches/archived-switches.ts';
import { sharedSwitches } from '../../src/deliver/switches/shared-switches.ts';
import { redisLiveProgress } from '../../src/queue/runs/live-progress.ts';
import { SELECTION_ACTIONS } from '../../src/queue/runs/selections.ts';
import { redisPauses } from '../../src/queue/schedules/pauses.ts';
import { RUN_STATES, type RunState } from '../../src/run/run-record.ts';
import { redisAuditLog } from '../../src/services/audit-log.ts';
import type { AddedDelivery } from '../../src/services/deliveries/recipients.ts';
import { createRunFileReader } from '../../src/services/runs/run-file-reader.ts';
import { createSelectionService } from '../../src/services/selections/create-selection-service.ts';
import { SWITCH_KINDS } from '../../src/services/switches/switch-service.ts';
import { createTestAdmin } from './admin.ts';
import { type ApiContract, contractOf, type DeclaredOperation } from './api-contract.ts';
import { type DecisionHarness, decisionHarness } from './decision-harness.ts';
import { manifestOf, writeArtifact } from './delivery-case.ts';
import { ALL_CASES, cases } from './fuzz.ts';
import { fuzzedReviews } from './fuzzed-reviews.ts';
import { loadedJobs } from './loaded-jobs.ts';
import { manualClock } from './manual-clock.ts';
import { anOrder, openQueueHarness, type QueueHarness, recordingLog, reportDefinition } from './queue-harness.ts';

const NOW = Date.parse('2026-11-18T12:00:00Z');
const ORGS = ['acme', 'rival'] as const;
type Org = (typeof ORGS)[number];
/** A word in everything that an organization has. No request of the test contains it. */
const canary = (org: Org): string => `Canary${org}Canary`;

const tokens = { viewer: newToken(), operator: newToken(), foreign: newToken(), chief: newToken() };
const entries: TokenEntry[] = [
  { name: 'eyes', sha256: tokens.viewer.sha256, role: 'viewer', orgs: ['acme'] },
  { name: 'ops', sha256: tokens.operator.sha256, role: 'operator', orgs: ['acme'] },
  { name: 'them', sha256: tokens.foreign.sha256, role: 'operator', orgs: ['rival'] },
  { name: 'chief', sha256: tokens.chief.sha256, role: 'operator', orgs: '*' },
];
type As = keyof typeof tokens | 'nobody' | 'guess';
/** The organizations whose canary must not be in a response to this client. */
const HIDDEN: Readonly<Record<As, readonly Org[]>> = {
  viewer: ['rival'],
  operator: ['rival'],
  foreign: ['acme'],
  chief: [],
  nobody: ORGS,
  guess: ORGS,
};

/** Half of the 10,000 requests of both fuzz tests together. */
export const REQUESTS = 5_000;
/** In ms. An idle machine needs a tenth of it. */
const MOST_MS = 300_000;

const log = recordingLog();
const clock = manualClock(NOW);
let harness: QueueHarness;
let desk: DecisionHarness;
let root: string;
let app: AdminApp;
let contract: ApiContract;
const ids: { run: string[]; delivery: string[]; reviewed: string[]; correction: string[]; selection: string[] } = {
  run: [],
  delivery: [],
  reviewed: [],
  correction: [],
  selection: [],
};
/** The number of runs per organization that wait for approval: to be commented, approved and rejected. */
const REVIEWED = 3;
let contentOf: (run: string) => Promise<string | undefined>;

async function setUp(): Promise<void> {
  ids.run.length = 0;
  ids.delivery.length = 0;
  ids.reviewed.length = 0;
  ids.correction.length = 0;
  ids.selection.length = 0;
  root = await mkdtemp(join(tmpdir(), 'docket-api-fuzz-'));
  harness = await openQueueHarness(clock);
  desk = decisionHarness(harness);
  const storage = directoryStorage(root);
  const archive = createArchive(storage, clock);
  const reviewed = fuzzedReviews({ harness, desk, storage, archive, clock, log });
  ({ contentOf } = reviewed);
  const pauses = redisPauses(harness.producer, harness);
  for (const org of ORGS) {
    const word = canary(org);
    for (const [index, state] of RUN_STATES.entries()) {
      const rows = state === 'queued' ? [] : (['sent', 'refused', 'unknown', 'pending'] as const);
      const order = anOrder({ org, by: word, createdAt: NOW - index });
      const { id, deliveries } = await desk.ended(state, rows, order);
      ids.run.push(id);
      ids.delivery.push(...deliveries);
      await harness.runs.update(id, { error: { code: 'run.incomplete', message: word } });
      const row = { id: deliveryId(id, '1-email', word), run: id, org, report: 'weekly', target: '1-email' };
      await desk.ledger.open({ ...row, recipient: `${word}@${org}.example` }, 1);
      if (state !== 'done') continue;
      const staged = await archive.stage(id);
      const artifacts = [
        await writeArtifact(staged, 'figures.csv', `${word}\r\n`),
        await writeArtifact(staged, `${word} Übersicht.xlsx`, word),
      ];
      const mail = { html: `<p>${word}</p>`, text: word, pictures: [] };
      await archive.publish(staged, { ...manifestOf(artifacts, id), org, report: 'weekly' }, artifacts, mail);
    }
    for (let index = 0; index < REVIEWED; index += 1) ids.reviewed.push(await reviewed.reviewedRun(org, word));
    for (let index = 0; index < 2; index += 1) ids.correction.push(await reviewed.correction(org, word));
    await pauses.put({ org, report: 'daily', who: word, why: word, since: NOW, key: null, run: null });
  }
  const reports = ORGS.flatMap((org) =>
    ['weekly', 'daily'].map((report) => {
      const { definition, settings } = reportDefinition(report, { cron: '0 8 * * MON' }, org);
      return {
        definition: { ...definition, title: canary(org), owner: `${canary(org)}@${org}.example` },
        settings: { ...settings, name: canary(org) },
      };
    }),
  );
  const jobs = loadedJobs(...reports);
  const audit = redisAuditLog(harness.producer, { prefix: harness.prefix, clock, log });
  const stores = { runs: harness.runs, ledger: desk.ledger, redis: harness.producer, prefix: harness.prefix, clock };
  const selections = createSelectionService(stores, desk.decisions);
  for (const org of ORGS) {
    const { digest } = await selections.preview({ action: 'cancel', filter: { org } }, '*');
    ids.selection.push(digest);
  }
  // Checks permissions like the real service. Which messages it sends, and to whom, is covered by a model test.
  const added = async (run: string, recipient: string): Promise<AddedDelivery> => {
    const record = await harness.runs.get(run);
    if (record === undefined) throw new Error(`no run ${run}`);
    const { org, report } = record;
    const of = { id: deliveryId(run, '1-email', recipient), run, org, report, target: '1-email', recipient };
    return { record, delivery: { ...of, added: true }, waits: null, need: 0 };
  };
  app = createTestAdmin(
    entries,
    {
      jobs: () => jobs,
      recipients: {
        send: (run, { to }) => added(run, to),
        proposals: async () => [],
        decide: (run) => added(run, 'approved@acme.example'),
      },
      queue: harness.queue,
      denials: sharedDenials(harness.producer, archivedDenials(storage), { prefix: harness.prefix, clock }),
      switches: sharedSwitches(harness.producer, archivedSwitches(storage), { prefix: harness.prefix, clock }),
      trigger: harness.trigger,
      runs: harness.runs,
      live: redisLiveProgress(harness.producer, harness),
      decisions: desk.decisions,
      ledger: desk.ledger,
      selections,
      reviewService: reviewed.reviewService,
      correctionService: reviewed.correctionService,
      pauses,
      archivedFiles: createRunFileReader(storage),
      budgetsOf: async (orgs) => ({
        budgets: [],
        unknown: orgs.map(({ id }) => ({ org: id, why: canary(id === 'acme' ? 'acme' : 'rival') })),
      }),
      explainer: { explain: async ({ definition }) => ({ title: definition.title }) },
      checkText: async (posted) => ({
        faults: definitionParser.report(posted.text, posted.file, posted.name, posted.of).diagnostics,
        unchecked: null,
      }),
      audit,
    },
    { log, clock },
  );
  contract = await contractOf(app);
}

async function tearDown(): Promise<void> {
  await harness.close();
  await rm(root, { recursive: true, force: true });
}

const junk = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom(
    '..',
    '../../manifest.json',
    '__proto__',
    'constructor',
    '%00',
    '*',
    "' OR 1=1",
    '{docket}',
    '\u202e',
  ),
);
/** Mostly valid values, because only they reach deeper code. */
const mostly = <T>(right: fc.Arbitrary<T>): fc.Arbitrary<T | string> =>
  fc.oneof({ weight: 15, arbitrary: right }, junk);

const valuesOf = (): Readonly<Record<string, fc.Arbitrary<string>>> => ({
  org: mostly(fc.constantFrom('acme', 'acme', 'acme', 'rival', 'rival', 'nobody')),
  report: mostly(fc.constantFrom('weekly', 'weekly', 'daily', 'gone')),
  id: mostly(fc.constantFrom(...ids.run, ...ids.delivery, 'f'.repeat(32))),
  run: mostly(fc.constantFrom(...ids.run)),
  section: mostly(fc.constantFrom('onboarding', '_')),
  name: mostly(fc.constantFrom('figures.csv', 'mail.html', 'mail.txt', 'manifest.json', 'receipts.json')),
  state: mostly(fc.constantFrom(...RUN_STATES, 'unknown', 'sent')),
  since: mostly(fc.constantFrom('2026-11-01T00:00:00Z', '2026-11-18T12:00:00+01:00')),
  until: mostly(fc.constantFrom('2026-11-19T00:00:00Z')),
  after: mostly(fc.constantFrom(`${NOW}-${'8'.repeat(32)}`)),
  event: mostly(fc.constantFrom('run.triggered', 'schedule.paused')),
  who: mostly(fc.constantFrom('ops', 'them')),
  from: mostly(fc.constantFrom('2026-11-18T12:00:00Z')),
  period: mostly(fc.constantFrom('2026-10', 'previous_week')),
  to: mostly(fc.constantFrom('acme.example', '1-email')),
  match: mostly(fc.constantFrom('week')),
  delivery: mostly(fc.constantFrom(...ids.delivery)),
  kind: mostly(fc.constantFrom(...SWITCH_KINDS)),
  digest: mostly(fc.constantFrom(...ids.selection)),
  limit: mostly(fc.integer({ min: -1, max: 20 }).map(String)),
});

/** The runs that have an answer for this operation, such as sealed or held ones. */
const runsFor = ({ path }: DeclaredOperation): readonly string[] => {
  const at = (state: RunState) => ids.run.filter((_, index) => index % RUN_STATES.length === RUN_STATES.indexOf(state));
  const reviewed = (which: number) => ids.reviewed.filter((_, index) => index % REVIEWED === which);
  if (/\/(review|comments)/.test(path)) return reviewed(0);
  if (path.endsWith('/approve')) return reviewed(1);
  if (path.endsWith('/reject')) return reviewed(2);
  if (path.endsWith('/delegate')) return reviewed(0);
  if (/files|preview/.test(path)) return at('done');
  return path.endsWith('/release') ? [...at('held'), ...at('done')] : ids.run;
};

/** A sent correction cannot be dismissed, and the other way round. */
const correctionsFor = ({ path }: DeclaredOperation): readonly string[] =>
  ids.correction.filter((_, index) => (index % 2 === 0) === !path.endsWith('/send'));

/** A placeholder for the content of the run's review at the time of the request. */
const CONTENT = 'the-content-of-now';

const bodyFor = ({ path }: DeclaredOperation): fc.Arbitrary<unknown> => {
  const reason = mostly(fc.constantFrom('because', 'asked by phone'));
  if (path.endsWith('/deliveries/resolve')) {
    const deliveries = mostly(fc.oneof(fc.constant('all'), fc.uniqueArray(fc.constantFrom(...ids.delivery))));
    return fc.record({ as: mostly(fc.constantFrom('sent', 'resend')), deliveries, reason });
  }
  if (path.endsWith('/resolve')) return fc.record({ as: mostly(fc.constantFrom('sent', 'resend')), reason });
  if (path.endsWith('/selections')) {
    const action = mostly(fc.constantFrom(...SELECTION_ACTIONS));
    const some = mostly(fc.uniqueArray(fc.constantFrom(...ids.run, ...ids.delivery), { minLength: 1 }));
    const filter = mostly(fc.constantFrom({ org: 'acme' }, { states: ['failed'] }, {}));
    return fc.oneof(fc.record({ action, ids: some }), fc.record({ action, filter }));
  }
  if (path === '/api/corrections') {
    const definition = mostly(fc.constantFrom('delivered', 'current'));
    return fc.record(
      { run: mostly(fc.constantFrom(...ids.run)), reason, definition },
      { requiredKeys: ['run', 'reason'] },
    );
  }
  if (path.endsWith('/recipients')) return fc.record({ to: mostly(fc.constant('new@acme.example')), reason });
  if (path.includes('/recipients/')) return fc.record({ as: mostly(fc.constantFrom('approved', 'rejected')), reason });
  if (path.includes('/denied'))
    return fc.record({
      list: mostly(fc.constantFrom('new@acme.example', 'rival.example\nx', 'address;reason\na@b.example;x')),
      reason,
    });
  if (path.includes('/switches/')) {
    const organization = mostly(fc.constantFrom('acme', 'rival', null));
    return fc.record({ organization, reason });
  }
  if (path.endsWith('/validate')) return fc.constantFrom('version: 1', 'a: [', 'title: &a [*a]');
  if (path.includes('/comments/')) {
    const text = mostly(fc.constantFrom('As planned.', '{{ onboarding.profiles.created }} of them', '{{ nothing }}'));
    return fc.record({ text });
  }
  if (path.endsWith('/approve')) return fc.record({ content: mostly(fc.constant(CONTENT)), reason });
  if (path.endsWith('/delegate')) {
    const until = mostly(fc.constant('2026-12-04'));
    return fc.record(
      { to: mostly(fc.constantFrom('dora', 'nobody')), from: mostly(fc.constantFrom('ops', 'them')), until, reason },
      { requiredKeys: ['to', 'reason'] },
    );
  }
  if (path.endsWith('/reject'))
    return fc.record({ content: mostly(fc.constant(CONTENT)), reason, refetch: mostly(fc.constant(true)) });
  if (!path.endsWith('/runs')) return fc.record({ reason });
  return fc.record(
    {
      period: mostly(
        fc.constantFrom('2026-10', 'previous_week', '2026-02-30', { from: '2026-01-01', to: '2026-01-02' }),
      ),
      deliver: mostly(fc.boolean()),
      priority: mostly(fc.constantFrom('on_demand', 'backfill', 'scheduled')),
    },
    { requiredKeys: [] },
  );
};

/** The text of a response. Of an event stream only the first event, since it lasts as long as the run. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream') || response.body === null)
    return response.text();
  const reader = response.body.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return Buffer.from(value ?? []).toString('utf8');
}

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly as: As;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

/** Operations for clients that may see every organization. */
const OF_ALL = /^\/api\/denied/;

const nameOf = ({ method, path }: DeclaredOperation): string => `${method} ${path}`;
/** `/metrics` is served by another port, and `test/services/corrections/` covers corrections with recorded responses. */
const NEVER_ANSWERED = ['GET /metrics', 'POST /api/corrections'];

const requestOf = (operation: DeclaredOperation): fc.Arbitrary<Asked> => {
  const values: Readonly<Record<string, fc.Arbitrary<string>>> = {
    ...valuesOf(),
    ...(operation.path.startsWith('/api/runs/{id}') ? { id: mostly(fc.constantFrom(...runsFor(operation))) } : {}),
    ...(operation.path === '/api/recipients' ? { of: mostly(fc.constant('new@acme.example')) } : {}),
    ...(operation.path === '/api/deliveries' ? { state: mostly(fc.constantFrom(...DELIVERY_STATES)) } : {}),
    ...(operation.path.startsWith('/api/corrections/')
      ? { id: mostly(fc.constantFrom(...correctionsFor(operation))) }
      : {}),
  };
  const inPath = operation.parameters.filter((one) => one.in === 'path').map(({ name }) => name);
  const inQuery = operation.parameters.filter((one) => one.in === 'query').map(({ name }) => name);
  return fc
    .record({
      path: fc.record(Object.fromEntries(inPath.map((name) => [name, values[name] ?? junk]))),
      query: fc.record(Object.fromEntries(inQuery.map((name) => [name, values[name] ?? junk])), { requiredKeys: [] }),
      more: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, fc.tuple(junk, junk)),
      method: fc.oneof(
        { weight: 8, arbitrary: fc.constant(operation.method) },
        fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'),
      ),
      as: fc.oneof(
        {
          weight: 8,
          arbitrary: OF_ALL.test(operation.path)
            ? fc.constant<As>('chief')
            : fc.constantFrom<As>('viewer', 'operator', 'foreign'),
        },
        fc.constantFrom<As>('nobody', 'guess'),
      ),
      type: fc.oneof(
        {
          weight: 9,
          arbitrary: fc.constant(operation.path.endsWith('/validate') ? 'application/yaml' : 'application/json'),
        },
        fc.constantFrom('text/plain', 'text/html', ''),
      ),
      body: fc.oneof(
        {
          weight: 6,
          arbitrary: bodyFor(operation).map((body) => (typeof body === 'string' ? body : JSON.stringify(body))),
        },
        fc.json(),
        fc.string(),
        fc.constant(''),
      ),
      headers: fc.record(
        {
          'idempotency-key': fc.oneof(
            fc.stringMatching(/^[a-c]{1,2}$/),
            fc.string({ unit: 'grapheme-ascii', maxLength: 300 }),
          ),
          'if-none-match': fc.oneof(fc.constant('*'), fc.string({ unit: 'grapheme-ascii', maxLength: 80 })),
          'last-event-id': fc.string({ unit: 'grapheme-ascii', maxLength: 250 }),
          accept: fc.constantFrom('*/*', 'text/html', 'application/xml'),
          origin: fc.constantFrom('https://evil.example', 'null'),
        },
        { requiredKeys: [] },
      ),
    })
    .map(({ path, query, more, method, as, type, body, headers }) => {
      const filled = operation.path.replaceAll(/\{([^}]+)\}/g, (_, name: string) =>
        encodeURIComponent(path[name] ?? ''),
      );
      const params = new URLSearchParams(
        Object.entries(query).map(([name, value]): [string, string] => [name, value ?? '']),
      );
      if (more !== null) params.append(...more);
      const search = params.toString();
      const token = as === 'nobody' ? undefined : as === 'guess' ? 'docket_guess' : tokens[as].token;
      return {
        method,
        url: `${filled}${search === '' ? '' : `?${search}`}`,
        as,
        headers: {
          ...headers,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(type === '' ? {} : { 'content-type': type }),
        },
        body: method === 'GET' || method === 'HEAD' ? undefined : body,
      };
    });
};

/** @param statuses that must occur; otherwise the property could hold for rejections alone */
export function fuzzApi(
  what: string,
  {
    chosen,
    statuses,
  }: { readonly chosen: (operation: DeclaredOperation) => boolean; readonly statuses: readonly number[] },
): void {
  // Not at the top level, because files that share a thread load this module once.
  beforeAll(setUp);
  afterAll(tearDown);
  it(
    `answers generated requests that ${what} as declared, without internal errors, internal details or data of another organization`,
    async () => {
      const seen = new Set<number>();
      const operations = contract.operations.filter(chosen);
      const anyRequest = fc.oneof(...operations.map(requestOf));
      await fc.assert(
        fc.asyncProperty(anyRequest, async ({ method, url, as, headers, body }) => {
          const run = ids.reviewed.find((id) => url.includes(id));
          const content = run !== undefined && body?.includes(CONTENT) ? await contentOf(run) : undefined;
          const sent = content === undefined ? body : body?.replace(CONTENT, content);
          const response = await app.request(url, { method, headers, ...(sent === undefined ? {} : { body: sent }) });
          const text = await textOf(response);
          seen.add(response.status);
          expect(response.status, `${text} ${JSON.stringify(log.lines.at(-1))}`).toBeLessThan(500);
          const reported = `${text}\n${JSON.stringify(Object.fromEntries(response.headers))}`;
          expect(reported).not.toMatch(/\n\s+at |node_modules|\.ts:\d|TypeError|ZodError|ReplyError/);
          for (const org of HIDDEN[as]) expect(reported).not.toContain(canary(org));
          expect(contract.fault(method, url, response, text)).toBeUndefined();
        }),
        { ...cases(REQUESTS), interruptAfterTimeLimit: MOST_MS, markInterruptAsFailure: true },
      );
      expect(log.lines.filter(({ level }) => level === 'error')).toEqual([]);
      if (!ALL_CASES) return;
      expect([...seen]).toEqual(expect.arrayContaining([...statuses]));
      const answered = operations.filter(({ method, path, responses }) =>
        Object.keys(responses).some(
          (status) => status.startsWith('2') && contract.met.has(`${method} ${path} ${status}`),
        ),
      );
      expect(answered.map(nameOf)).toEqual(operations.map(nameOf).filter((name) => !NEVER_ANSWERED.includes(name)));
    },
    MOST_MS + 30_000,
  );
}
