import { expect, test } from 'vitest';
import type { DeliveryRow } from '../../src/deliver/ledger/ledger.ts';
import type { RunRecord } from '../../src/run/run-record.ts';
import { type Facts, overBudget, type RunFacts, reconcile } from './reconcile.ts';

const SLOT = '2026-11-21T08:00:00.000Z';
const LEAD = 'lead@org-00.example';

const aRow = (change: Partial<DeliveryRow> = {}): DeliveryRow => ({
  id: 'd1',
  run: 'r1',
  org: 'org-00',
  report: 'daily',
  target: '0-email',
  recipient: LEAD,
  state: 'sent',
  epoch: 1,
  detail: null,
  at: 0,
  decisions: [],
  ...change,
});
const aRecord = (change: Partial<RunRecord> = {}): RunRecord => ({
  id: 'r1',
  org: 'org-00',
  report: 'daily',
  slot: SLOT,
  trigger: 'schedule',
  priority: 'scheduled',
  period: { from: '2026-11-20', to: '2026-11-20', timezone: 'UTC', label: '2026-11-20' },
  digest: '',
  deliver: true,
  createdAt: 0,
  state: 'done',
  startedAt: 0,
  finishedAt: 0,
  until: null,
  starts: 1,
  attempts: 1,
  losses: { all: 0, stuck: 0, far: 0 },
  calls: { planned: 1, made: 1, saved: 0 },
  timings: {},
  tokenWaitMs: 0,
  files: [],
  deliveries: [],
  error: null,
  reopened: [],
  cancel: null,
  ...change,
});
const aRun = (change: Partial<RunFacts> = {}): RunFacts => ({
  record: aRecord(),
  rows: [aRow()],
  archive: [],
  expected: [`mail ${LEAD}`],
  mails: new Map([[LEAD, 1]]),
  places: {},
  ...change,
});
const facts = (change: Partial<Facts> = {}): Facts => ({
  runs: [aRun()],
  due: new Set([`org-00/daily ${SLOT}`]),
  asked: [],
  misdelivered: [],
  misdealt: [],
  calls: [],
  budget: { calls: 2, windowMs: 1_000 },
  figures: { compared: 2, wrong: [] },
  unmounted: [],
  started: [],
  mailEnds: 1,
  prepared: 1,
  refused: 1,
  overtaken: [],
  paused: [],
  leaks: [],
  strays: [],
  jobs: 0,
  memory: { peakBytes: 1, redisKeys: 1, redisBytes: 1 },
  ...change,
});
const broken = (change: Partial<Facts>): string[] =>
  reconcile(facts(change))
    .filter(({ ok }) => !ok)
    .map(({ what }) => what);

test('a run without problems breaks no line', () => {
  expect(broken({})).toEqual([]);
});

test('a pack is lost if its own files are missing, not if those of an unknown delivery are', () => {
  const packs = (missing: string) =>
    aRun({
      record: aRecord({ state: 'partly_delivered' }),
      rows: [
        aRow({ target: '1-directory:alpha', recipient: '/out/alpha' }),
        aRow({ target: '1-directory:beta', recipient: '/out/beta', state: 'unknown', detail: 'killed' }),
      ],
      expected: [],
      mails: new Map(),
      places: { directory: [`${missing}/figures.csv in its folder is missing or differs`] },
    });
  const lost = 'lost deliveries: sent by the ledger, but not received';
  expect(broken({ runs: [packs('beta'), aRun()] })).not.toContain(lost);
  expect(broken({ runs: [packs('alpha'), aRun()] })).toContain(lost);
});

const run = (change: Partial<RunFacts>): Partial<Facts> => ({ runs: [aRun(change), aRun()] });
const record = (change: Partial<RunRecord>): Partial<Facts> => run({ record: aRecord(change) });

