import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { silentLog } from '../../../src/base/log.ts';
import { schedulesSchema } from '../../../src/definitions/schedules/schedule.ts';
import { deliveryId, NOTICE_TARGET } from '../../../src/deliver/ledger/ledger.ts';
import { INITIAL_RUN_FIELDS } from '../../../src/queue/runs/stored-record.ts';
import type { Pause } from '../../../src/queue/schedules/pauses.ts';
import { isLate } from '../../../src/run/lateness.ts';
import type { RunRecord, RunState } from '../../../src/run/run-record.ts';
import type { Deployment } from '../../../src/services/deployment/deployment.ts';
import { createLateNotices } from '../../../src/services/runs/late-notices.ts';
import { findLateRuns } from '../../../src/services/runs/late-runs.ts';
import { NOBODY_IS_DENIED } from '../../support/decision-harness.ts';
import { fake } from '../../support/fake.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { memoryLedger } from '../../support/memory-ledger.ts';
import { anOrder } from '../../support/queue-harness.ts';
import { definitionOf, settingsOf } from '../../support/reports.ts';

const SLOT = '2026-11-16T07:00:00.000Z';
const record = (change: Partial<RunRecord> = {}): RunRecord => ({
  ...INITIAL_RUN_FIELDS,
  ...anOrder({ slot: SLOT, lateAfterMs: 30 * 60_000 }),
  ...change,
});
const LATE = Date.parse('2026-11-16T07:30:00.001Z');

test.each([
  ['queued', true],
  ['running', true],
  ['waiting', true],
  ['held', false],
  ['awaiting_approval', false],
  ['failed', false],
  ['done', false],
] as const)('a %s run after its late_after counts as late: %s', (state: RunState, late) => {
  expect(isLate(record({ state }), LATE, false)).toBe(late);
  expect(isLate(record({ state }), LATE - 1, false)).toBe(false);
  expect(isLate(record({ state }), LATE, true)).toBe(false);
});

test('runs on demand and without late_after are never late', () => {
  expect(isLate(record({ trigger: 'on_demand' }), LATE, false)).toBe(false);
  const { lateAfterMs: _, ...plain } = record();
  expect(isLate(plain, LATE + 86_400_000, false)).toBe(false);
});

function harness(records: readonly RunRecord[], pauses: readonly Pause[] = []) {
  const schedule = schedulesSchema.parse({ cron: '0 8 * * MON', late_after: '30m' });
  const frozen = {
    definition: definitionOf([{ id: 'a', metrics: ['profiles.created'] }], { schedule }),
    settings: settingsOf(),
  };
  const clock = manualClock(LATE);
  const ledger = memoryLedger();
  const claimed = new Set<string>();
  const deployment = fake<Deployment>({
    runs: fake({ list: async () => [...records] }),
    pauses: fake({ list: async () => [...pauses] }),
    definitions: fake({ get: async () => frozen }),
    ledger,
    denials: NOBODY_IS_DENIED,
    orgs: () => new Map(),
    config: readConfig({}),
    clock: { ...systemClock, ...clock },
    log: silentLog,
  });
  const reports = () => [frozen.definition];
  const round = createLateNotices(deployment, { mailOf: async () => undefined, observe: () => {} }, reports, {
    claim: async (report, day) => !claimed.has(`${report} ${day}`) && claimed.add(`${report} ${day}`).size > 0,
    release: async (report, day) => void claimed.delete(`${report} ${day}`),
  });
  const noticeOf = (run: string) => ledger.find(deliveryId(run, NOTICE_TARGET, 'late ops@acme.example'));
  return { late: () => findLateRuns(deployment, reports()), clock, round, noticeOf };
}

test('a report gets one notice per day, about its oldest late slot', async () => {
  const [older, newer] = [record({ slot: '2026-11-16T06:00:00.000Z' }), record()];
  const { round, noticeOf, clock } = harness([newer, older]);
  await round();
  await round();
  // No mail server is configured, so the notice is refused and final.
  expect(await noticeOf(older.id)).toMatchObject({ state: 'refused', recipient: 'ops@acme.example' });
  expect(await noticeOf(newer.id)).toBeUndefined();
  clock.advance(86_400_000);
  await round();
  expect(await noticeOf(newer.id)).toBeUndefined();
});

test('runs of a paused report are not late', async () => {
  const pause = { org: 'acme', report: null, who: 'eva', why: 'audit', since: 0, key: null, run: null } as Pause;
  expect(await harness([record()], [pause]).late()).toEqual([]);
  expect(await harness([record()]).late()).toHaveLength(1);
});
