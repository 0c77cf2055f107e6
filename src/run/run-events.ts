import type { Clock } from '../base/clock.ts';
import type { ErrorJson } from '../base/error.ts';
import type { Log } from '../base/log.ts';
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

/**
 * Logs the events of a run with their stages: deliveries as `info` or `warn`, single calls and files as `debug`.
 * Recipients are not logged: the ledger finds them by the delivery's id.
 *
 * @param log with run, organization and report as fields
 */
export function logRunEvents(log: Log): OnRunEvent {
  let waitLogged = false;
  return (event) => {
    switch (event.type) {
      case 'planned':
        return log.debug('Calls planned', { stage: 'plan', count: event.calls });
      case 'waiting': {
        const { call, ahead: count } = event;
        const fields = { stage: 'fetch', call, count, until: new Date(event.until).toISOString() };
        // Logs the wait at `info` once per attempt, because its other calls wait in the same queue.
        if (waitLogged) return log.debug('A call waits for a token of its API key', fields);
        waitLogged = true;
        return log.info('The run waits for the budget of its API key', fields);
      }
      case 'fetched': {
        const { call, done: count, of, correlationId } = event;
        const named = correlationId ? { correlation_id: correlationId } : {};
        const fields = { stage: 'fetch', call, count, of, state: event.saved ? 'kept' : 'made', ...named };
        return log.debug('Call answered', fields);
      }
      case 'not_kept':
        return log.warn('Response store is full; an interrupted run will request these responses again', {
          stage: 'fetch',
          call: event.call,
        });
      case 'rendered':
        return log.debug('File rendered', { stage: 'render', path: event.name, count: event.bytes });
      case 'delivered': {
        const { target, state, detail, ms } = event;
        const fields = { stage: 'deliver', target, state, ...(ms === undefined ? {} : { ms }) };
        if (state === 'sent') return log.info('Delivered', fields);
        const why = detail === null ? {} : { why: detail };
        if (state === 'skipped') return log.info('Skipped', { ...fields, ...why });
        return log.warn('Not delivered', { ...fields, ...why });
      }
      case 'timed':
        return log.debug('Stage finished', { stage: event.stage, ms: Math.round(event.ms) });
      default:
        return;
    }
  };
}
