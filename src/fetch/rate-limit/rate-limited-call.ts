import type { SteadyClock } from '../../base/clock.ts';
import { DocketError, isRedisOutage, toDocketError } from '../../base/error.ts';
import { cancel, done, fail, type Outcome, snooze } from '../../base/outcome.ts';
import { requestNotSent } from '../client/network-error.ts';
import { type AcquireResult, type Budget, type CallClass, waiterTimeouts } from './budget.ts';

/** The budget that a call draws on, and how long it may wait. */
export interface RateLimitContext {
  readonly budget: Budget;
  readonly clock: SteadyClock;
  /** Fingerprint of the API key. */
  readonly key: string;
  /** Organizations that share the key are served round-robin. */
  readonly org: string;
  /** As in `AcquireRequest`. */
  readonly turn?: string;
  readonly priority: CallClass;
  /**
   * After a longer wait (ms) the run snoozes and keeps its queue position. It is read at each wait, because it may
   * change.
   */
  readonly maxWaitMs: number;
  /** A request is aborted this long (ms) after dispatch. */
  readonly requestTimeoutMs: number;
  /** Returns 0 to 1, for the retry jitter. Default: `Math.random`. */
  readonly random?: () => number;
}

/** The context for an organization's calls on `budget`. */
export const rateLimitContext = (
  org: string,
  source: Pick<RateLimitContext, 'clock' | 'key' | 'priority' | 'maxWaitMs'> & {
    readonly client: { readonly requestTimeoutMs: number };
  },
  budget: Budget,
): RateLimitContext => {
  const { client, key, clock, priority, maxWaitMs } = source;
  return { budget, clock, key, org, priority, maxWaitMs, requestTimeoutMs: client.requestTimeoutMs };
};

export interface RateLimitedCall<Value> {
  /** Identifies the waiter. It stays the same when the run is resumed. */
  readonly id: string;
  /** Sends one request. */
  readonly attempt: () => Promise<Value>;
  /** Stores the response while the token is being completed. */
  readonly save?: (value: Value) => Promise<unknown>;
  /** Called whenever the expected time of the grant changes. */
  readonly onWait: (result: Extract<AcquireResult, { granted: false }>) => void;
  /** Called when a reported wait is over: it got a token, or another run's response. */
  readonly onGrant?: () => void;
  /** The run's signal: aborting rejects with its reason. */
  readonly signal: AbortSignal;
  /** Ends the wait without a token and leaves the queue. A request in flight is finished. */
  readonly stop?: AbortSignal;
}

export interface RateLimitedResult<Value> {
  readonly value: Value;
  /** Tokens left after this call took its own; null if another run's call answered it. */
  readonly tokens: number | null;
}

/** Lets concurrent runs that need the same response make one request for it. */
export interface RequestCoalescer<Value> {
  lookup(): Promise<CoalescedLookup<Value>>;
  /**
   * Looks up the response. A `miss` claims the request for this run, and others wait for its response, for `ttlMs` at
   * most.
   */
  claim(ttlMs: number): Promise<CoalescedLookup<Value>>;
  /** Stores the response to the claimed request. */
  put(value: Value): Promise<void>;
  /** Gives up the claim without a response. */
  release(): Promise<void>;
}

export type CoalescedLookup<Value> =
  | { readonly kind: 'hit'; readonly value: Value }
  /** Another run's request is in flight, for `forMs` at most. */
  | { readonly kind: 'in_flight'; readonly forMs: number }
  | { readonly kind: 'miss' };

/** The most attempts of one retryable call in one run. */
const MAX_ATTEMPTS = 3;
/** Full jitter between attempts: a random wait from 0 up to this, doubled each time. */
const INITIAL_BACKOFF_MS = 1_000;
/** Time limit from acquire to dispatch. A process that was frozen for longer releases its token unused. */
const DISPATCH_TIMEOUT_MS = 5_000;
/** Pause between lookups while another run's request is in flight, doubled each time. */
const COALESCE_POLL_MS = { initial: 25, max: 1_000 } as const;
/** How long a run snoozes after it has waited for another run's request for longer than `maxWaitMs`. */
const COALESCE_SNOOZE_MS = 5_000;

/**
 * Makes one call under the rate limit: acquire → request → complete, repeated if a retry can help. Each attempt costs a
 * token. A 429 penalizes the key for all workers and does not count as an attempt. No call is made without a token.
 *
 * @param coalescer shares the response with other runs: the first run with a token requests it, and the others wait for
 * it without one. Absent: the request is not shared.
 */
