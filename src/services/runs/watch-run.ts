import type { Clock } from '../../base/clock.ts';
import { isRedisOutage, toDocketError } from '../../base/error.ts';
import { MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import type { LiveProgressStore } from '../../queue/runs/live-progress.ts';
import type { RunSnapshot } from '../../run/live-progress.ts';
import { runNotFoundError, TERMINAL_STATES } from '../../run/run-record.ts';

/** Each poll is one round trip. */
const WATCH_POLL_INTERVAL_MS = SECOND_MS;
/** How long Redis may be unreachable once it has answered. */
const OUTAGE_TIMEOUT_MS = MINUTE_MS;

/**
 * Yields the run at once, and again whenever its record or live progress changes, until it has ended or `signal`
 * aborts. A requeued run has not ended.
 *
 * Throws `run.not_found` for a run without a record, `redis.unreachable`.
 */
export async function* watchRun(
  run: string,
  signal: AbortSignal,
  { live, clock }: { readonly live: LiveProgressStore; readonly clock: Clock },
): AsyncGenerator<RunSnapshot, void, void> {
  let lastText: string | undefined;
  let answeredAt: number | undefined;
  while (!signal.aborted) {
    const snapshot = await live.get(run).catch((thrown: unknown) => {
      const isOutage = isRedisOutage(toDocketError(thrown));
      if (isOutage && answeredAt !== undefined && clock.now() - answeredAt < OUTAGE_TIMEOUT_MS) {
        return 'unreachable' as const;
      }
      throw thrown;
    });
    if (snapshot === undefined) throw runNotFoundError(run);
    if (snapshot !== 'unreachable') {
      answeredAt = clock.now();
      // Live progress of a worker that has crashed is not current.
      const current = snapshot.record.state === 'running' ? snapshot : { ...snapshot, live: null };
      const text = JSON.stringify(current);
      if (text !== lastText) yield current;
      lastText = text;
      if (TERMINAL_STATES.has(current.record.state)) return;
    }
    await clock.sleep(WATCH_POLL_INTERVAL_MS, signal).catch(() => {});
  }
}
