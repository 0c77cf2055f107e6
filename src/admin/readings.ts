import { Counter, Gauge, type Registry } from 'prom-client';
import type { BudgetState } from '../fetch/budget.ts';
import type { QueueCounts } from '../queue/jobs.ts';
import type { Look } from '../queue/looks.ts';
import type { Pause } from '../queue/pauses.ts';
import type { ClockSteps } from '../queue/redis-clock.ts';
import type { RedisMemory } from '../queue/redis-memory.ts';
import type { Standing } from '../queue/standing.ts';

/** The line of one API key for one kind of calls, and how many tokens it has when it is not slowed. */
export interface BudgetReading {
  readonly of: 'metrics' | 'reads';
  readonly calls: number;
  readonly state: BudgetState;
}

/** What all processes of a deployment share, as it is now. */
export interface Readings {
  readonly budgets: readonly BudgetReading[];
  /** Fingerprint of the key by organization; null where the key cannot be resolved here. */
  readonly keys: ReadonlyMap<string, string | null>;
  readonly queue: QueueCounts;
  /** Runs on record that have not ended, or wait for somebody. */
  readonly runs: readonly Standing[];
  /** How many processes are at work, by role. */
  readonly processes: ReadonlyMap<string, number>;
  /** The last look at the due slots; null before the first. */
  readonly look: Look | null;
  /** Null where Redis does not say. */
  readonly memory: RedisMemory | null;
  /** Of the wall clock of Redis. */
  readonly clockSteps: ClockSteps;
  readonly paused: readonly Pick<Pause, 'org' | 'report' | 'since'>[];
  readonly owedNotices: number;
  /** Deliveries that may have arrived and may not have: they wait for somebody's decision. */
  readonly unknownDeliveries: number;
  readonly reports: number;
  /** Of files of definitions, which are left out. */
  readonly faults: number;
  /** Reports and organizations that go on as their last good file says. */
  readonly kept: number;
}

/** Roles that are 0 when nobody does them: that there is no worker must be a figure, not a gap. */
const ROLES = ['worker', 'scheduler', 'admin'];

const BUDGET: readonly (readonly [name: string, help: string, value: (reading: BudgetReading) => number])[] = [
  ['tokens_free', 'Tokens free now.', ({ state }) => state.tokens],
  [
    'tokens_limit',
    'Tokens there are in all now: fewer than configured for a while after a 429.',
    ({ state }) => state.limit,
  ],
  ['tokens_configured', 'Tokens there are in all at the full rate.', ({ calls }) => calls],
  ['calls_in_flight', 'Calls that were dispatched and not answered yet.', ({ state }) => state.inFlight],
  ['calls_waiting', 'Calls that wait for a token.', ({ state }) => state.waiting],
  [
    'blocked_until_timestamp_seconds',
    'When the block by a 429 ends, in seconds since 1970; 0 while there is none.',
    ({ state }) => (state.blockedUntil ?? 0) / 1000,
  ],
  [
    'slowed_until_timestamp_seconds',
    'When all tokens are back after a 429, in seconds since 1970; 0 while they are.',
    ({ state }) => (state.slowedUntil ?? 0) / 1000,
  ],
];

