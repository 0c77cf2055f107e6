import type { SteadyClock } from '../base/clock.ts';
import { DocketError, isRedisOutage, toDocketError } from '../base/error.ts';
import { cancel, done, fail, type Outcome, snooze } from '../base/outcome.ts';
import { neverLeft } from './body.ts';
import type { Answer, Budget, Priority } from './budget.ts';
import type { Elsewhere, Sharing } from './sharing.ts';

/** Where a run stands in line: its key's budget, and how long it waits there in place. */
export interface Line {
  readonly budget: Budget;
  readonly clock: SteadyClock;
  /** Fingerprint of the API key. */
  readonly key: string;
  /** Organizations that share the key take turns. */
  readonly org: string;
  readonly priority: Priority;
  /** A longer wait than this (ms) snoozes the run, which keeps its place. Read at each wait: it may change meanwhile. */
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
  /** Keeps what was paid for, while the token is given back. */
  readonly keep?: (value: Value) => Promise<unknown>;
  /** Told whenever the expected time changes. */
  readonly waiting: (answer: Extract<Answer, { granted: false }>) => void;
  /** Told when the waiting is over: there is a token, or another run's answer. */
  readonly granted?: () => void;
  /** The run's: aborting rejects with its reason. */
  readonly signal: AbortSignal;
  /** Ends waiting without a token, and leaves the line; a request that is under way is finished. */
  readonly stop?: AbortSignal;
}

export interface Paid<Value> {
  readonly value: Value;
  /** Tokens left when this call took its own; null where another run's call has answered it. */
  readonly tokens: number | null;
}

/** Tries of one call in one run, when trying again can help. */
const TRIES = 3;
/** Full jitter between them: anything from nothing to this, doubled each time. */
const FIRST_PAUSE_MS = 1_000;
/** From asking for a token to dispatch. A process that was frozen for longer gives the token back unused. */
const DISPATCH_MS = 5_000;
/** Between looks for the answer to another run's call: doubled each time. No run needs it sooner than a call takes. */
const LOOK_MS = { first: 25, most: 1_000 } as const;
/** How long a run sleeps that has waited for another's call for longer than its patience. */
const SLEEP_MS = 5_000;

/**
 * One call, paid for: token → request → token back, and again where another try can help. Each try costs a token.
 * A 429 blocks the key for all workers and is no try. Nothing is called without a token.
 *
 * @param sharing other runs may want the same call: whoever has a token first makes it for all, and the others wait for
 * its answer without one. Absent: the call is this run's alone.
 */
export async function paidCall<Value>(
  line: Line,
  call: PaidCall<Value>,
  sharing?: Sharing<Value>,
): Promise<Outcome<Paid<Value>>> {
  const { budget, clock, key } = line;
  const released = () => giveBack(async () => sharing?.release());
  for (let tries = 1; ; ) {
    const taken = await takeToken(line, call, sharing);
    if (taken.kind !== 'done') return taken;
    if ('value' in taken.value) return done({ value: taken.value.value, tokens: null });
    const { token, tokens } = taken.value;
    let value: Value;
    try {
      value = await call.attempt();
    } catch (thrown) {
      // Released last: whoever waits for this call asks next, and must find the token told and the key blocked.
      const error = await settled(line, token, call.signal, thrown).finally(released);
      if (error.code === 'api.throttled') continue;
      if (!error.retryable || tries === TRIES) return fail(error);
      await clock.sleep((line.random ?? Math.random)() * FIRST_PAUSE_MS * 2 ** (tries - 1), call.signal);
      tries += 1;
      continue;
    }
    // Side by side, in one round trip; whoever waits for the answer finds the token told.
    await Promise.all([
      giveBack(() => budget.replied(key, token)),
      giveBack(async () => sharing?.land(value)),
      call.keep?.(value),
    ]);
    return done({ value, tokens });
  }
}

/** What a call's failure means for its token and its key. Rejects with what cannot be told: an abort, a defect. */
async function settled(line: Line, token: string, signal: AbortSignal, thrown: unknown): Promise<DocketError> {
  const { budget, clock, key, org } = line;
  // Aborted or unforeseen: nobody knows whether the request left, so the token stays out for its whole time.
  if (signal.aborted || !(thrown instanceof DocketError)) throw thrown;
  if (neverLeft(thrown)) await giveBack(() => budget.unsent(key, token));
  // Timed out or broken off: the service may count it yet. The budget returns the token when that can no longer be.
  else if (thrown.code !== 'api.timeout' && thrown.code !== 'api.unreachable') {
    await giveBack(() => budget.replied(key, token));
  }
  if (thrown.code === 'api.throttled') {
    await budget.block(key, clock.now() + pauseOf429(thrown, budget.limits.windowMs), org);
  }
  return thrown;
}

