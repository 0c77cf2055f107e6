/** Progress of fetching; part of a run's events. */
export type FetchEvent =
  | {
      readonly type: 'waiting';
      /** Id of the call, or `catalog`. */
      readonly call: string;
      /** Epoch ms at which it can expect its token. */
      readonly until: number;
      readonly ahead: number;
      readonly tokens: number;
    }
  /** The first response of the attempt that is not stored, because a limit is reached; the attempt no longer snoozes. */
  | { readonly type: 'not_kept'; readonly call: string }
  /** A waiting call has its token, or needs none any more. */
  | { readonly type: 'granted'; readonly call: string }
  | {
      readonly type: 'fetched';
      readonly call: string;
      readonly done: number;
      readonly of: number;
      /** Answered from the response store, or by another run's call. */
      readonly saved: boolean;
      /** Of a list: its pages. */
      readonly pages?: number;
      /** Epoch ms at which the response was received before the run's slot; absent otherwise. */
      readonly preparedAt?: number;
      /** Of the response, for the service's support; null or absent without one. */
      readonly correlationId?: string | null;
      /** Tokens left on the key after this call; null where none was taken. */
      readonly tokens: number | null;
      /** Epoch ms at which the last response is expected. */
      readonly finish: number;
    };

export type OnFetchEvent = (event: FetchEvent) => void;