export async function rateLimitedCall<Value>(
  context: RateLimitContext,
  call: RateLimitedCall<Value>,
  coalescer?: RequestCoalescer<Value>,
): Promise<Outcome<RateLimitedResult<Value>>> {
  const { budget, clock, key } = context;
  for (let attempt = 1; ; ) {
    const acquired = await acquireToken(context, call, coalescer);
    if (acquired.kind !== 'done') return acquired;
    if ('value' in acquired.value) return done({ value: acquired.value.value, tokens: null });
    const { token, tokens } = acquired.value;
    let value: Value;
    try {
      value = await call.attempt();
    } catch (thrown) {
      // The claim is released last. A caller that waits for it acquires next, and must find the token settled and the
      // key blocked.
      const error = await settleToken(context, token, call.signal, thrown).finally(() => releaseClaim(coalescer));
      if (error.code === 'api.throttled') continue;
      if (!error.retryable || attempt === MAX_ATTEMPTS) return fail(error);
      await clock.sleep((context.random ?? Math.random)() * INITIAL_BACKOFF_MS * 2 ** (attempt - 1), call.signal);
      attempt += 1;
      continue;
    }
    // Sends all in one round trip, so that a caller that waits for the response finds the token completed.
    await Promise.all([
      ignoringRedisOutage(() => budget.complete(key, token)),
      ignoringRedisOutage(async () => coalescer?.put(value)),
      call.save?.(value),
    ]);
    return done({ value, tokens });
  }
}

/** Thrown by an attempt that decides not to make its request: the token is returned, and the error rethrown. */
export class RequestNotMade extends Error {}

/** Settles token and key after a failed call. Rethrows the error if it is an abort or a defect. */
async function settleToken(
  context: RateLimitContext,
  token: string,
  signal: AbortSignal,
  thrown: unknown,
): Promise<DocketError> {
  const { budget, clock, key, org } = context;
  if (thrown instanceof RequestNotMade) {
    await ignoringRedisOutage(() => releaseToken(context, token));
    throw thrown;
  }
  // Aborted or unforeseen: the request may have been sent, so the token stays held for its full time.
  if (signal.aborted || !(thrown instanceof DocketError)) throw thrown;
  if (requestNotSent(thrown)) await ignoringRedisOutage(() => releaseToken(context, token));
  // Timed out or disconnected: the service may still count it. The budget returns the token when it no longer can.
  else if (thrown.code !== 'api.timeout' && thrown.code !== 'api.unreachable') {
    await ignoringRedisOutage(() => budget.complete(key, token));
  }
  if (thrown.code === 'api.throttled') {
    await budget.penalize(key, clock.now() + throttleDelayMs(thrown, budget.limits.windowMs), org);
  }
  return thrown;
}

/** The token returns unused and is free at once, so a waiter of this process takes it. */
const releaseToken = (context: RateLimitContext, token: string): Promise<void> =>
  context.budget.release(context.key, token).then(() => wakeNext(context));

/** Ends the wait without a token. If this waiter was woken for a free token, the next waiter takes that. */
const leaveQueue = (context: RateLimitContext, id: string): Promise<void> =>
  context.budget.cancel(context.key, id).then(() => wakeNext(context));

const wakeNext = (context: RateLimitContext): void =>
  context.budget.waiters.wakeNext(context.key, wakesByItself(context));

/** Epoch ms; a waiter that wakes by then need not be woken. */
const wakesByItself = ({ budget, clock }: RateLimitContext): number =>
  clock.now() + waiterTimeouts(budget.limits).overtakenAfterMs;

/**
 * Runs an operation and ignores that Redis is unreachable: a response must not be lost, and the token returns by
 * itself, later.
 */
async function ignoringRedisOutage(operation: () => Promise<void>): Promise<void> {
  try {
    await operation();
  } catch (error) {
    if (!isRedisOutage(toDocketError(error))) throw error;
  }
}

const releaseClaim = (coalescer: { release(): Promise<void> } | undefined): Promise<void> =>
  ignoringRedisOutage(async () => coalescer?.release());

/**
 * How long a 429 blocks the key: one window without `Retry-After`, and at least a sixtieth of one, so that
 * `Retry-After: 0` does not loop.
 */
const throttleDelayMs = (error: DocketError, windowMs: number): number =>
  Math.max(error.retryAfterMs ?? windowMs, windowMs / 60);

type Acquired<Value> = { readonly token: string; readonly tokens: number } | { readonly value: Value };

