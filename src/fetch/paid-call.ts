import type { Clock } from '../base/clock.ts';
import { DocketError, toDocketError } from '../base/error.ts';
import { cancel, done, fail, type Outcome, snooze } from '../base/outcome.ts';
import { neverLeft } from './body.ts';
import type { Answer, Budget, Priority } from './budget.ts';

/** Where a run stands in line: its key's budget, and how long it waits there in place. */
export interface Line {
  readonly budget: Budget;
  readonly clock: Clock;
  /** Fingerprint of the API key. */
  readonly key: string;
  /** Organizations that share the key take turns. */
  readonly org: string;
  readonly priority: Priority;
  /** A longer wait than this (ms) snoozes the run, which keeps its place. */
  readonly patienceMs: number;
  /** A request is given up this long (ms) after dispatch. */
  readonly deadlineMs: number;
  /** 0 to 1, for the jitter. */
  readonly random?: () => number;
}

export interface PaidCall<Value> {
  /** Names the place in the line. The same for a run that was resumed. */
  readonly id: string;
  /** One request. */
  readonly attempt: () => Promise<Value>;
  /** Told whenever the expected time changes. */
  readonly waiting: (answer: Extract<Answer, { granted: false }>) => void;
  /** The run's: aborting rejects with its reason. */
  readonly signal: AbortSignal;
  /** Ends waiting without a token, and leaves the line; a request that is under way is finished. */
  readonly stop?: AbortSignal;
}

export interface Paid<Value> {
  readonly value: Value;
  /** Tokens left when this call took its own. */
  readonly tokens: number;
}

/** Tries of one call in one run, when trying again can help. */
const TRIES = 3;
/** Full jitter between them: anything from nothing to this, doubled each time. */
const FIRST_PAUSE_MS = 1_000;
/** From asking for a token to dispatch. A process that was frozen for longer gives the token back unused. */
const DISPATCH_MS = 5_000;

/**
 * One call, paid for: token → request → token back, and again where another try can help. Each try costs a token.
 * A 429 blocks the key for all workers and is no try. Nothing is called without a token.
 */
export async function paidCall<Value>(line: Line, call: PaidCall<Value>): Promise<Outcome<Paid<Value>>> {
  const { budget, clock, key, org } = line;
  for (let tries = 1; ; ) {
    const taken = await takeToken(line, call);
    if (taken.kind !== 'done') return taken;
    const { token, tokens } = taken.value;
    try {
      const value = await call.attempt();
      await giveBack(() => budget.replied(key, token));
      return done({ value, tokens });
    } catch (thrown) {
      // Aborted or unforeseen: nobody knows whether the request left, so the token stays out for its whole time.
      if (call.signal.aborted || !(thrown instanceof DocketError)) throw thrown;
      await settle(line, token, thrown);
      if (thrown.code === 'api.throttled') {
        await budget.block(key, clock.now() + pauseOf429(thrown, budget.limits.windowMs), org);
        continue;
      }
      if (!thrown.retryable || tries === TRIES) return fail(thrown);
      await clock.sleep((line.random ?? Math.random)() * FIRST_PAUSE_MS * 2 ** (tries - 1), call.signal);
      tries += 1;
    }
  }
}

async function settle({ budget, key }: Line, token: string, error: DocketError): Promise<void> {
  if (neverLeft(error)) await giveBack(() => budget.unsent(key, token));
  // Timed out or broken off: the service may count it yet. The budget returns the token when that can no longer be.
  else if (error.code !== 'api.timeout' && error.code !== 'api.unreachable') {
    await giveBack(() => budget.replied(key, token));
  }
}

/** The answer is here and must not be lost because Redis is away just now: the token then returns by itself, later. */
async function giveBack(tell: () => Promise<void>): Promise<void> {
  try {
    await tell();
  } catch (error) {
    if (toDocketError(error).code !== 'redis.unreachable') throw error;
  }
}

/** Missing: one window, after which any limiter has forgotten us. Zero: a moment, lest the line run against a wall. */
const pauseOf429 = (error: DocketError, windowMs: number): number =>
  Math.max(error.retryAfterMs ?? windowMs, windowMs / 60);

async function takeToken<Value>(
  { budget, clock, key, org, priority, patienceMs, deadlineMs }: Line,
  { id, waiting, signal, stop }: PaidCall<Value>,
): Promise<Outcome<{ readonly token: string; readonly tokens: number }>> {
  const awake = stop === undefined ? signal : AbortSignal.any([signal, stop]);
  let told = Number.NEGATIVE_INFINITY;
  for (;;) {
    signal.throwIfAborted();
    if (stop?.aborted) {
      await giveBack(() => budget.leave(key, id));
      return cancel('another call of the run has ended it');
    }
    const asked = clock.now();
    const answer = await budget.ask({ key, id, org, priority, holdMs: deadlineMs + DISPATCH_MS });
    if (answer.granted) {
      if (clock.now() - asked <= DISPATCH_MS) return done({ token: answer.token, tokens: answer.tokens });
      await budget.unsent(key, answer.token);
      continue;
    }
    if (Math.abs(answer.at - told) >= budget.limits.windowMs / 60) {
      told = answer.at;
      waiting(answer);
    }
    const wait = answer.at - clock.now();
    if (wait > patienceMs) return snooze(answer.at, `waiting for the API budget, ${answer.ahead} calls ahead`);
    try {
      // Asking again half-way costs few commands, and finds the tokens that others gave back early.
      await clock.sleep(Math.max(1, Math.min(wait, Math.max(wait / 2, budget.limits.windowMs / 30))), awake);
    } catch (error) {
      if (!awake.aborted) throw error;
    }
  }
}
