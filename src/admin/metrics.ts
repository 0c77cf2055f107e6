import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { toDocketError } from '../base/error.ts';
import type { BudgetState } from '../fetch/budget.ts';
import type { SlotNews } from '../queue/due.ts';
import type { QueueCounts } from '../queue/jobs.ts';
import type { Pause } from '../queue/pauses.ts';
import type { RunEvent } from '../run/event.ts';
import type { RunOrder } from '../run/record.ts';

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

/** What `/metrics` answers. */
export interface Exposition {
  readonly type: string;
  readonly body: string;
}

export interface Metrics {
  /** Counts what a run in this process says of itself. */
  observe(order: RunOrder, event: RunEvent): void;
  /** Counts what became of slots that this process looked at. */
  observeSlots(news: SlotNews): void;
  /** Counts timetables that had stopped ticking. */
  observeRepairs(repaired: number): void;
  /** Lets the counters of organizations start at 0: Prometheus sees no increase in a series that begins with 1. */
  expect(orgs: Iterable<string>): void;
  /**
   * The metrics in Prometheus's text format: what this process counted, and what `read` finds. While Redis is away there
   * are the process's own, and `docket_redis_up 0`.
   */
  scrape(read: () => Promise<Readings>): Promise<Exposition>;
}

type StateOf<Type extends RunEvent['type']> = Extract<
  RunEvent,
  { readonly type: Type; readonly state: string }
>['state'];
const RUN_STATES: readonly StateOf<'finished'>[] = ['done', 'partly_delivered', 'held', 'cancelled', 'failed'];
const DELIVERY_STATES: readonly StateOf<'delivered'>[] = ['sent', 'refused', 'unknown'];

/**
 * The metrics of one process. Labels are organizations, fingerprints of keys and states alone: as many series as the
 * definitions name, however many runs there are.
 *
 * @param orgs organizations whose counters start at 0: Prometheus sees no increase in a series that begins with 1
 */
export function createMetrics(orgs: Iterable<string>): Metrics {
  const own = new Registry();
  collectDefaultMetrics({ register: own });
  const counter = (name: string, help: string, labelNames: readonly string[]) =>
    new Counter({ name, help, labelNames, registers: [own] });
  const runs = counter('docket_runs_finished_total', 'Runs that ended in this process, by how.', ['org', 'state']);
  const calls = counter('docket_calls_answered_total', 'Calls of runs in this process that were answered, by whom.', [
    'org',
    'by',
  ]);
  const deliveries = counter(
    'docket_deliveries_total',
    'Deliveries and notices of runs in this process, one a target and recipient, by what became of them.',
    ['org', 'state'],
  );
  const slots = {
    opened: counter('docket_slots_opened_total', 'Slots that this process opened.', ['org']),
    late: counter('docket_slots_late_total', 'Of the slots that this process opened, those made up for later.', [
      'org',
    ]),
    skipped: counter('docket_slots_skipped_total', 'Slots that this process recorded as skipped.', ['org']),
  };
  const repairs = counter(
    'docket_timetables_repaired_total',
    'Timetables that had stopped ticking in BullMQ and were registered again by this process.',
    [],
  );
  const expect = (all: Iterable<string>) => {
    for (const org of all) expectOne(org);
  };
  const expectOne = (org: string) => {
    for (const state of RUN_STATES) runs.inc({ org, state }, 0);
    for (const state of DELIVERY_STATES) deliveries.inc({ org, state }, 0);
    for (const by of ['store', 'service']) calls.inc({ org, by }, 0);
    for (const metric of Object.values(slots)) metric.inc({ org }, 0);
  };
  expect(orgs);
  return {
    observe: ({ org }, event) => {
      if (event.type === 'finished') runs.inc({ org, state: event.state });
      if (event.type === 'fetched') calls.inc({ org, by: event.saved ? 'store' : 'service' });
      if (event.type === 'delivered') deliveries.inc({ org, state: event.state });
    },
    observeSlots: ({ org, opened, late, skipped }) => {
      slots.opened.inc({ org }, opened);
      slots.late.inc({ org }, late);
      slots.skipped.inc({ org }, skipped);
    },
    observeRepairs: (repaired) => repairs.inc(repaired),
    expect,
    scrape: async (read) => {
      // A registry for each scrape: two at a time must not mix, and what is gone must not stay.
      const shared = new Registry();
      const readings = await read().catch((thrown: unknown) => {
        if (toDocketError(thrown).code !== 'redis.unreachable') throw thrown;
        return undefined;
      });
      new Gauge({
        name: 'docket_redis_up',
        help: 'Whether Redis answered this scrape; without it, nothing that is shared is told.',
        registers: [shared],
      }).set(readings === undefined ? 0 : 1);
      if (readings !== undefined) setShared(shared, readings);
      return { type: shared.contentType, body: `${await own.metrics()}\n${await shared.metrics()}` };
    },
  };
}

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
    'When the block by a 429 ends; 0 while there is none.',
    ({ state }) => (state.blockedUntil ?? 0) / 1000,
  ],
  [
    'slowed_until_timestamp_seconds',
    'When all tokens are back after a 429; 0 while they are.',
    ({ state }) => (state.slowedUntil ?? 0) / 1000,
  ],
];