test.for<[string, Partial<Facts>, string]>([
  [
    'a due slot without a run',
    { due: new Set([`org-00/daily ${SLOT}`, 'org-01/daily x']) },
    'lost runs: due or requested, but not on record',
  ],
  ['a run that was not due', { due: new Set() }, 'unexpected runs'],
  ['two runs for one request', { asked: [['a', 'b']] }, 'runs opened twice by one request'],
  ['an unfinished run', record({ state: 'waiting' }), 'unfinished runs'],
  [
    'a mail that is recorded as sent but did not arrive',
    run({ mails: new Map() }),
    'lost deliveries: sent by the ledger, but not received',
  ],
  ['a delivery without a row', run({ rows: [], mails: new Map() }), 'lost deliveries: defined, but not in the ledger'],
  [
    'a run that is done although its mail is pending',
    run({ rows: [aRow({ state: 'pending' })], mails: new Map() }),
    'unsent deliveries of done runs',
  ],
  [
    'a notice of a done run that is still being sent',
    run({ rows: [aRow(), aRow({ target: 'notice', recipient: 'owner@org-00.example', state: 'sending' })] }),
    'unsent deliveries of done runs',
  ],
  ['a mail that arrived twice', run({ mails: new Map([[LEAD, 2]]) }), 'sent twice'],
  [
    'a mail that arrived but is recorded as refused',
    run({
      record: aRecord({ state: 'partly_delivered' }),
      rows: [
        aRow({ state: 'refused' }),
        aRow({ target: 'notice', recipient: 'owner@org-00.example', state: 'unknown', detail: 'x' }),
      ],
    }),
    'received, but unknown to the ledger',
  ],
  ['a mail to the wrong organization', { misdelivered: ['x'] }, 'received by the wrong organization'],
  ['a pack with another desk', { misdealt: ['x'] }, 'received by the wrong desk'],
  ['a figure that differs', { figures: { compared: 1, wrong: ['x'] } }, 'figures that differ from the service'],
  [
    'three calls in a window of two',
    { calls: [0, 999, 999].map((at) => ({ key: 'k', at })) },
    'rate-limit windows exceeded at the server',
  ],
  ['a damaged file', run({ archive: ['x'] }), 'damaged or missing files'],
  ['a done run without an archive folder', run({ archive: null }), 'damaged or missing files'],
  ['a failed run without a notice', record({ state: 'failed' }), 'failed runs without a notice'],
  ['a run that failed by a transient error', record({ state: 'failed' }), 'runs failed by a transient error'],
  [
    'too many runs that failed by killed workers',
    {
      runs: [1, 2].map(() =>
        aRun({ record: aRecord({ state: 'failed', error: { code: 'run.poison', message: 'x', next: 'x' } }) }),
      ),
    },
    'runs failed by killed workers',
  ],
  [
    'an unknown delivery without a reason',
    run({ rows: [aRow({ state: 'unknown' })] }),
    'unknown deliveries without a reason',
  ],
  ['a file in the unmounted archive folder', { unmounted: ['x'] }, 'files written to the unmounted archive folder'],
  ['a second deployment that started', { started: ['x'] }, 'second deployments that started'],
  ['a secret in a log', { leaks: ['x'] }, 'secrets in logs, Redis, the archive or deliveries'],
  ['a stack trace', { strays: ['x'] }, 'stack traces and leak warnings on stderr'],
  ['a job left in the queue', { jobs: 1 }, 'jobs left in the queue'],
  ['too many keys in Redis', { memory: { peakBytes: 1, redisKeys: 10_000, redisBytes: 1 } }, 'keys in Redis'],
  [
    'too much memory',
    { memory: { peakBytes: 2 ** 32, redisKeys: 1, redisBytes: 1 } },
    'peak memory of a process, bytes',
  ],
  ['no compared figure', { figures: { compared: 0, wrong: [] } }, 'figures compared with the service'],
  ['no worker caught at the end of a message', { mailEnds: 0 }, 'workers caught at the end of a message'],
  [
    'a preparation that passes waiting calls',
    { overtaken: ['x'] },
    'calls before a slot that passed waiting calls of runs',
  ],
  ['an organization that is paused', { paused: ['x'] }, 'organizations paused'],
  ['no prepared call', { prepared: 0 }, 'calls made before their slot'],
  ['no refused call before a slot', { refused: 0 }, 'calls before a slot that the service refused'],
  ['too few done runs', { runs: [aRun({ record: aRecord({ state: 'cancelled' }) })] }, 'runs done'],
])('%s is reported', ([, change, what]) => {
  expect(broken(change)).toContain(what);
});

test('calls a full window apart, or with different keys, are within the budget', () => {
  const budget = { calls: 1, windowMs: 1_000 };
  const calls = [
    { key: 'a', at: 0 },
    { key: 'b', at: 1 },
    { key: 'a', at: 1_000 },
  ];
  expect(overBudget({ calls, budget })).toEqual({ most: 1, over: 0 });
});
