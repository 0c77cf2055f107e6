import type { Clock } from '../../base/clock.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import type { Outcome } from '../../base/outcome.ts';
import { MINUTE_MS } from '../../base/time.ts';
import type { ReadingArchive, ReadingCall } from '../../deliver/archive/readings/reading-archive.ts';
import { RequestNotMade } from '../../fetch/rate-limit/rate-limited-call.ts';
import type { ReadingQuestion } from '../../plan/reading.ts';
import { buildReading, type ReadingAnswer, type ReadingContext } from './check-answer.ts';

/** Makes one request to the service, and records it. */
export type RequestRecorder = <Answer>(request: () => Promise<Answer>) => Promise<Answer>;

/** Calls the service within the organization's budget, in the scheduled class. */
export type ReadingRequester = (
  question: ReadingQuestion,
  /** Wraps each request that has a token. */
  record: RequestRecorder,
  signals: {
    readonly signal: AbortSignal;
    /** Ends the wait for a token. */
    readonly stop: AbortSignal;
  },
) => Promise<Outcome<ReadingAnswer>>;

export interface TakeReadingPorts {
  readonly archive: ReadingArchive;
  readonly ask: ReadingRequester;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * - `stored`: the question has its reading, from this process or another
 * - `waiting`: another process is calling, the budget has no token, or the last failure is too recent: try again
 * - `closed`: the hour is over
 */
export type TakeResult = 'stored' | 'waiting' | 'closed';

/**
 * After this, ms, another process makes the call again: the process of the last call may have died. Longer than a call
 * takes.
 */
export const CLAIM_TTL_MS = 3 * MINUTE_MS;
/** The wait after a failure: a minute, doubled each time, up to this. */
const MAX_BACKOFF_MS = 5 * MINUTE_MS;
/**
 * How long before the end of the hour the second request after a bad response is made, ms: until then, the service may
 * return the same response.
 */
const LAST_CALL_BEFORE_END_MS = 5 * MINUTE_MS;
/** Clocks of two machines differ by less than this. A time further in the future was written by a wrong clock. */
const MAX_CLOCK_SKEW_MS = 2 * MINUTE_MS;

const backoffMs = (number: number): number => Math.min(MAX_BACKOFF_MS, MINUTE_MS * 2 ** (number - 1));

/** When the next call may be made, epoch ms; undefined: now. */
function nextCallAt(last: ReadingCall | undefined, now: number): number | undefined {
  if (last === undefined) return undefined;
  const { number, askedAt: requestedAt, until, end } = last;
  // The time is unreadable, or from a clock that was ahead. It must not keep other processes from calling.
  if (Number.isNaN(requestedAt) || requestedAt > now + MAX_CLOCK_SKEW_MS) return undefined;
  if (end === undefined) return until > now ? until : undefined;
  if (end.code === 'api.throttled') return undefined;
  const at = end.nextAt ?? end.at + backoffMs(number);
  return end.at <= now + MAX_CLOCK_SKEW_MS && at > now ? at : undefined;
}

/**
 * When to make the next request after a bad response, epoch ms: when the service may have a new response, otherwise
 * once shortly before the hour ends.
 * @param requestedAt when the call was made
 * @param retryAfter `meta.refresh_retry_after`: seconds or an instant
 */
function nextAfterBadAnswer(
  { number, requestedAt, at }: { readonly number: number; readonly requestedAt: number; readonly at: number },
  retryAfter: unknown,
  { until }: ReadingContext['window'],
): number {
  const seconds = typeof retryAfter === 'number' || typeof retryAfter === 'string' ? Number(retryAfter) : Number.NaN;
  const refreshed = Number.isNaN(seconds) ? Date.parse(`${retryAfter}`) : at + seconds * 1000;
  if (Number.isFinite(refreshed)) return Math.min(until, Math.max(refreshed, at + backoffMs(number)));
  const last = until - LAST_CALL_BEFORE_END_MS;
  return requestedAt < last ? last : until;
}

const withoutRetry = (error: DocketError): DocketError =>
  new DocketError(error.code, error.message, { retryable: false, cause: error });

/** Thrown before a request, so nothing was sent. */
class NotClaimed extends RequestNotMade {
  readonly result: TakeResult;
  constructor(result: TakeResult) {
    super(`no request: ${result}`);
    this.result = result;
  }
}

/**
 * Takes the reading of a question and a day, unless it is stored. Each call is first claimed in the archive, so that
 * only one process calls at a time. A call without a response is repeated within the hour, and so is one with a bad
 * response. Throws `archive.*`, `redis.*`.
 */
export async function takeReading(of: ReadingContext, ports: TakeReadingPorts): Promise<TakeResult> {
  const { archive, ask, clock, log, signal } = ports;
  const { org, window, question } = of;
  const ref = { org, day: window.day, question: question.id };
  const fields = { org, event: 'reading', path: `${window.day}/${question.id}` };
  const isStored = async (): Promise<boolean> =>
    (await archive.list(org, window.day)).some((state) => state.question === question.id && state.stored);

  if (await isStored()) return 'stored';
  const isOpen = (now: number): boolean => window.at <= now && now < window.until;
  if (!isOpen(clock.now())) return 'closed';
  if (nextCallAt(await archive.lastCall(ref), clock.now()) !== undefined) return 'waiting';

  let claimed: { readonly number: number; readonly requestedAt: number } | undefined;
  const claim = async (): Promise<void> => {
    const last = await archive.lastCall(ref);
    const now = clock.now();
    if (!isOpen(now)) throw new NotClaimed('closed');
    if (nextCallAt(last, now) !== undefined) throw new NotClaimed('waiting');
    const number = (last?.number ?? 0) + 1;
    const until = now + CLAIM_TTL_MS;
    if (!(await archive.claim(ref, { number, askedAt: now, until }))) throw new NotClaimed('waiting');
    claimed = { number, requestedAt: now };
    // The process with the previous claim has stored it since the first check.
    if (await isStored()) throw new NotClaimed('stored');
    // If this process was frozen here, it would call at the same time as the process that took over.
    if (clock.now() - now > MINUTE_MS) throw new NotClaimed('waiting');
  };
  const recordFailure = async (error: DocketError, answer?: ReadingAnswer): Promise<void> => {
    log.warn('Reading failed; it is tried again within its hour', { ...fields, error: error.toJSON() });
    if (claimed === undefined) return;
    const { code, message } = error;
    const at = clock.now();
    const retryAfter = answer?.body.meta.refresh_retry_after;
    const next = answer === undefined ? {} : { nextAt: nextAfterBadAnswer({ ...claimed, at }, retryAfter, window) };
    // Without this record, the other processes wait until the claim ends.
    await archive.fail(ref, claimed.number, { at, code, message, ...next }).catch((thrown: unknown) => {
      log.error('Failed reading could not be recorded', { ...fields, error: toDocketError(thrown).toJSON() });
    });
  };
  const record: RequestRecorder = async (request) => {
    await claim();
    try {
      return await request();
    } catch (thrown) {
      if (!(thrown instanceof DocketError)) throw thrown;
      await recordFailure(thrown);
      // The budget knows when a throttled key is available again. All other retries wait for the time that all
      // processes share.
      throw thrown.code === 'api.throttled' ? thrown : withoutRetry(thrown);
    }
  };

  const closing = new AbortController();
  const closeAtEnd = clock
    .sleep(Math.max(0, window.until - clock.now()), AbortSignal.any([signal, closing.signal]))
    .then(
      () => closing.abort(),
      () => {},
    );
  let outcome: Outcome<ReadingAnswer>;
  try {
    outcome = await ask(question, record, { signal, stop: closing.signal });
  } catch (thrown) {
    if (thrown instanceof NotClaimed) return thrown.result;
    throw thrown;
  } finally {
    closing.abort();
    await closeAtEnd;
  }
  if (outcome.kind !== 'done') return 'waiting';
  try {
    const reading = buildReading(outcome.value, of);
    if (await archive.putIfAbsent(reading)) {
      log.info('Reading stored', { ...fields, why: `as of ${reading.as_of}` });
    }
    return 'stored';
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (!error.code.startsWith('reading.')) throw thrown;
    const { body, receivedAt } = outcome.value;
    // The figures are from a day before ours: our clock may be ahead, which must not keep other processes from calling.
    const ownClock = error.code === 'reading.wrong_day' && Date.parse(body.meta.as_of ?? '') < receivedAt;
    await recordFailure(error, ownClock ? undefined : outcome.value);
    return clock.now() < window.until ? 'waiting' : 'closed';
  }
}