function setShared(
  registry: Registry,
  { budgets, keys, queue, paused, owedNotices, unknownDeliveries, reports, faults, kept }: Readings,
): void {
  const registers = [registry];
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    new Gauge({ name, help, labelNames, registers });

  for (const [name, help, value] of BUDGET) {
    const metric = gauge(`docket_budget_${name}`, help, ['key', 'of']);
    for (const reading of budgets) metric.set({ key: reading.state.key, of: reading.of }, value(reading));
  }
  const throttled = new Counter({
    name: 'docket_budget_throttled_total',
    help: '429s seen.',
    labelNames: ['key', 'of'],
    registers,
  });
  for (const { of, state } of budgets) throttled.inc({ key: state.key, of }, state.throttled);

  const info = gauge('docket_api_key_info', 'Always 1: which organization uses which key.', ['key', 'org']);
  const missing = gauge('docket_api_key_missing', 'Always 1: the key of the organization cannot be used here.', [
    'org',
  ]);
  for (const [org, key] of keys) {
    if (key === null) missing.set({ org }, 1);
    else info.set({ key, org }, 1);
  }

  const runs = gauge('docket_queue_runs', 'Runs in the queue by the state of their job.', ['state']);
  for (const [state, count] of Object.entries(queue)) runs.set({ state }, count);
  const since = gauge(
    'docket_organization_paused_timestamp_seconds',
    'Since when the scheduled runs of the organization wait, because its key was refused or somebody paused them.',
    ['org'],
  );
  const reportSince = gauge(
    'docket_report_paused_timestamp_seconds',
    'Since when the scheduled runs of the report wait, because somebody paused them.',
    ['org', 'report'],
  );
  // Newest first: of two pauses of an organization the older one tells since when.
  for (const { org, report, since: at } of [...paused].sort((a, b) => b.since - a.since)) {
    if (report === null) since.set({ org }, at / 1000);
    else reportSince.set({ org, report }, at / 1000);
  }
  gauge(
    'docket_deliveries_unknown',
    'Deliveries and notices that may have arrived and may not have, and wait for somebody to decide.',
  ).set(unknownDeliveries);
  gauge('docket_notices_owed', 'Owners who could not be told yet how a run ended.').set(owedNotices);
  gauge('docket_reports', 'Reports that are defined.').set(reports);
  gauge(
    'docket_definitions_kept',
    'Reports and organizations on their last good version, since their file has faults.',
  ).set(kept);
  gauge('docket_definition_faults', 'Faults of files of definitions, which are left out.').set(faults);
}
