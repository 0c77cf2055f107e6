import type { ErrorJson } from '../base/error.ts';
import type { DeliveredEvent } from '../deliver/deliver.ts';
import type { FetchEvent } from '../fetch/event.ts';
import type { Stage } from './record.ts';

/** What a run says of itself while it goes on: for the log, the demo's progress, the record and the tests. */
export type RunEvent =
  | { readonly type: 'planned'; readonly calls: number; readonly sections: number }
  | FetchEvent
  | { readonly type: 'rendered'; readonly name: string; readonly bytes: number }
  | DeliveredEvent
  | { readonly type: 'begun'; readonly stage: Stage }
  /** A stage of this try is over, however it ended. */
  | { readonly type: 'timed'; readonly stage: Stage; readonly ms: number }
  /** A try is over, in which calls waited so long (ms) for tokens, in place or in the sleep that follows it. */
  | { readonly type: 'waited'; readonly ms: number }
  | { readonly type: 'snoozed'; readonly until: number; readonly why: string }
  | {
      readonly type: 'finished';
      readonly state: 'done' | 'partly_delivered' | 'held' | 'cancelled' | 'failed';
      readonly error?: ErrorJson;
    };

export type Observe = (event: RunEvent) => void;
