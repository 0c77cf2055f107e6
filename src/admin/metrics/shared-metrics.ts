import { Counter, Gauge, type Registry } from 'prom-client';
import type { BudgetSample, MetricsSnapshot } from '../../services/deployment/metrics-snapshot.ts';

/** These roles are 0 when no process has them: a missing worker must be a number, not a gap. */
const PROCESS_ROLES = ['worker', 'scheduler', 'admin'];

const BUDGET_GAUGES: readonly (readonly [name: string, help: string, value: (sample: BudgetSample) => number])[] = [
  ['tokens_free', 'Free tokens.', ({ state }) => state.tokens],
  [
    'tokens_limit',
    'Current number of tokens per window: fewer than configured for a while after a 429.',
    ({ state }) => state.limit,
  ],
  ['tokens_configured', 'Number of tokens per window at the full rate.', ({ calls }) => calls],
  ['calls_in_flight', 'Calls that were dispatched and have no response yet.', ({ state }) => state.inFlight],
  ['calls_waiting', 'Calls that wait for a token.', ({ state }) => state.waiting],
  [
    'blocked_until_timestamp_seconds',
    'When the block by a 429 ends, in seconds since 1970; 0 if none.',
    ({ state }) => (state.blockedUntil ?? 0) / 1000,
  ],
  [
    'slowed_until_timestamp_seconds',
    'When the full rate returns after a 429, in seconds since 1970; 0 at the full rate.',
    ({ state }) => (state.slowedUntil ?? 0) / 1000,
  ],
];

