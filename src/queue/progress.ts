import type { Clock } from '../base/clock.ts';
import { type DocketError, toDocketError } from '../base/error.ts';
import type { Observe } from '../run/event.ts';
import { liveState } from '../run/live.ts';
import type { RunRecord, RunStore } from '../run/record.ts';
import type { RunResult } from '../run/result.ts';
import type { LiveRuns } from './live.ts';
import type { RunProgress } from './stored-record.ts';

/** What a try has to say of the run, of all tries together. */
export type Told = Partial<Pick<RunProgress, 'calls' | 'deliveries' | 'timings' | 'tokenWaitMs'>>;

/** A run's record, and what is told of it while it is in hand, kept up to date by what the run says of itself. */
export interface Progress {
  readonly observe: Observe;
  /**
   * Ends it: all that is known, when nothing is being written any more.
   * @param lost the run is another worker's now, and what is told of it is what that one tells
   */
  ended(lost?: boolean): Promise<Told>;
}

/** Between the first news and its being written. A run that takes no longer is written down once, at its end. */
const FIRST_MS = 500;
/** Between two writes. */
const EVERY_MS = 1_000;
/** What is told is told again before anybody takes the worker for dead: one call may walk a list for minutes. */
const AGAIN_MS = 20_000;

/**
 * One write at a time and no more than one a second, each with the latest state: a run of a thousand calls must not make
 * a thousand writes. What is told of the run leaves in the same round trip as its record, and nobody waits for it.
 * A failed write is told to `failed` and made up for by the next one; what decides anything is written by the worker
 * itself.
 */
export function recordProgress(
  store: Pick<RunStore, 'update'>,
  record: RunRecord,
  {
    clock,
    live,
    failed,
  }: {
    readonly clock: Clock;
    readonly live: Pick<LiveRuns, 'tell' | 'forget'>;
    readonly failed: (error: DocketError) => void;
  },
): Progress {
  const ending = new AbortController();
  const waits = waitingTime(record.tokenWaitMs, clock);
  const deliveries = new Map(record.deliveries.map((row) => [`${row.target} ${row.recipient}`, row]));
  let { calls, timings } = record;
  let change: Told = {};
  let writing: Promise<void> | undefined;
  const state = liveState();
  let untold = false;
  let toldAt: number | undefined;
  let telling = false;

  const tell = (): void => {
    if (telling || !(untold || clock.now() - (toldAt ?? 0) >= AGAIN_MS)) return;
    telling = true;
    untold = false;
    toldAt = clock.now();
    live
      .tell(record.id, state.as(toldAt))
      .catch((error: unknown) => failed(toDocketError(error)))
      .finally(() => {
        telling = false;
      });
  };
  const write = async (): Promise<void> => {
    for (let pauseMs = FIRST_MS; ; pauseMs = EVERY_MS) {
      await clock.sleep(pauseMs, ending.signal).catch(() => {});
      if (ending.signal.aborted) return;
      // Before anything is awaited: what is sent in one turn is one round trip.
      tell();
      if (Object.keys(change).length === 0) continue;
      const next = change;
      change = {};
      try {
        await store.update(record.id, { ...next, tokenWaitMs: waits.total() });
      } catch (error) {
        failed(toDocketError(error));
      }
    }
  };
  const put = (part: Told): void => {
    change = { ...change, ...part };
  };

  const observe: Observe = (event) => {
    if (state.observe(event)) untold = true;
    writing ??= write();
    switch (event.type) {
      case 'planned':
        calls = { ...calls, planned: event.calls };
        return put({ calls });
      case 'waiting':
        waits.begin(event.call, event.until);
        return put({ tokenWaitMs: waits.total() });
      case 'granted':
        return waits.end(event.call);
      case 'fetched':
        waits.end(event.call);
        calls = event.saved ? { ...calls, saved: calls.saved + 1 } : { ...calls, made: calls.made + 1 };
        return put({ calls });
      case 'timed':
        timings = { ...timings, [event.stage]: (timings[event.stage] ?? 0) + Math.round(event.ms) };
        return;
      case 'delivered': {
        const { target, recipient, state, detail } = event;
        deliveries.set(`${target} ${recipient}`, { target, recipient, state, detail });
        return put({ deliveries: [...deliveries.values()] });
      }
      default:
        return;
    }
  };
  return {
    observe,
    ended: async (lost = false) => {
      ending.abort(null);
      await writing;
      // Leaves together with the record's next write, which is not kept waiting by it.
      if (toldAt !== undefined && !lost) {
        live.forget(record.id).catch((error: unknown) => failed(toDocketError(error)));
      }
      const known = deliveries.size === 0 ? {} : { deliveries: [...deliveries.values()] };
      return { calls, timings, tokenWaitMs: waits.asleep(), ...known };
    },
  };
}

/** Time in which at least one call of a run waits for its token. */
function waitingTime(before: number, clock: Clock) {
  const open = new Map<string, number>();
  let sum = before;
  let since = 0;
  const soFar = (): number => (open.size === 0 ? sum : sum + Math.max(0, clock.now() - since));
  return {
    begin: (call: string, until: number): void => {
      if (open.size === 0) since = clock.now();
      open.set(call, until);
    },
    end: (call: string): void => {
      const all = soFar();
      if (open.delete(call) && open.size === 0) sum = all;
    },
    total: soFar,
    /** A call that waits still when its try is over sleeps until the first token is expected. */
    asleep: (): number => {
      const first = Math.min(...open.values());
      return Math.round(soFar() + (open.size === 0 ? 0 : Math.max(0, first - clock.now())));
    },
  };
}

/** The last word of a run that came to its end. */
export function resultFields(result: RunResult, calls: RunRecord['calls']): Partial<RunProgress> {
  return {
    state: result.state,
    calls,
    files: result.files.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })),
    deliveries: result.receipts.map(({ target, recipient, state, detail }) => ({ target, recipient, state, detail })),
    error: null,
    until: null,
  };
}