/** The answer is here and must not be lost because Redis is away just now: the token then returns by itself, later. */
async function giveBack(tell: () => Promise<void>): Promise<void> {
  try {
    await tell();
  } catch (error) {
    if (!isRedisOutage(toDocketError(error))) throw error;
  }
}

/** Missing: one window, after which any limiter has forgotten us. Zero: a moment, lest the line run against a wall. */
const pauseOf429 = (error: DocketError, windowMs: number): number =>
  Math.max(error.retryAfterMs ?? windowMs, windowMs / 60);

type Taken<Value> = { readonly token: string; readonly tokens: number } | { readonly value: Value };

async function takeToken<Value>(
  line: Line,
  { id, waiting, granted, signal, stop }: PaidCall<Value>,
  sharing: Sharing<Value> | undefined,
): Promise<Outcome<Taken<Value>>> {
  const { budget, clock, key, org, priority, deadlineMs } = line;
  const awake = stop === undefined ? signal : AbortSignal.any([signal, stop]);
  const pause = async (ms: number): Promise<void> => {
    try {
      await clock.sleep(ms, awake);
    } catch (error) {
      if (!awake.aborted) throw error;
    }
  };
  let told = Number.NEGATIVE_INFINITY;
  const over = () => {
    if (told !== Number.NEGATIVE_INFINITY) granted?.();
  };
  let waits: { readonly since: number; readonly looks: number } | undefined;
  // Most keys have a token at hand: the call is claimed before it is asked for, which spares looking first.
  let early = sharing !== undefined;
  const holdMs = deadlineMs + DISPATCH_MS;
  for (;;) {
    signal.throwIfAborted();
    if (stop?.aborted) {
      await giveBack(() => budget.leave(key, id));
      return cancel('another call of the run has ended it');
    }
    const sinceAsked = stopwatch(clock);
    const elsewhere = await (early ? sharing?.claim(holdMs) : sharing?.look());
    const held = early && elsewhere?.kind === 'nobody';
    early = false;
    if (elsewhere?.kind === 'answered') {
      await giveBack(() => budget.leave(key, id));
      over();
      return done({ value: elsewhere.value });
    }
    if (elsewhere?.kind === 'asking') {
      const { forMs } = elsewhere;
      const { since, looks }: NonNullable<typeof waits> = waits ?? { since: clock.monotonic(), looks: 0 };
      const wait = Math.max(1, Math.min(forMs, LOOK_MS.first * 2 ** looks, LOOK_MS.most));
      if (clock.monotonic() - since + wait > line.patienceMs) {
        return snooze(clock.now() + Math.min(forMs, SLEEP_MS), 'another run is asking for the same figures');
      }
      waits = { since, looks: looks + 1 };
      await pause(wait);
      continue;
    }
    waits = undefined;
    const answer = await budget.ask({ key, id, org, priority, holdMs }).catch(async (error: unknown) => {
      if (held) await giveBack(async () => sharing?.release());
      throw error;
    });
    if (answer.granted) {
      const { token, tokens } = answer;
      const claimed = held || (await claim(line, token, sharing));
      if (claimed && sinceAsked() <= DISPATCH_MS) {
        over();
        return done({ token, tokens });
      }
      await budget.unsent(key, token);
      if (claimed) await sharing?.release();
      continue;
    }
    // Whoever has a token first makes the call for all: who has none must not keep it from them.
    if (held) await giveBack(async () => sharing?.release());
    if (Math.abs(answer.at - told) >= budget.limits.windowMs / 60) {
      told = answer.at;
      waiting(answer);
    }
    const wait = answer.at - clock.now();
    if (wait > line.patienceMs) return snooze(answer.at, `waiting for the API budget, ${answer.ahead} calls ahead`);
    // Asking again half-way costs few commands, and finds the tokens that others gave back early.
    await pause(Math.max(1, Math.min(wait, Math.max(wait / 2, budget.limits.windowMs / 30))));
  }
}

/**
 * Ms from now on, at most: a machine that was suspended shows it by its wall clock alone, one whose wall clock is set back by
 * its monotonic one.
 */
function stopwatch(clock: SteadyClock): () => number {
  const [wall, monotonic] = [clock.now(), clock.monotonic()];
  return () => Math.max(clock.now() - wall, clock.monotonic() - monotonic);
}

/** Whether the call is this run's to make with the token in hand: another may have been quicker by a moment. */
async function claim<Value>(
  { budget, key, deadlineMs }: Line,
  token: string,
  sharing: Sharing<Value> | undefined,
): Promise<boolean> {
  if (sharing === undefined) return true;
  try {
    const found: Elsewhere<Value> = await sharing.claim(deadlineMs + DISPATCH_MS);
    return found.kind === 'nobody';
  } catch (error) {
    await giveBack(() => budget.unsent(key, token));
    throw error;
  }
}
