import type { Clock } from '../base/clock.ts';
import type { ErrorJson } from '../base/error.ts';
import { noTrace, type Trace } from '../base/trace.ts';
import type { DeliveredEvent } from '../deliver/send-pending.ts';
import type { FetchEvent } from '../fetch/fetch-events.ts';
import type { Stage } from './run-record.ts';

/** Events of an active run, for the log, progress displays and the run's record. */
export type RunEvent =
  | { readonly type: 'planned'; readonly calls: number; readonly sections: number }
  | FetchEvent
  | { readonly type: 'rendered'; readonly name: string; readonly bytes: number }
  | DeliveredEvent
  | { readonly type: 'begun'; readonly stage: Stage }
  /** A stage of this attempt has ended, successfully or not. */
  | { readonly type: 'timed'; readonly stage: Stage; readonly ms: number }
  /** An attempt is over. Its calls waited this long (ms) for tokens, including a snooze that follows it. */
  | { readonly type: 'waited'; readonly ms: number }
  | { readonly type: 'snoozed'; readonly until: number; readonly why: string }
  | {
      readonly type: 'finished';
      readonly state: 'done' | 'partly_delivered' | 'held' | 'awaiting_approval' | 'cancelled' | 'failed';
      readonly error?: ErrorJson;
    };

export type OnRunEvent = (event: RunEvent) => void;

/** Where a stage reports its events. Absent `trace`: no spans. */
export interface StageContext {
  readonly observe: OnRunEvent;
  readonly clock: Clock;
  readonly trace?: Trace | undefined;
}

/** Runs a stage. Reports its start and, whatever happens, its duration. */
export async function timedStage<Value>(
  stage: Stage,
  { observe, clock, trace = noTrace }: StageContext,
  work: () => Promise<Value>,
): Promise<Value> {
  const startedAt = clock.now();
  observe({ type: 'begun', stage });
  try {
    return await trace.span({ name: stage }, work);
  } finally {
    observe({ type: 'timed', stage, ms: Math.max(0, clock.now() - startedAt) });
  }
}
