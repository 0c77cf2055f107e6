import type { RunEvent } from './event.ts';
import type { RunRecord } from './record.ts';

/** What a run is at, as people are told it: sealing its files belongs to making them. */
export const LIVE_STAGES = ['plan', 'fetch', 'render', 'deliver'] as const;

/** What a run in hand is at. Told by its worker at most once a second, and forgotten a minute after it stopped telling. */
export interface RunLive {
  readonly stage: (typeof LIVE_STAGES)[number];
  /** Calls of the plan that are answered, and all; 0 of 0 before there is a plan. */
  readonly done: number;
  readonly of: number;
  /** Tokens left on the key after the last call; null before the first. */
  readonly tokens: number | null;
  /** Calls ahead in the key's line while it waits for a token; null while it does not. */
  readonly ahead: number | null;
  /** When the last call is expected to be answered, epoch ms; null while that is not known, and when it was. */
  readonly finish: number | null;
  /** Epoch ms of the news. */
  readonly at: number;
}

/** A run as it is, and what its worker said last of the calls it makes; null unless one is at it. */
export interface RunNews {
  readonly record: RunRecord;
  readonly live: RunLive | null;
}

/** What a run is at, by its events. */
export interface LiveState {
  /** True when that is something else than before. */
  observe(event: RunEvent): boolean;
  /** @param at epoch ms */
  as(at: number): RunLive;
}

/** Reads the events of one try. */
export function liveState(): LiveState {
  const line = new Map<string, number>();
  let live: Omit<RunLive, 'at' | 'ahead'> = { stage: 'plan', done: 0, of: 0, tokens: null, finish: null };
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
          line.clear();
          return change({ stage, ...(stage === 'fetch' ? {} : { finish: null }) });
        }
        case 'planned':
          return change({ of: event.calls });
        case 'waiting':
          line.set(event.call, event.ahead);
          return change({
            tokens: event.tokens,
            finish: live.finish === null ? null : Math.max(live.finish, event.until),
          });
        case 'granted':
          return line.delete(event.call);
        case 'fetched': {
          line.delete(event.call);
          const { done, of, finish, tokens } = event;
          return change({ done, of, finish, tokens: tokens ?? live.tokens });
        }
        default:
          return false;
      }
    },
    as: (at) => ({ ...live, ahead: line.size === 0 ? null : Math.min(...line.values()), at }),
  };
}
