import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../../base/clock.ts';
import { isRedisOutage, toDocketError } from '../../base/error.ts';
import { kindOfTarget } from '../../definitions/schema/kinds.ts';
import type { SlotEvent } from '../../queue/schedules/open-due-slots.ts';
import type { RunEvent } from '../../run/run-events.ts';
import type { RunOrder } from '../../run/run-record.ts';
import type { MetricsSnapshot } from '../../services/deployment/metrics-snapshot.ts';
import { registerSnapshot } from './shared-metrics.ts';

/** The response of `/metrics`. */
export interface Exposition {
  readonly type: string;
  readonly body: string;
}

/** An organization, and the target kinds that its reports name. Their counters start at 0. */
export interface ExpectedSeries {
  readonly org: string;
  readonly kinds: Iterable<string>;
}

/** How a request to the service ended. */
export interface RequestResult {
  readonly endpoint: string;
  /** The class of the status (`2xx`), `429`, or why no response came (`timeout`, `unreachable`, `unreadable`). */
  readonly status: string;
  readonly ms: number;
}

/** Space on a disk, in bytes. */
export interface ArchiveDisk {
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

/** What a process exports whatever its role. */
export interface ProcessInfo {
  /** Version of Docket. */
  readonly version: string;
  readonly clock: Clock;
  /** The registered target kinds: values of the label `kind`. */
  readonly targetKinds: readonly string[];
  /** The disk on which this process keeps the archive. Absent if it keeps none, or uses a bucket. */
  readonly disk?: () => Promise<ArchiveDisk>;
}

export interface Metrics {
  /** Counts an event of a run in this process. */
  observe(order: RunOrder, event: RunEvent): void;
  /** Counts requests to the service. */
  observeRequest(org: string, end: RequestResult): void;
  /** Counts the outcomes of slots that this process checked. */
  observeSlots(news: SlotEvent): void;
  /** Counts repaired timetables, which had stopped. */
  observeRepairs(repaired: number): void;
  /** Sets whether a storage that the process writes to is writable. */
  observeStorage(part: string, usable: boolean): void;
  /** Sets how many reviews wait for approval for longer than their `within`. */
  observeOverdue(count: number): void;
  /** Records that the folder of definitions was checked, and that its content is in force. */
  observeDefinitions(): void;
  /**
   * Lets the counters of organizations start at 0. Prometheus does not see an increase in a series that begins with 1.
   */
  initializeSeries(expected: Iterable<ExpectedSeries>): void;
  /**
   * The metrics in Prometheus's text format: the counts of this process, and what `read` returns. While Redis is
   * unreachable, only the process's own metrics and `docket_redis_up 0`.
   */
  scrape(read: () => Promise<MetricsSnapshot>): Promise<Exposition>;
}

type StateOf<Type extends RunEvent['type']> = Extract<
  RunEvent,
  { readonly type: Type; readonly state: string }
>['state'];
const RUN_STATES: readonly StateOf<'finished'>[] = [
  'done',
  'partly_delivered',
  'held',
  'awaiting_approval',
  'cancelled',
  'failed',
];
const DELIVERY_STATES: readonly StateOf<'delivered'>[] = ['sent', 'refused', 'unknown'];

const DURATION_BUCKETS_S = {
  request: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  stage: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600, 1_800],
  delivery: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  run: [1, 5, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 86_400],
};

/**
 * The metrics of one process. Labels are only organizations, key fingerprints, states and other values from short
 * lists, so the number of series depends on the definitions, not on the number of runs. Histograms have no
 * organization: that would add a dozen series for each.
 */
