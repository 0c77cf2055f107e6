import { forEachWithConcurrency } from '../../base/concurrency.ts';
import { MAX_CONCURRENT_CALLS } from '../../fetch/call-runner.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import type { ProcessReport } from '../../queue/process-reports.ts';
import { reportName } from '../../queue/schedules/report-schedules.ts';
import type { RunRecord, RunStore } from '../../run/run-record.ts';
import { DEFAULT_ASSUMPTIONS, type ForecastAssumptions, type RunDurations } from './forecast-run.ts';

/** How many runs of a report are measured. */
const MEASURED_RUNS = 10;
const CONCURRENT_READS = 20;

export interface AssumptionPorts {
  readonly processes: { readonly list: () => Promise<readonly ProcessReport[]> };
  readonly runs: Pick<RunStore, 'list'>;
}

/**
 * Reads what a forecast assumes about a deployment: its worker processes, and how long each report's calls, rendering
 * and delivery took in its last ten runs. Throws `redis.unreachable`.
 */
export async function readAssumptions(
  reports: readonly FrozenDefinition[],
  { processes, runs }: AssumptionPorts,
): Promise<ForecastAssumptions> {
  const workers = (await processes.list()).filter(({ roles }) => roles.includes('worker'));
  const { concurrency: normal } = DEFAULT_ASSUMPTIONS;
  const slots = workers.reduce((sum, { concurrency = normal }) => sum + concurrency, 0);
  const measured = new Map<string, RunDurations>();
  await forEachWithConcurrency(reports, CONCURRENT_READS, async (report) => {
    const { org, report: id } = report.definition;
    const last = await runs.list({ org, report: id, states: ['done'], limit: MEASURED_RUNS });
    const durations = measureDurations(last);
    if (durations !== undefined) measured.set(reportName(report), durations);
  });
  return {
    ...DEFAULT_ASSUMPTIONS,
    processes: Math.max(1, workers.length),
    concurrency: workers.length === 0 ? normal : Math.max(1, Math.round(slots / workers.length)),
    reports: measured,
  };
}

/** The medians of the runs, with defaults for what none of them measured. Undefined if nothing was measured. */
export function measureDurations(
  runs: readonly Pick<RunRecord, 'timings' | 'deliver' | 'review' | 'calls' | 'pages' | 'tokenWaitMs'>[],
): RunDurations | undefined {
  const pages = runs[0]?.pages;
  const measured: { readonly [Name in 'callMs' | 'renderMs' | 'deliverMs']: readonly number[] } = {
    // In runs that did not wait for tokens, only the calls remain. Some of them overlap, also with the pages of lists.
    callMs: runs.flatMap(({ timings: { fetch }, calls: { made }, tokenWaitMs, pages: read = 0 }) =>
      fetch === undefined || made === 0 || tokenWaitMs > 0
        ? []
        : fetch / Math.max(Math.ceil(made / MAX_CONCURRENT_CALLS), read),
    ),
    renderMs: runs.flatMap(({ timings }) => timings.render ?? []),
    // A review is not part of the delivery: nobody measures how long people read.
    deliverMs: runs.flatMap(({ timings, deliver, review }) =>
      deliver && review === undefined ? (timings.deliver ?? []) : [],
    ),
  };
  const { callMs, renderMs, deliverMs } = measured;
  if (callMs.length + renderMs.length + deliverMs.length === 0) return undefined;
  const computeMedian = (name: keyof typeof measured): number => median(measured[name]) ?? DEFAULT_ASSUMPTIONS[name];
  const medians = {
    callMs: computeMedian('callMs'),
    renderMs: computeMedian('renderMs'),
    deliverMs: computeMedian('deliverMs'),
  };
  return pages === undefined ? medians : { ...medians, pages };
}

function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
