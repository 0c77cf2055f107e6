import type { ErrorJson } from '../base/error.ts';
import type { DeliveryState } from '../deliver/ledger.ts';

/** What a run says of itself while it goes on: for the log, the demo's progress, the record and the tests. */
export type RunEvent =
  | { readonly type: 'planned'; readonly calls: number; readonly sections: number }
  | {
      readonly type: 'waiting';
      readonly call: string;
      readonly until: number;
      readonly ahead: number;
      readonly tokens: number;
    }
  | {
      readonly type: 'fetched';
      readonly call: string;
      readonly done: number;
      readonly of: number;
      /** Answered from the response store. */
      readonly saved: boolean;
      /** Tokens left on the key after this call; null where none was taken. */
      readonly tokens: number | null;
      /** Epoch ms when the last call is expected to be answered. */
      readonly finish: number;
    }
  | { readonly type: 'rendered'; readonly name: string; readonly bytes: number }
  | {
      readonly type: 'delivered';
      readonly target: string;
      readonly recipient: string;
      readonly state: DeliveryState;
      readonly detail: string | null;
    }
  | { readonly type: 'snoozed'; readonly until: number; readonly why: string }
  | {
      readonly type: 'finished';
      readonly state: 'done' | 'partly_delivered' | 'held' | 'cancelled' | 'failed';
      readonly error?: ErrorJson;
    };

export type Observe = (event: RunEvent) => void;
