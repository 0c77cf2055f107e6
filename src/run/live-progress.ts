import type { RunEvent } from './run-events.ts';
import type { RunRecord } from './run-record.ts';

/** Stages as shown to users: `seal` is part of `render`. */
export const PROGRESS_STAGES = ['plan', 'fetch', 'render', 'deliver'] as const;

/** Progress of an active run. Its worker reports it at most once a second; it expires a minute after the last report. */
export interface LiveProgress {
  readonly stage: (typeof PROGRESS_STAGES)[number];
  /** Answered calls and all calls of the plan; 0 of 0 before there is a plan. */
  readonly done: number;
  readonly of: number;
  /** Tokens left on the key after the last call; null before the first. */
  readonly tokens: number | null;
  /** Calls ahead in the queue of the key while it waits for a token; otherwise null. */
  readonly ahead: number | null;
  /** When the last response is expected, epoch ms; null while unknown, and after it was received. */
  readonly finish: number | null;
  /** Epoch ms of the report. */
  readonly at: number;
}

/** A run and its live progress; null unless a worker runs it. */
export interface RunSnapshot {
  readonly record: RunRecord;
  readonly live: LiveProgress | null;
}

/** Derives the progress of an attempt from its events. */
export interface ProgressTracker {
  /** Returns whether the progress has changed. */
  observe(event: RunEvent): boolean;
  /** @param at epoch ms */
  at(at: number): LiveProgress;
}

export function progressTracker(): ProgressTracker {
  const waiting = new Map<string, number>();
  let live: Omit<LiveProgress, 'at' | 'ahead'> = { stage: 'plan', done: 0, of: 0, tokens: null, finish: null };
  const change = (part: Partial<typeof live>): true => {
    live = { ...live, ...part };
    return true;
  };
  return {
    observe: (event) => {
      switch (event.type) {
        case 'begun': {
          const stage = event.stage === 'seal' ? 'render' : event.stage;
          if (stage === live.stage) return false;
          waiting.clear();
          return change({ stage, ...(stage === 'fetch' ? {} : { finish: null }) });
        }
        case 'planned':
          return change({ of: event.calls });
        case 'waiting':
          waiting.set(event.call, event.ahead);
          return change({
            tokens: event.tokens,
            finish: live.finish === null ? null : Math.max(live.finish, event.until),
          });
        case 'granted':
          return waiting.delete(event.call);
        case 'fetched': {
          waiting.delete(event.call);
          const { done, of, finish, tokens } = event;
          return change({ done, of, finish, tokens: tokens ?? live.tokens });
        }
        default:
          return false;
      }
    },
    at: (at) => ({ ...live, ahead: waiting.size === 0 ? null : Math.min(...waiting.values()), at }),
  };
}
