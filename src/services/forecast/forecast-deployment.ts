import { forEachWithConcurrency } from '../../base/concurrency.ts';
import { isoInstant, MINUTE_MS } from '../../base/time.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import type { Pauses } from '../../queue/schedules/pauses.ts';
import { runId } from '../../run/run-order.ts';
import type { RunRecord, RunStore } from '../../run/run-record.ts';
import { type AssumptionPorts, readAssumptions } from './assumptions.ts';
import type { ForecastAssumptions } from './forecast-run.ts';
import { type Forecast, type ForecastPorts, makeForecast } from './make-forecast.ts';
import type { ForecastWindow } from './plan-slots.ts';

/** The parts of a deployment that a forecast reads. */
export interface ForecastSources extends ForecastPorts, AssumptionPorts {
  readonly jobs: () => Pick<Definitions, 'orgs' | 'reports'>;
  readonly pauses: Pick<Pauses, 'list'>;
  readonly runs: Pick<RunStore, 'list' | 'get'>;
  readonly clock: { now(): number };
}

export interface DeploymentForecast {
  readonly forecast: Forecast;
  readonly window: ForecastWindow;
  readonly assumptions: ForecastAssumptions;
  /** The runs of slots that have begun, by `forecastName`. */
  readonly actual: ReadonlyMap<string, RunRecord>;
}

/** Names a run of a forecast. */
export const forecastName = ({ name, slot }: { readonly name: string; readonly slot: number }): string =>
  `${name} ${slot}`;

const CONCURRENT_READS = 20;

/** Forecasts the runs of a deployment, with the actual ones of slots that have begun. Throws `redis.unreachable`. */
export async function forecastDeployment(
  window: ForecastWindow,
  sources: ForecastSources,
): Promise<DeploymentForecast> {
  const { jobs, pauses, runs, clock } = sources;
  const { orgs, reports: definitions } = jobs();
  const reports = [...definitions.values()].flatMap((definition): FrozenDefinition[] => {
    const settings = orgs.get(definition.org);
    return settings === undefined ? [] : [{ definition, settings }];
  });
  const paused = (await pauses.list()).map(
    (pause) => [pause.report === null ? pause.org : `${pause.org}/${pause.report}`, pause] as const,
  );
  const assumptions = await readAssumptions(reports, sources);
  const input = { reports, orgs: [...orgs.values()], window, pauses: new Map(paused), assumptions };
  const forecast = await makeForecast(input, sources);
  const actual = new Map<string, RunRecord>();
  const begun = forecast.runs.filter(({ run }) => run.begins <= clock.now());
  await forEachWithConcurrency(begun, CONCURRENT_READS, async ({ run }) => {
    const report = run.name.slice(run.org.length + 1);
    const record = await runs.get(runId(run.org, report, isoInstant(run.slot)));
    if (record !== undefined) actual.set(forecastName(run), record);
  });
  return { forecast, window, assumptions, actual };
}

/** A forecast serves all that ask for the same window within this time, ms. */
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
