import type { Catalog } from '../../contract/catalog.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';

/** Instants are epoch ms. */
export interface ForecastWindow {
  readonly from: number;
  readonly to: number;
}

/** What planning needs of an organization. */
export interface PlanningSource {
  /** Fingerprint of its API key. */
  readonly key: string;
  readonly catalog: Catalog;
  readonly settings: OrgSettings;
}

/** A call that a run will make. */
export interface ForecastCall {
  /** Equal for calls that can share an answer. */
  readonly request: string;
  /** Lists draw on a budget of their own and cost no token. */
  readonly kind: 'report' | 'list';
  /** Epoch ms from which it may be made before the run begins; undefined: it is made by the run. */
  readonly preparedFrom: number | undefined;
  /** Epoch ms from which its days are complete, before the run begins; absent: it cannot be prepared. */
  readonly completeFrom?: number | undefined;
}

/** Calls on a key that belong to no slot: those of a reading, or the checks of a delivered edition. Instants are epoch ms. */
export interface ForecastTask {
  readonly kind: 'reading' | 'check';
  readonly org: string;
  /** Fingerprint of the API key. */
  readonly key: string;
  readonly name: string;
  readonly at: number;
  /** The end of the reading's hour, or the last check: one is made each day. */
  readonly until: number;
  readonly calls: number;
  /** Of its time zone from UTC. */
  readonly offsetMs: number;
}

/** A slot with the calls of its run. Instants are epoch ms. */
export interface ForecastRun {
  readonly org: string;
  /** `<org>/<report>`. */
  readonly name: string;
  /** Fingerprint of the API key. */
  readonly key: string;
  readonly slot: number;
  /** Later than the slot by its jitter. */
  readonly begins: number;
  /** When the run of the slot before begins: this one is not prepared earlier. */
  readonly before: number;
  /** Readers expect the report by then; undefined without `late_after`. */
  readonly lateAt: number | undefined;
  /** Runs of an organization are served in this order, then by name. */
  readonly expected: number;
  /** An answer of another run may be this old, ms; 0: none is used. */
  readonly maxAgeMs: number;
  /** Of its time zone from UTC at the slot: an answer is used on the day of its request only. */
  readonly offsetMs: number;
  readonly calls: readonly ForecastCall[];
  /** How its figures are checked after the delivery; absent without `corrections`. */
  readonly watch?: { readonly ms: number; readonly calls: number };
}

export interface RunDurations {
  /** From a request to its response. */
  readonly callMs: number;
  readonly renderMs: number;
  readonly deliverMs: number;
  /** Pages of all lists of the report in its last run. Default: one page a list. */
  readonly pages?: number;
}

/** What a forecast cannot know. */
export interface ForecastAssumptions extends RunDurations {
  /** Worker processes. */
  readonly processes: number;
  /** Runs that a process works on at once. */
  readonly concurrency: number;
  /** What the last runs of a report took, by `<org>/<report>`. */
  readonly reports?: ReadonlyMap<string, RunDurations>;
  /** `cached`: runs find their catalogs. Default: the first run of an hour takes a token for it. */
  readonly catalogs?: 'cached';
}

export const DEFAULT_ASSUMPTIONS: ForecastAssumptions = {
  processes: 1,
  concurrency: 4,
  callMs: 500,
  renderMs: 3_000,
  deliverMs: 2_000,
};