async function acquireToken<Value>(
  context: RateLimitContext,
  { id, onWait, onGrant, signal, stop }: RateLimitedCall<Value>,
  coalescer: RequestCoalescer<Value> | undefined,
): Promise<Outcome<Acquired<Value>>> {
  const { budget, clock, key, org, turn, priority, requestTimeoutMs } = context;
  const wakeUp = stop === undefined ? signal : AbortSignal.any([signal, stop]);
  const sleep = async (ms: number): Promise<void> => {
    try {
      await clock.sleep(ms, wakeUp);
    } catch (error) {
      if (!wakeUp.aborted) throw error;
    }
  };
  let reportedAt = Number.NEGATIVE_INFINITY;
  const reportGrant = () => {
    if (reportedAt !== Number.NEGATIVE_INFINITY) onGrant?.();
  };
  const coalesceWait = createCoalesceWait(context);
  // Most keys have a free token, so claiming before acquiring saves a lookup.
  let claimFirst = coalescer !== undefined;
  const holdMs = requestTimeoutMs + DISPATCH_TIMEOUT_MS;
  for (;;) {
    signal.throwIfAborted();
    if (stop?.aborted) {
      await ignoringRedisOutage(() => leaveQueue(context, id));
      return cancel('cancelled by another call of the run');
    }
    const elapsed = stopwatch(clock);
    const found = await (claimFirst ? coalescer?.claim(holdMs) : coalescer?.lookup());
    const claimedFirst = claimFirst && found?.kind === 'miss';
    claimFirst = false;
    if (found?.kind === 'hit') {
      await ignoringRedisOutage(() => leaveQueue(context, id));
      reportGrant();
      return done({ value: found.value });
    }
    if (found?.kind === 'in_flight') {
      const ms = coalesceWait.next(found.forMs);
      if (ms === undefined) {
        const until = clock.now() + Math.min(found.forMs, COALESCE_SNOOZE_MS);
        return snooze(until, "waiting for another run's identical request");
      }
      await sleep(ms);
      continue;
    }
    coalesceWait.reset();
    const result = await budget.acquire({ key, id, org, turn, priority, holdMs }).catch(async (error: unknown) => {
      if (claimedFirst) await releaseClaim(coalescer);
      throw error;
    });
    if (result.granted) {
      const { token, tokens, next } = result;
      budget.waiters.wake(key, next, tokens, wakesByItself(context));
      const claimed = claimedFirst || (await claimRequest(context, token, coalescer));
      if (claimed && elapsed() <= DISPATCH_TIMEOUT_MS) {
        reportGrant();
        return done({ token, tokens });
      }
      await releaseToken(context, token);
      if (claimed) await coalescer?.release();
      continue;
    }
    // A claim without a token would block a run that has one.
    if (claimedFirst) await releaseClaim(coalescer);
    if (Math.abs(result.at - reportedAt) >= budget.limits.windowMs / 60) {
      reportedAt = result.at;
      onWait(result);
    }
    const wait = result.at - clock.now();
    if (wait > context.maxWaitMs) return snooze(result.at, `waiting for the API budget, ${result.ahead} calls ahead`);
    await budget.waiters.sleep(key, id, result.at, { clock, windowMs: budget.limits.windowMs, signal: wakeUp });
  }
}

/**
 * Backoff while another run's request is in flight. `next` returns undefined once the wait would exceed `maxWaitMs`.
 */
function createCoalesceWait(context: RateLimitContext): { next(forMs: number): number | undefined; reset(): void } {
  const { clock } = context;
  let current: { readonly since: number; readonly polls: number } | undefined;
  return {
    next: (forMs) => {
      const { since, polls } = current ?? { since: clock.monotonic(), polls: 0 };
      const ms = Math.max(1, Math.min(forMs, COALESCE_POLL_MS.initial * 2 ** polls, COALESCE_POLL_MS.max));
      current = { since, polls: polls + 1 };
      return clock.monotonic() - since + ms > context.maxWaitMs ? undefined : ms;
    },
    reset: () => {
      current = undefined;
    },
  };
}

/**
 * Measures an upper bound of the ms since now: a suspend shows only on the wall clock, a wall clock set back only on
 * the monotonic one.
 */
function stopwatch(clock: SteadyClock): () => number {
  const [wall, monotonic] = [clock.now(), clock.monotonic()];
  return () => Math.max(clock.now() - wall, clock.monotonic() - monotonic);
}

/** Whether this run may make the request with its token. Another run may have claimed it a moment before. */
async function claimRequest<Value>(
  context: RateLimitContext,
  token: string,
  coalescer: RequestCoalescer<Value> | undefined,
): Promise<boolean> {
  if (coalescer === undefined) return true;
  try {
    const found = await coalescer.claim(context.requestTimeoutMs + DISPATCH_TIMEOUT_MS);
    return found.kind === 'miss';
  } catch (error) {
    await ignoringRedisOutage(() => releaseToken(context, token));
    throw error;
  }
}