/** Puts into the registry what was read. */
export function setReadings(registry: Registry, readings: Readings): void {
  const registers = [registry];
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    new Gauge({ name, help, labelNames, registers });
  setBudgets(registry, readings);

  const info = gauge('docket_api_key_info', 'Always 1: which organization uses which key.', ['key', 'org']);
  const missing = gauge('docket_api_key_missing', 'Always 1: the key of the organization cannot be used here.', [
    'org',
  ]);
  for (const [org, key] of readings.keys) {
    if (key === null) missing.set({ org }, 1);
    else info.set({ key, org }, 1);
  }

  const jobs = gauge('docket_queue_runs', 'Runs in the queue by the state of their job.', ['state']);
  for (const [state, count] of Object.entries(readings.queue)) jobs.set({ state }, count);
  const runs = gauge('docket_runs', 'Runs on record that have not ended, or that wait for somebody.', ['state']);
  const oldest = gauge(
    'docket_runs_oldest_timestamp_seconds',
    'When the oldest run of the state was opened, in seconds since 1970; none while there is no such run.',
    ['state'],
  );
  for (const { state, count, oldest: at } of readings.runs) {
    runs.set({ state }, count);
    if (at !== null) oldest.set({ state }, at / 1000);
  }

  const processes = gauge('docket_processes', 'Processes that said within 90 seconds that they do the role.', ['role']);
  for (const role of ROLES) processes.set({ role }, readings.processes.get(role) ?? 0);
  gauge(
    'docket_scheduler_looked_timestamp_seconds',
    'When a scheduler last looked at the due slots, in seconds since 1970; 0 before the first time.',
  ).set((readings.look?.at ?? 0) / 1000);
  gauge(
    'docket_slot_stuck_timestamp_seconds',
    'The oldest slot that is due and could not be opened, in seconds since 1970; 0 while there is none.',
  ).set((readings.look?.stuck ?? 0) / 1000);

  const { memory } = readings;
  if (memory !== null) {
    gauge('docket_redis_memory_used_bytes', 'What Redis holds, in bytes.').set(memory.usedBytes);
    gauge(
      'docket_redis_memory_limit_bytes',
      'How many bytes Redis holds when it begins to refuse writes; 0 while no limit is set.',
    ).set(memory.limitBytes);
  }

  new Counter({
    name: 'docket_redis_clock_steps_total',
    help: 'Steps of the wall clock of Redis that were seen. The budget does not go by it.',
    registers,
  }).inc(readings.clockSteps.steps);
  gauge(
    'docket_redis_clock_step_seconds',
    'The last step of the wall clock of Redis in seconds, negative when it was set back; 0 while none was seen.',
  ).set((readings.clockSteps.last?.ms ?? 0) / 1000);

  const since = gauge(
    'docket_organization_paused_timestamp_seconds',
    'Since when the scheduled runs of the organization wait, because its key was refused or somebody paused them; in seconds since 1970.',
    ['org'],
  );
  const reportSince = gauge(
    'docket_report_paused_timestamp_seconds',
    'Since when the scheduled runs of the report wait, because somebody paused them; in seconds since 1970.',
    ['org', 'report'],
  );
  // Newest first: of two pauses of an organization the older one tells since when.
  for (const { org, report, since: at } of [...readings.paused].sort((a, b) => b.since - a.since)) {
    if (report === null) since.set({ org }, at / 1000);
    else reportSince.set({ org, report }, at / 1000);
  }
  gauge(
    'docket_deliveries_unknown',
    'Deliveries and notices that may have arrived and may not have, and wait for somebody to decide.',
  ).set(readings.unknownDeliveries);
  gauge('docket_notices_owed', 'Owners who could not be told yet how a run ended.').set(readings.owedNotices);
  gauge('docket_reports', 'Reports that are defined.').set(readings.reports);
  gauge(
    'docket_definitions_kept',
    'Reports and organizations on their last good version, since their file has faults.',
  ).set(readings.kept);
  gauge('docket_definition_faults', 'Faults of files of definitions, which are left out.').set(readings.faults);
}

function setBudgets(registry: Registry, { budgets }: Readings): void {
  const described = { labelNames: ['key', 'of'], registers: [registry] };
  for (const [name, help, value] of BUDGET) {
    const metric = new Gauge({ name: `docket_budget_${name}`, help, ...described });
    for (const reading of budgets) metric.set({ key: reading.state.key, of: reading.of }, value(reading));
  }
  const throttled = new Counter({ name: 'docket_budget_throttled_total', help: '429s seen.', ...described });
  for (const { of, state } of budgets) throttled.inc({ key: state.key, of }, state.throttled);
}
