/** The progress of fetching; part of a run's events. */
export type FetchEvent =
  | {
      readonly type: 'waiting';
      /** Id of the call, or `catalog`. */
      readonly call: string;
      /** Epoch ms at which the call can expect its token. */
      readonly until: number;
      readonly ahead: number;
      readonly tokens: number;
    }
  /**
   * The first response of the attempt that could not be stored, because a limit is reached. The attempt no longer
   * snoozes.
   */
  | { readonly type: 'not_kept'; readonly call: string }
  /** A waiting call got its token, or no longer needs one. */
  | { readonly type: 'granted'; readonly call: string }
  | {
      readonly type: 'fetched';
      readonly call: string;
      readonly done: number;
      readonly of: number;
      /** Answered from the response store, or by another run's call. */
      readonly saved: boolean;
      /** Only for lists: the number of pages. */
      readonly pages?: number;
      /** Epoch ms at which the response was received before the run's slot; absent if it was not. */
      readonly preparedAt?: number;
      /** The response's id for the service's support; null or absent without one. */
      readonly correlationId?: string | null;
      /** Tokens left on the key after this call; null if it took none. */
      readonly tokens: number | null;
      /** Epoch ms at which the last response is expected. */
      readonly finish: number;
    };

export type OnFetchEvent = (event: FetchEvent) => void;
