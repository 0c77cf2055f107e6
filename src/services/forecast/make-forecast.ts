import { toDocketError } from '../../base/error.ts';
import type { SecretSource } from '../../base/secrets/secret.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { BudgetLimits } from '../../fetch/rate-limit/budget.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { findPause } from '../../queue/schedules/pauses.ts';
import { reportName } from '../../queue/schedules/report-schedules.ts';
import { lowestLimits } from '../budgets/key-limits.ts';
import type { ForecastAssumptions, ForecastWindow, PlanningSource } from './forecast-run.ts';
import type { ForecastResult, ForecastWork } from './forecast-work.ts';
import type { LateSlot } from './late-slots.ts';
import type { UnplannedReport } from './plan-slots.ts';
import type { WatchedEdition } from './plan-tasks.ts';
import type { SimulatedKey, SimulatedRun } from './simulate-runs.ts';

export interface ForecastInput {
  readonly reports: readonly FrozenDefinition[];
  /** Delivered editions that are checked. */
  readonly editions?: readonly WatchedEdition[];
  /** All organizations, because they determine the limits of the keys. */
  readonly orgs: readonly OrgSettings[];
  readonly window: ForecastWindow;
  /** Pauses by `<org>` and `<org>/<report>`. Paused reports have no runs. */
  readonly pauses: ReadonlyMap<string, unknown>;
  readonly assumptions: ForecastAssumptions;
}

export interface ForecastPorts {
  readonly secrets: SecretSource;
  /** The catalog that the workers have cached, if there is one. */
  readonly cachedCatalog: (key: string, settings: OrgSettings) => Promise<Catalog | undefined>;
  /** Replaces the error of an unreadable key, which would name a variable or a path of this machine. */
  readonly unknownKey?: (settings: OrgSettings) => string;
  /** Runs `computeForecast`, in this thread or another. */
  readonly compute: (work: ForecastWork) => Promise<ForecastResult>;
}

export interface Forecast {
  readonly runs: readonly SimulatedRun[];
  readonly keys: readonly (SimulatedKey & { readonly organizations: readonly string[] })[];
  readonly unplanned: readonly UnplannedReport[];
  readonly lateSlots: readonly LateSlot[];
  /** `<org>/<report>` of reports that are left out because they are paused. */
  readonly paused: readonly string[];
}

/** Forecasts a window's runs with cached catalogs. Makes no call and uses no token. */
export async function makeForecast(
  { reports, editions = [], orgs, window, pauses, assumptions }: ForecastInput,
  { secrets, cachedCatalog, unknownKey, compute }: ForecastPorts,
): Promise<Forecast> {
  const sources = new Map<string, PlanningSource | string>();
  const sharing = new Map<string, [OrgSettings, ...OrgSettings[]]>();
  for (const settings of orgs) {
    const key = await secrets(settings.api_key).then((secret) => secret.fingerprint(), toDocketError);
    if (typeof key !== 'string') {
      sources.set(settings.id, unknownKey?.(settings) ?? key.message);
      continue;
    }
    sharing.set(key, [settings, ...(sharing.get(key) ?? [])]);
    const catalog = await cachedCatalog(key, settings);
    const missing = `No metric catalog of ${settings.id} is cached: workers keep one for an hour after a run.`;
    sources.set(settings.id, catalog === undefined ? missing : { key, catalog, settings });
  }
  const isPaused = ({ definition }: FrozenDefinition): boolean =>
    findPause(pauses, definition.org, definition.report) !== undefined;
  const limits = new Map([...sharing].map(([key, of]): [string, BudgetLimits] => [key, lowestLimits(of)]));
  const active = reports.filter((report) => !isPaused(report));
  const simulated = await compute({ reports: active, editions, window, sources, limits, assumptions });
  return {
    runs: simulated.runs,
    keys: simulated.keys.map((key) => ({
      ...key,
      organizations: (sharing.get(key.key) ?? []).map(({ id }) => id).sort(),
    })),
    unplanned: simulated.unplanned,
    lateSlots: simulated.lateSlots,
    paused: reports.filter(isPaused).map(reportName),
  };
}