export function createMetrics(
  expected: Iterable<ExpectedSeries>,
  { version, clock, disk, targetKinds }: ProcessInfo,
): Metrics {
  const deliveryKinds = new Set([...targetKinds, 'notice']);
  const own = new Registry();
  collectDefaultMetrics({ register: own });
  const registers = [own];
  const counter = (name: string, help: string, labelNames: readonly string[] = []) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string, buckets: number[], labelNames: readonly string[] = []) =>
    new Histogram({ name, help, labelNames, buckets, registers });

  new Gauge({
    name: 'docket_build_info',
    help: 'Always 1: the versions of Docket and Node.js of this process.',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version, node: process.versions.node }, 1);
  const definitions = new Gauge({
    name: 'docket_definitions_read_timestamp_seconds',
    help: 'When this process last found that it uses what is in the folder of definitions, in seconds since 1970.',
    registers,
  });
  const storage = new Gauge({
    name: 'docket_storage_usable',
    help: 'Whether the last trial write to this part succeeded; 0 while runs wait for it.',
    labelNames: ['part'],
    registers,
  });
  const overdue = new Gauge({
    name: 'docket_approvals_overdue',
    help: 'Runs that wait for approval past their deadline, as last counted by this worker.',
    registers,
  });
  const lookAtDisk = disk === undefined ? undefined : addDiskGauges(own, disk);

  const runs = counter('docket_runs_finished_total', 'Runs that ended in this process, by outcome.', ['org', 'state']);
  const lasted = histogram(
    'docket_run_duration_seconds',
    'Time from the opening of a run to its end in this process, including all waits, in seconds.',
    DURATION_BUCKETS_S.run,
    ['trigger'],
  );
  const slotToEnd = histogram(
    'docket_slot_delay_seconds',
    'Time from a slot to the end of its run in this process, in seconds. A reopened run counts at each end.',
    DURATION_BUCKETS_S.run,
  );
  const stages = histogram(
    'docket_stage_duration_seconds',
    'Duration of a stage of an attempt, including waits for tokens in the worker, in seconds.',
    DURATION_BUCKETS_S.stage,
    ['stage'],
  );
  const calls = counter(
    'docket_calls_answered_total',
    'Calls of runs in this process, by the source of the response.',
    ['org', 'by'],
  );
  const requests = counter('docket_api_requests_total', 'Requests of this process to the service, by result.', [
    'org',
    'status',
  ]);
  const took = histogram(
    'docket_api_request_duration_seconds',
    'Duration of a request of this process to the service, in seconds.',
    DURATION_BUCKETS_S.request,
    ['endpoint', 'status'],
  );
  const waited = counter(
    'docket_token_wait_seconds_total',
    'Seconds that runs of this process waited for tokens of their key, in the worker or snoozed.',
    ['org'],
  );
  const deliveries = counter(
    'docket_deliveries_total',
    'Deliveries and notices of runs in this process, one per target and recipient, by outcome.',
    ['org', 'kind', 'state'],
  );
  const attempts = histogram(
    'docket_delivery_duration_seconds',
    'Duration of a delivery attempt, in seconds.',
    DURATION_BUCKETS_S.delivery,
    ['kind', 'state'],
  );
  const slots = {
    opened: counter('docket_slots_opened_total', 'Slots that this process opened.', ['org']),
    late: counter('docket_slots_late_total', 'Slots that this process opened late, to catch up.', ['org']),
    skipped: counter('docket_slots_skipped_total', 'Slots that this process recorded as skipped.', ['org']),
  };
  const repairs = counter(
    'docket_timetables_repaired_total',
    'Schedulers that had stopped in BullMQ and that this process registered again.',
  );

  const initializeSeries = (all: Iterable<ExpectedSeries>) => {
    for (const { org, kinds } of all) {
      for (const state of RUN_STATES) runs.inc({ org, state }, 0);
      for (const by of ['store', 'service', 'preparation']) calls.inc({ org, by }, 0);
      for (const kind of [...kinds, 'notice']) {
        for (const state of DELIVERY_STATES) deliveries.inc({ org, kind, state }, 0);
      }
      waited.inc({ org }, 0);
      for (const metric of Object.values(slots)) metric.inc({ org }, 0);
    }
  };
  initializeSeries(expected);

  const secondsSince = (at: number): number => Math.max(0, clock.now() - at) / 1000;
  const observe: Metrics['observe'] = ({ org, trigger, slot, createdAt }, event) => {
    switch (event.type) {
      case 'fetched':
        return calls.inc({
          org,
          by: event.preparedAt === undefined ? (event.saved ? 'store' : 'service') : 'preparation',
        });
      case 'waited':
        return waited.inc({ org }, event.ms / 1000);
      case 'timed':
        return stages.observe({ stage: event.stage }, event.ms / 1000);
      case 'delivered': {
        const known = kindOfTarget(event.target);
        const kind = deliveryKinds.has(known) ? known : 'other';
        deliveries.inc({ org, kind, state: event.state });
        if (event.ms !== undefined) attempts.observe({ kind, state: event.state }, event.ms / 1000);
        return;
      }
      case 'finished':
        runs.inc({ org, state: event.state });
        lasted.observe({ trigger }, secondsSince(createdAt));
        if (trigger === 'schedule') slotToEnd.observe(secondsSince(Date.parse(slot)));
        return;
      default:
        return;
    }
  };
  return {
    observe,
    observeRequest: (org, { endpoint, status, ms }) => {
      requests.inc({ org, status });
      took.observe({ endpoint, status }, ms / 1000);
    },
    observeSlots: ({ org, opened, late, skipped }) => {
      slots.opened.inc({ org }, opened);
      slots.late.inc({ org }, late);
      slots.skipped.inc({ org }, skipped);
    },
    observeRepairs: (repaired) => repairs.inc(repaired),
    observeStorage: (part, usable) => storage.set({ part }, usable ? 1 : 0),
    observeOverdue: (count) => overdue.set(count),
    observeDefinitions: () => definitions.set(clock.now() / 1000),
    initializeSeries,
    scrape: async (read) => {
      // A new registry per scrape: parallel scrapes must not mix, and removed values must not stay.
      const shared = new Registry();
      const readings = await read().catch((thrown: unknown) => {
        if (!isRedisOutage(toDocketError(thrown))) throw thrown;
        return undefined;
      });
      new Gauge({
        name: 'docket_redis_up',
        help: 'Whether Redis answered this scrape. If not, the shared metrics are absent.',
        registers: [shared],
      }).set(readings === undefined ? 0 : 1);
      if (readings !== undefined) registerSnapshot(shared, readings);
      await lookAtDisk?.();
      return { type: shared.contentType, body: `${await own.metrics()}\n${await shared.metrics()}` };
    },
  };
}

/**
 * Returns a function that reads the disk for a scrape. If that fails, the value is NaN: neither full nor empty. The
 * other metrics are still exported.
 */
function addDiskGauges(registry: Registry, disk: () => Promise<ArchiveDisk>): () => Promise<void> {
  const registers = [registry];
  const free = new Gauge({
    name: 'docket_archive_free_bytes',
    help: 'Free bytes on the disk of the archive, for this process.',
    registers,
  });
  const size = new Gauge({
    name: 'docket_archive_size_bytes',
    help: 'Size of the disk of the archive in bytes.',
    registers,
  });
  return async () => {
    const { freeBytes, sizeBytes } = await disk().catch(() => ({ freeBytes: Number.NaN, sizeBytes: Number.NaN }));
    free.set(freeBytes);
    size.set(sizeBytes);
  };
}
