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
}

export interface RunDurations {
  /** From a request to its response. */
  readonly callMs: number;
  readonly renderMs: number;
  readonly deliverMs: number;
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
