import { getEventListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { DocketError } from '../../../src/base/error.ts';
import type { Budget } from '../../../src/fetch/rate-limit/budget.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import {
  type RateLimitContext,
  type RateLimitedCall,
  RequestNotMade,
  rateLimitedCall,
} from '../../../src/fetch/rate-limit/rate-limited-call.ts';
import { doneOf } from '../../support/fetch-harness.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';

const START = 1_800_000_000_000;
const KEY = 'k';

function start(change: (budget: Budget, clock: ReturnType<typeof manualClock>) => Partial<Budget> = () => ({})) {
  const clock = manualClock(START);
  const real = memoryBudget({ calls: 3, windowMs: 60_000, clock });
  const budget = { ...real, ...change(real, clock) };
  const line: RateLimitContext = {
    budget,
    clock,
    key: KEY,
    org: 'acme',
    priority: 'scheduled',
    maxWaitMs: Number.POSITIVE_INFINITY,
    requestTimeoutMs: 60_000,
    random: () => 0.5,
  };
  const call = <Value>(attempt: () => Promise<Value>, more: Partial<RateLimitedCall<Value>> = {}) =>
    rateLimitedCall(line, { id: 'a', attempt, onWait: () => {}, signal: new AbortController().signal, ...more });
  return { clock, budget: real, line, call };
}

/** Throws these errors one after the other, then succeeds. */
function failing(...errors: DocketError[]) {
  let tries = 0;
  return {
    tries: () => tries,
    attempt: async () => {
      const error = errors[tries];
      tries += 1;
      if (error !== undefined) throw error;
      return 'answer';
    },
  };
}
const throttled = (retryAfterMs?: number) =>
  new DocketError('api.throttled', 'Too many.', retryAfterMs === undefined ? {} : { retryAfterMs });

test.each<[string, (clock: ManualClock) => void]>([
  ['frozen', (clock) => clock.advance(5_001)],
  ['suspended with its machine', (clock) => clock.step(5_001)],
  [
    'frozen while its wall clock was set back',
    (clock) => {
      clock.advance(5_001);
      clock.step(-3_600_000);
    },
  ],
])('a process that was %s between token and dispatch returns the token and acquires another', async (_, freeze) => {
  let asks = 0;
  const { budget, call } = start((real, clock) => ({
    acquire: async (ask) => {
      const answer = await real.acquire(ask);
      asks += 1;
      if (asks === 1) freeze(clock);
      return answer;
    },
  }));
  expect(doneOf(await call(async () => 'answer'))).toEqual({ value: 'answer', tokens: 2 });
  expect(asks).toBe(2);
  expect((await budget.inspect(KEY)).tokens).toBe(2);
});

test('a response is not lost if the token cannot be completed', async () => {
  const { call } = start(() => ({
    complete: () => Promise.reject(new DocketError('redis.unreachable', 'Redis is away.')),
  }));
  expect(doneOf(await call(async () => 'answer')).value).toBe('answer');
});

test('an unexpected exception is rethrown, and its token stays held', async () => {
  const { budget, call } = start();
  await expect(
    call(async () => {
      throw new TypeError('undefined is not a function');
    }),
  ).rejects.toThrow(TypeError);
  expect((await budget.inspect(KEY)).inFlight).toBe(1);
});

describe('pauses between attempts', () => {
  test('are random and become longer each time', async () => {
    const { clock, call } = start();
    const pauses: number[] = [];
    const sleep = clock.sleep;
    clock.sleep = (ms, signal) => {
      pauses.push(ms);
      const slept = sleep(ms, signal);
      clock.advance(ms);
      return slept;
    };
    const error = new DocketError('api.unavailable', 'Down.');
    const work = failing(error, error);
    doneOf(await call(work.attempt));
    expect(pauses).toEqual([500, 1_000]);
    expect(work.tries()).toBe(3);
  });
});

describe('a 429', () => {
  test.each([
    ['that says how long blocks for that time', throttled(17_000), 17_000],
    ['that does not say how long blocks for one window', throttled(), 60_000],
    ['that says 0 blocks for a second', throttled(0), 1_000],
  ])('%s', async (_name, error, blockedMs) => {
    const { clock, budget, call } = start();
    const work = failing(error);
    const outcome = call(work.attempt);
    await clock.slept();
    expect((await budget.inspect(KEY)).blockedUntil).toBe(START + blockedMs);
    clock.advance(blockedMs);
    // A waiting caller also acquires before its time.
    while (work.tries() < 2) {
      clock.advance(1);
      await Promise.resolve();
    }
    expect(doneOf(await outcome).value).toBe('answer');
  });
});

test('a finished call has no listeners on its signals', async () => {
  const { line } = start();
  const budget = memoryBudget({ calls: 1, windowMs: 20, clock: systemClock });
  const real: RateLimitContext = { ...line, budget, clock: systemClock };
  const run = new AbortController();
  const stop = new AbortController();
  const calls = Array.from({ length: 8 }, (_, index) =>
    rateLimitedCall(real, {
      id: `c${index}`,
      attempt: async () => index,
      onWait: () => {},
      signal: run.signal,
      ...(index % 2 === 0 ? { stop: stop.signal } : {}),
    }),
  );
  expect((await Promise.all(calls)).map((outcome) => doneOf(outcome).value)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect([run, stop].flatMap(({ signal }) => getEventListeners(signal, 'abort'))).toEqual([]);
});

test('a waiter that is stopped leaves the queue', async () => {
  const { clock, budget, call } = start();
  for (const id of ['x', 'y', 'z']) {
    await budget.acquire({ key: KEY, id, org: 'acme', priority: 'scheduled', holdMs: 1_000 });
  }
  const stop = new AbortController();
  const outcome = call(async () => 'answer', { stop: stop.signal });
  await clock.slept();
  expect((await budget.inspect(KEY)).waiting).toBe(1);
  stop.abort();
  expect((await outcome).kind).toBe('cancel');
  expect((await budget.inspect(KEY)).waiting).toBe(0);
});

describe('an unused token goes to the next waiter of the process at once', () => {
  /** Two tokens are held for long, the third by a call that `fail` ends before it is sent. `a` and `b` wait. */
  const contended = async () => {
    const { clock, budget, call } = start();
    for (const id of ['x', 'y']) {
      await budget.acquire({ key: KEY, id, org: 'acme', priority: 'scheduled', holdMs: 60_000 });
    }
    let fail = () => {};
    const unsent = call(() => new Promise<string>((_, reject) => (fail = () => reject(new RequestNotMade()))), {
      id: 'z',
    });
    while ((await budget.inspect(KEY)).tokens > 0) await setImmediate();
    const stop = new AbortController();
    const a = call(async () => 'a', { id: 'a', stop: stop.signal });
    await clock.slept();
    const b = call(async () => 'b', { id: 'b' });
    while ((await budget.inspect(KEY)).waiting < 2) await setImmediate();
    return { unsent, fail, stop, a, b };
  };

  test('after a request that was not sent', async () => {
    const { unsent, fail, a } = await contended();
    fail();
    await expect(unsent).rejects.toThrow(RequestNotMade);
    expect(doneOf(await a).value).toBe('a');
  });

  test('even if the first waiter is stopped at the same moment', async () => {
    const { unsent, fail, stop, a, b } = await contended();
    fail();
    stop.abort();
    await expect(unsent).rejects.toThrow(RequestNotMade);
    expect((await a).kind).toBe('cancel');
    expect(doneOf(await b).value).toBe('b');
  });
});
