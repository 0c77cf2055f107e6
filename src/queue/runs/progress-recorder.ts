import type { Clock } from '../../base/clock.ts';
import { type DocketError, toDocketError } from '../../base/error.ts';
import { progressTracker } from '../../run/live-progress.ts';
import type { OnRunEvent } from '../../run/run-events.ts';
import type { RunRecord, RunStore } from '../../run/run-record.ts';
import type { RunResult } from '../../run/run-result.ts';
import type { LiveProgressStore } from './live-progress.ts';
import type { MutableRunFields } from './stored-record.ts';

/** A run's progress over all its attempts. */
export type ProgressUpdate = Partial<
  Pick<MutableRunFields, 'calls' | 'prepared' | 'pages' | 'deliveries' | 'timings' | 'stageEnds' | 'tokenWaitMs'>
>;

/** Delay from the first event to the first write, ms. A shorter run is written only once, at its end. */
const FIRST_WRITE_DELAY_MS = 500;
/** Minimum time between two writes, ms. */
const WRITE_INTERVAL_MS = 1_000;
/** Live progress must be renewed before it expires, because one call may take minutes. */
const LIVE_REFRESH_INTERVAL_MS = 20_000;

/**
 * Updates a run's record and live progress from its events. Writes one at a time, at most once a second, always the
 * latest state. Sends live progress in the same round trip as the record, without waiting for it. Passes a failed write
 * to `failed`; the next write includes its changes. State changes are written by the worker itself.
 */
export function createProgressRecorder(
  store: RunStore,
  record: RunRecord,
  ports: {
    readonly clock: Clock;
    readonly live: LiveProgressStore;
    readonly failed: (error: DocketError) => void;
  },
) {
  const { clock, live, failed } = ports;
  const ending = new AbortController();
  const waits = trackTokenWait(record.tokenWaitMs, clock);
  const deliveries = new Map(record.deliveries.map((row) => [`${row.target} ${row.recipient}`, row]));
  let { calls, timings, stageEnds } = record;
  /** In this attempt, by call: when it was answered, before the slot. */
  const early = new Map<string, number>();
  /** In this attempt, by list: its pages. */
  const pages = new Map<string, number>();
  let change: ProgressUpdate = {};
  let writing: Promise<void> | undefined;
  const state = progressTracker();
  let dirty = false;
  let publishedAt: number | undefined;
  let publishing = false;

  const publishLive = (): void => {
    if (publishing || !(dirty || clock.now() - (publishedAt ?? 0) >= LIVE_REFRESH_INTERVAL_MS)) return;
    publishing = true;
    dirty = false;
    publishedAt = clock.now();
    live
      .put(record.id, state.at(publishedAt))
      .catch((error: unknown) => failed(toDocketError(error)))
      .finally(() => {
        publishing = false;
      });
  };
  const write = async (): Promise<void> => {
    for (let pauseMs = FIRST_WRITE_DELAY_MS; ; pauseMs = WRITE_INTERVAL_MS) {
      await clock.sleep(pauseMs, ending.signal).catch(() => {});
      if (ending.signal.aborted) return;
      // Called before the first await, because commands of one event-loop turn share a round trip.
      publishLive();
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
  const addChange = (part: ProgressUpdate): void => {
    change = { ...change, ...part };
  };

  const observe: OnRunEvent = (event) => {
    if (state.observe(event)) dirty = true;
    writing ??= write();
    switch (event.type) {
      case 'planned':
        calls = { ...calls, planned: event.calls };
        return addChange({ calls });
      case 'waiting':
        waits.begin(event.call, event.until);
        return addChange({ tokenWaitMs: waits.total() });
      case 'granted':
        return waits.end(event.call);
      case 'fetched':
        waits.end(event.call);
        calls = event.saved ? { ...calls, saved: calls.saved + 1 } : { ...calls, made: calls.made + 1 };
        if (event.pages !== undefined) pages.set(event.call, event.pages);
        if (event.preparedAt !== undefined) early.set(event.call, event.preparedAt);
        return addChange({ calls });
      case 'timed':
        timings = { ...timings, [event.stage]: (timings[event.stage] ?? 0) + Math.round(event.ms) };
        stageEnds = { ...stageEnds, [event.stage]: clock.now() };
        return;
      case 'delivered': {
        const { target, recipient, state, detail } = event;
        deliveries.set(`${target} ${recipient}`, { target, recipient, state, detail });
        return addChange({ deliveries: [...deliveries.values()] });
      }
      default:
        return;
    }
  };
  return {
    observe,
    /**
     * Stops writing, and returns all progress.
     * @param lost another worker has the run, so its live progress must stay
     */
    finish: async (lost = false): Promise<ProgressUpdate> => {
      ending.abort(null);
      await writing;
      // Not awaited: it is sent with the record's next write.
      if (publishedAt !== undefined && !lost) {
        live.delete(record.id).catch((error: unknown) => failed(toDocketError(error)));
      }
      const known = deliveries.size === 0 ? {} : { deliveries: [...deliveries.values()] };
      const ends = stageEnds === undefined ? {} : { stageEnds };
      const made = early.size === 0 ? {} : { prepared: { calls: early.size, from: Math.min(...early.values()) } };
      const read = pages.size === 0 ? {} : { pages: [...pages.values()].reduce((sum, count) => sum + count, 0) };
      return { calls, timings, ...made, ...read, ...ends, tokenWaitMs: waits.asleep(), ...known };
    },
  };
}

/** Measures the time in which at least one call of a run waits for its token, total ms. */
function trackTokenWait(before: number, clock: Clock) {
  const open = new Map<string, number>();
  let sum = before;
  let since = 0;
  const total = (): number => (open.size === 0 ? sum : sum + Math.max(0, clock.now() - since));
  return {
    begin: (call: string, until: number): void => {
      if (open.size === 0) since = clock.now();
      open.set(call, until);
    },
    end: (call: string): void => {
      const all = total();
      if (open.delete(call) && open.size === 0) sum = all;
    },
    total,
    /**
     * The total wait when an attempt ends: `total` and, if calls still wait, the snooze until the first expected token.
     */
    asleep: (): number => {
      const first = Math.min(...open.values());
      return Math.round(total() + (open.size === 0 ? 0 : Math.max(0, first - clock.now())));
    },
  };
}

/** The record's fields for a result. */
export function resultFields(result: RunResult, calls: RunRecord['calls']): Partial<MutableRunFields> {
  return {
    state: result.state,
    calls,
    files: result.files.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })),
    deliveries: result.receipts.map(({ target, recipient, state, detail }) => ({ target, recipient, state, detail })),
    ...(result.statuses === undefined ? {} : { statuses: result.statuses }),
    ...(result.fewStatuses === undefined ? {} : { fewStatuses: result.fewStatuses }),
    ...(result.review === undefined ? {} : { review: result.review }),
    error: result.error ?? null,
    until: null,
  };
}
