import type { Catalog } from '../../contract/catalog.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';

/** The time to forecast. Instants are epoch ms. */
export interface ForecastWindow {
  readonly from: number;
  readonly to: number;
}

/** What planning needs to know about an organization. */
export interface PlanningSource {
  /** Fingerprint of the organization's API key. */
  readonly key: string;
  readonly catalog: Catalog;
  readonly settings: OrgSettings;
}

/** A call that a run will make. */
export interface ForecastCall {
  /** The same for calls that can share a response. */
  readonly request: string;
  /** Lists have a separate budget, and use no token. */
  readonly kind: 'report' | 'list';
  /** Epoch ms from which it may be made before the run begins. Undefined: the run itself makes it. */
  readonly preparedFrom: number | undefined;
  /** Epoch ms, before the run begins, from which its days are complete. Absent: it cannot be prepared. */
  readonly completeFrom?: number | undefined;
}

/** Calls with a key that belong to no slot: a reading's, or checks of a delivered edition. Instants are epoch ms. */
export interface ForecastTask {
  readonly kind: 'reading' | 'check';
  readonly org: string;
  /** Fingerprint of the API key. */
  readonly key: string;
  readonly name: string;
  readonly at: number;
  /** The end of the reading's hour, or the last check. One check is made each day. */
  readonly until: number;
  readonly calls: number;
  /** The time zone's offset from UTC. */
  readonly offsetMs: number;
}

/** A slot with its run's calls. Instants are epoch ms. */
export interface ForecastRun {
  readonly org: string;
  /** `<org>/<report>`. */
  readonly name: string;
  /** Fingerprint of the API key. */
  readonly key: string;
  readonly slot: number;
  /** The slot plus its jitter. */
  readonly begins: number;
  /** When the previous slot's run begins: this run is not prepared earlier. */
  readonly before: number;
  /** When readers expect the report; undefined without `late_after`. */
  readonly lateAt: number | undefined;
  /** An organization's runs start in this order, then by name. */
  readonly expected: number;
  /** How old another run's response may be, ms; 0: none is used. */
  readonly maxAgeMs: number;
  /** The time zone's offset from UTC at the slot: a response is used only on the day of its request. */
  readonly offsetMs: number;
  readonly calls: readonly ForecastCall[];
  /** The organization is `current`: before its first list, a run reads the organization's number. */
  readonly isCurrentOrg?: boolean;
  /** How its figures are checked after the delivery. Absent without `corrections`. */
  readonly watch?: { readonly ms: number; readonly calls: number };
}

export interface RunDurations {
  /** Time from a request to its response, ms. */
  readonly callMs: number;
  readonly renderMs: number;
  readonly deliverMs: number;
  /** Pages of all the report's lists in its last run. Default: one page per list. */
  readonly pages?: number;
}

/** What a forecast must assume because it cannot know it. */
export interface ForecastAssumptions extends RunDurations {
  /** Number of worker processes. */
  readonly processes: number;
  /** How many runs a process executes at once. */
  readonly concurrency: number;
  /** What the last runs of each report took, by `<org>/<report>`. */
  readonly reports?: ReadonlyMap<string, RunDurations>;
  /**
   * `cached`: runs find their catalogs in the cache. Default: the first run of each hour uses a token for its catalog.
   */
  readonly catalogs?: 'cached';
}

export const DEFAULT_ASSUMPTIONS: ForecastAssumptions = {
  processes: 1,
  concurrency: 4,
  callMs: 500,
  renderMs: 3_000,
  deliverMs: 2_000,
};
