/** What fetching says of itself; each is one of a run's events. */
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
  /** This answer is the first of the try that is not kept for want of room; the try waits in place from now on. */
  | { readonly type: 'not_kept'; readonly call: string }
  /** A call that was told to wait has its token, or needs none any more. */
  | { readonly type: 'granted'; readonly call: string }
  | {
      readonly type: 'fetched';
      readonly call: string;
      readonly done: number;
      readonly of: number;
      /** Answered from the response store, or by another run's call. */
      readonly saved: boolean;
      /** Of the answer, to be quoted to the service's support; null or absent where it sent none. */
      readonly correlationId?: string | null;
      /** Tokens left on the key after this call; null where none was taken. */
      readonly tokens: number | null;
      /** Epoch ms when the last call is expected to be answered. */
      readonly finish: number;
    };

export type ObserveFetch = (event: FetchEvent) => void;