/** Adds the values of a snapshot to the registry. */
export function registerSnapshot(registry: Registry, snapshot: MetricsSnapshot): void {
  const registers = [registry];
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    new Gauge({ name, help, labelNames, registers });
  registerBudgets(registry, snapshot);

  const info = gauge('docket_api_key_info', 'Always 1: which organization uses which key.', ['key', 'org']);
  const missing = gauge('docket_api_key_missing', 'Always 1: this process cannot read the key of the organization.', [
    'org',
  ]);
  for (const [org, key] of snapshot.keys) {
    if (key === null) missing.set({ org }, 1);
    else info.set({ key, org }, 1);
  }

  const jobs = gauge('docket_queue_runs', 'Runs in the queue by the state of their job.', ['state']);
  for (const [state, count] of Object.entries(snapshot.queue)) jobs.set({ state }, count);
  const runs = gauge('docket_runs', 'Runs on record that have not ended, or that wait for somebody.', ['state']);
  const oldest = gauge(
    'docket_runs_oldest_timestamp_seconds',
    'When the oldest run in the state was opened, in seconds since 1970; absent if there is none.',
    ['state'],
  );
  for (const { state, count, oldest: at } of snapshot.runs) {
    runs.set({ state }, count);
    if (at !== null) oldest.set({ state }, at / 1000);
  }

  const processes = gauge('docket_processes', 'Processes with the role that reported in the last 90 seconds.', [
    'role',
  ]);
  for (const role of PROCESS_ROLES) processes.set({ role }, snapshot.processes.get(role) ?? 0);
  gauge(
    'docket_scheduler_looked_timestamp_seconds',
    'When a scheduler last checked for due slots, in seconds since 1970; 0 before the first check.',
  ).set((snapshot.heartbeat?.at ?? 0) / 1000);
  gauge(
    'docket_slot_stuck_timestamp_seconds',
    'Time of the oldest due slot that could not be opened, in seconds since 1970; 0 if none.',
  ).set((snapshot.heartbeat?.stuck ?? 0) / 1000);

  const { memory } = snapshot;
  if (memory !== null) {
    gauge('docket_redis_memory_used_bytes', 'Memory that Redis uses, in bytes.').set(memory.usedBytes);
    gauge(
      'docket_redis_memory_limit_bytes',
      'Memory in bytes at which Redis begins to refuse writes; 0 without a limit.',
    ).set(memory.limitBytes);
  }

  new Counter({
    name: 'docket_redis_clock_steps_total',
    help: 'Steps of the wall clock of Redis that were detected. They do not affect the budget.',
    registers,
  }).inc(snapshot.clockSteps.steps);
  gauge(
    'docket_redis_clock_step_seconds',
    'The last step of the wall clock of Redis in seconds, negative if it was set back; 0 if none was detected.',
  ).set((snapshot.clockSteps.last?.ms ?? 0) / 1000);

  const since = gauge(
    'docket_organization_paused_timestamp_seconds',
    'When the scheduled runs of the organization were paused, by somebody or because its key was refused, in seconds since 1970.',
    ['org'],
  );
  const reportSince = gauge(
    'docket_report_paused_timestamp_seconds',
    'When somebody paused the scheduled runs of the report, in seconds since 1970.',
    ['org', 'report'],
  );
  // Newest first, so that the oldest pause of an organization sets the time.
  for (const { org, report, since: at } of [...snapshot.paused].sort((a, b) => b.since - a.since)) {
    if (report === null) since.set({ org }, at / 1000);
    else reportSince.set({ org, report }, at / 1000);
  }
  const newest = gauge(
    'docket_reading_timestamp_seconds',
    'When the newest reading of current counts was computed, in seconds since 1970; 0 before the first.',
    ['org'],
  );
  const missed = gauge('docket_readings_missed', 'Readings of current counts that were missed in the last 7 days.', [
    'org',
  ]);
  for (const { org, newest: at, missed: gaps } of snapshot.readings) {
    newest.set({ org }, (at ?? 0) / 1000);
    missed.set({ org }, gaps.length);
  }
  const watched = gauge('docket_corrections_watched', 'Delivered editions whose figures are checked again.', ['org']);
  const openCorrections = gauge('docket_corrections_open', 'Corrections that wait for a decision.', ['org']);
  const oldestCorrection = gauge(
    'docket_corrections_oldest_timestamp_seconds',
    'When the oldest open correction was found, in seconds since 1970; 0 if none.',
    ['org'],
  );
  for (const { org, watched: editions, open, oldest: at } of snapshot.corrections) {
    watched.set({ org }, editions);
    openCorrections.set({ org }, open);
    oldestCorrection.set({ org }, (at ?? 0) / 1000);
  }
  const late = gauge('docket_runs_late', 'Scheduled runs that have not ended within their late_after.', ['org']);
  for (const org of snapshot.late) late.inc({ org });
  const preparing = gauge('docket_slots_preparing', 'Upcoming slots whose calls are made in advance.', [
    'org',
    'state',
  ]);
  const prepared = gauge('docket_calls_prepared', 'Responses that are stored for upcoming slots.', ['org']);
  for (const { org, complete, prepared: calls } of snapshot.preparations) {
    preparing.inc({ org, state: complete ? 'complete' : 'open' });
    prepared.inc({ org }, calls);
  }
  if (snapshot.forecastErrorMs !== null) {
    const help = 'Seconds between forecast and delivery, the mean of 30 days; absent if no run was forecast.';
    gauge('docket_forecast_error_seconds', help).set(snapshot.forecastErrorMs / 1000);
  }
  gauge(
    'docket_deliveries_unknown',
    'Deliveries and notices that may or may not have arrived and wait for a decision.',
  ).set(snapshot.unknownDeliveries);
  gauge('docket_notices_owed', 'Notices to owners that could not be sent yet.').set(snapshot.pendingNotices);
  gauge('docket_reports', 'Defined reports.').set(snapshot.reports);
  gauge(
    'docket_definitions_kept',
    'Reports and organizations that use their last valid version because their file is invalid.',
  ).set(snapshot.kept);
  const problems = gauge(
    'docket_problem',
    'Always 1: a problem of the deployment, as the overview, /readyz and docket doctor show it.',
    ['code'],
  );
  for (const code of snapshot.problems ?? []) problems.set({ code }, 1);
  gauge('docket_definition_faults', 'Errors in files of definitions. Files with errors are not used.').set(
    snapshot.faults,
  );
}

function registerBudgets(registry: Registry, { budgets }: MetricsSnapshot): void {
  const described = { labelNames: ['key', 'of'], registers: [registry] };
  for (const [name, help, value] of BUDGET_GAUGES) {
    const metric = new Gauge({ name: `docket_budget_${name}`, help, ...described });
    for (const sample of budgets) metric.set({ key: sample.state.key, of: sample.of }, value(sample));
  }
  const throttled = new Counter({ name: 'docket_budget_throttled_total', help: '429s seen.', ...described });
  for (const { of, state } of budgets) throttled.inc({ key: state.key, of }, state.throttled);
}
