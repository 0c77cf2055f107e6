import { forEachWithConcurrency } from '../../base/concurrency.ts';
import { DAY_MS, HOUR_MS, isoInstant, MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import type { Pauses } from '../../queue/schedules/pauses.ts';
import { runId } from '../../run/run-order.ts';
import type { RunFilter, RunRecord, RunStore } from '../../run/run-record.ts';
import { beginningSlots } from '../preparations/due-preparations.ts';
import { type AssumptionPorts, readAssumptions } from './assumptions.ts';
import type { ForecastAssumptions, ForecastWindow } from './forecast-run.ts';
import { type Forecast, type ForecastPorts, makeForecast } from './make-forecast.ts';
import type { WatchedEdition } from './plan-tasks.ts';
import type { StoredForecasts } from './stored-forecasts.ts';

/** The parts of a deployment that a forecast reads. */
export interface ForecastSources extends ForecastPorts, AssumptionPorts {
  readonly jobs: () => Pick<Definitions, 'orgs' | 'reports'>;
  readonly pauses: Pick<Pauses, 'list'>;
  readonly runs: Pick<RunStore, 'list' | 'get'>;
  /** When the figures of delivered editions were last compared, epoch ms, by run. */
  readonly checks: () => Promise<ReadonlyMap<string, number>>;
  readonly clock: { now(): number };
  /** Forecasts stored before the slots. Absent: none are shown. */
  readonly stored?: StoredForecasts;
}

export interface DeploymentForecast {
  readonly forecast: Forecast;
  readonly window: ForecastWindow;
  readonly assumptions: ForecastAssumptions;
  /** The runs of slots that have begun, by `forecastName`. */
  readonly actual: ReadonlyMap<string, RunRecord>;
  /** When a forecast, made minutes before the slot, expected the delivery, epoch ms, by run. */
  readonly foreseen?: ReadonlyMap<string, number>;
}

/** Names a forecast's run. */
export const forecastName = ({ name, slot }: { readonly name: string; readonly slot: number }): string =>
  `${name} ${slot}`;

/** The id of the slot's real run. */
export const toRunId = ({ org, name, slot }: { readonly org: string; readonly name: string; readonly slot: number }) =>
  runId(org, name.slice(org.length + 1), isoInstant(slot));

/** When a run was delivered, epoch ms. Null: not yet, or never. */
export const deliveredAt = (record: RunRecord | undefined): number | null =>
  record?.state === 'done' || record?.state === 'partly_delivered' ? record.finishedAt : null;

export const definedReports = ({ orgs, reports }: Pick<Definitions, 'orgs' | 'reports'>): FrozenDefinition[] =>
  [...reports.values()].flatMap((definition) => {
    const settings = orgs.get(definition.org);
    return settings === undefined ? [] : [{ definition, settings }];
  });

const CONCURRENT_READS = 20;
/** Most editions of a report that are watched at once: more than two years of daily editions, the longest watch. */
const MAX_EDITIONS = 800;

/** The delivered editions whose figures are still compared, from the recorded runs and the current definitions. */
async function watchedEditions(
  reports: readonly FrozenDefinition[],
  { runs, checks, clock }: Pick<ForecastSources, 'runs' | 'checks' | 'clock'>,
): Promise<WatchedEdition[]> {
  const found: WatchedEdition[] = [];
  const watching = reports.filter(({ definition }) => definition.corrections !== undefined);
  if (watching.length === 0) return found;
  const checked = await checks();
  await forEachWithConcurrency(watching, CONCURRENT_READS, async (report) => {
    const { org, report: id, corrections } = report.definition;
    const watchMs = (corrections?.watch ?? 0) * SECOND_MS;
    const delivered: RunFilter['states'] = ['done', 'partly_delivered'];
    const records = await runs.list({ org, report: id, states: delivered, limit: MAX_EDITIONS });
    const replaced = new Set(records.map(({ corrects }) => corrects));
    for (const { id: run, deliver, finishedAt, period, sectionPeriods } of records) {
      if (!deliver || finishedAt === null || replaced.has(run) || clock.now() > finishedAt + watchMs) continue;
      const periods = sectionPeriods === undefined ? { period } : { period, sectionPeriods };
      found.push({ report, periods, deliveredAt: finishedAt, checkedAt: checked.get(run) });
    }
  });
  return found;
}

/** Forecasts a deployment's runs, and adds the actual runs of slots that have begun. Throws `redis.unreachable`. */
export async function forecastDeployment(
  window: ForecastWindow,
  sources: ForecastSources,
): Promise<DeploymentForecast> {
  const { jobs, pauses, runs, clock, stored } = sources;
  const { orgs } = jobs();
  const reports = definedReports(jobs());
  const paused = (await pauses.list()).map(
    (pause) => [pause.report === null ? pause.org : `${pause.org}/${pause.report}`, pause] as const,
  );
  const assumptions = await readAssumptions(reports, sources);
  const editions = await watchedEditions(reports, sources);
  const input = { reports, editions, orgs: [...orgs.values()], window, pauses: new Map(paused), assumptions };
  const forecast = await makeForecast(input, sources);
  const actual = new Map<string, RunRecord>();
  const begun = forecast.runs.filter(({ run }) => run.begins <= clock.now());
  await forEachWithConcurrency(begun, CONCURRENT_READS, async ({ run }) => {
    const record = await runs.get(toRunId(run));
    if (record !== undefined) actual.set(forecastName(run), record);
  });
  const foreseen = new Map<string, number>();
  for (let day = window.from; stored !== undefined && day < Math.min(window.to, clock.now()) + DAY_MS; day += DAY_MS) {
    for (const [run, { at }] of await stored.ofDay(day)) foreseen.set(run, at);
  }
  return { forecast, window, assumptions, actual, foreseen };
}

/** How long a forecast is reused for the same window, ms. */
const KEPT_MS = MINUTE_MS;
const MAX_KEPT = 4;

/** `forecastDeployment` for many readers, who share its results. */
export function forecastService(sources: ForecastSources): (window: ForecastWindow) => Promise<DeploymentForecast> {
  const kept = new Map<
    string,
    { readonly of: unknown; readonly at: number; readonly made: Promise<DeploymentForecast> }
  >();
  return (window) => {
    const { clock, jobs } = sources;
    const name = `${window.from} ${window.to}`;
    const now = clock.now();
    const found = kept.get(name);
    if (found !== undefined && found.of === jobs() && Math.abs(now - found.at) < KEPT_MS) return found.made;
    const made = forecastDeployment(window, sources);
    kept.delete(name);
    kept.set(name, { of: jobs(), at: now, made });
    made.catch(() => kept.delete(name));
    const [oldest] = kept.size > MAX_KEPT ? kept.keys() : [];
    if (oldest !== undefined) kept.delete(oldest);
    return made;
  };
}

/** Slots that begin within this time are forecast. Longer than the time between two rounds. */
const AHEAD_MS = 12 * MINUTE_MS;
/** Runs that begin this long before are simulated too, because their calls may still wait. */
const BEFORE_MS = HOUR_MS;

/**
 * Forecasts the next slots and stores the result, and compares earlier forecasts with deliveries. Call it every five
 * minutes.
 */
export const createForecastRound =
  (sources: Required<ForecastSources>): (() => Promise<void>) =>
  async () => {
    const { stored, clock, runs, jobs } = sources;
    if (!(await stored.claim())) return;
    const now = clock.now();
    for (const day of [now - DAY_MS, now]) {
      for (const [run, { at, isCompared }] of await stored.ofDay(day)) {
        const record = isCompared ? undefined : await runs.get(run);
        const delivered = deliveredAt(record);
        if (record === undefined || delivered === null) continue;
        const isDelayed = record.review !== undefined || record.reopened.length > 0;
        await stored.compare(run, Date.parse(record.slot), at, isDelayed ? undefined : Math.abs(delivered - at));
      }
    }
    if (definedReports(jobs()).every((report) => beginningSlots(report, now, now + AHEAD_MS).length === 0)) return;
    const { forecast } = await forecastDeployment({ from: now - BEFORE_MS, to: now + AHEAD_MS }, sources);
    for (const { run, delivered } of forecast.runs) {
      if (run.begins > now) await stored.put(toRunId(run), run.slot, delivered);
    }
  };
