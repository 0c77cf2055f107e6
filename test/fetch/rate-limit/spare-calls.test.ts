import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type CallClass,
  isSpareClass,
  MAX_SPARE_TOKENS,
  PRIORITIES,
  preparationTokens,
} from '../../../src/fetch/rate-limit/budget.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import { createLimiter, LIMITER_ALGORITHMS } from '../../../src/sandbox/limiter.ts';
import { cases, least } from '../../support/fuzz.ts';
import { manualClock } from '../../support/manual-clock.ts';

const KEY = 'k';
const WINDOW_MS = 1_000;
const CALLS = 12;

/** A caller that acquires again at the reported time until it has a token. A spare call gives up at some point. */
interface Caller {
  readonly id: string;
  readonly priority: CallClass;
  at: number;
  /** From grant to dispatch, and from dispatch to response, in ms. */
  readonly delays: readonly [number, number];
}

const callers = fc.array(
  fc.record({
    priority: fc.constantFrom<CallClass>(...PRIORITIES, 'correction', 'correction', 'correction', 'preparation'),
    at: fc.nat(6_000),
    delays: fc.tuple(fc.nat(30), fc.nat(300)),
  }),
  { minLength: 20, maxLength: 90 },
);

/** Simulates the callers against a server that counts by one of the three algorithms. */
async function play(kind: (typeof LIMITER_ALGORITHMS)[number], given: readonly Omit<Caller, 'id'>[]) {
  const start = 1_800_000_000_000;
  const clock = manualClock(start);
  const budget = memoryBudget({ calls: CALLS, windowMs: WINDOW_MS, clock });
  const limiter = createLimiter(kind, CALLS, WINDOW_MS);
  const events: { readonly at: number; readonly run: () => Promise<void> }[] = [];
  const plan = (at: number, run: () => Promise<void>) => void events.push({ at, run });
  const waiting = new Map<string, CallClass>();
  const refused: string[] = [];
  const spare: number[] = [];
  /** When preparations got their tokens. */
  const prepared: number[] = [];
  const ask = async (caller: Caller): Promise<void> => {
    const { id, priority, delays } = caller;
    const result = await budget.acquire({ key: KEY, id, org: 'acme', priority, holdMs: 500 });
    if (!result.granted) {
      if (!isSpareClass(priority)) {
        waiting.set(id, priority);
        plan(result.at, () => ask(caller));
      } else if (clock.now() < start + 9_000) plan(Math.max(result.at, clock.now() + 50), () => ask(caller));
      return;
    }
    waiting.delete(id);
    // A correction gets a token only if nobody waits.
    if (priority === 'correction') expect([...waiting]).toEqual([]);
    if (priority === 'preparation') {
      expect([...waiting.values()].filter((other) => other !== 'backfill')).toEqual([]);
      prepared.push(clock.now());
    }
    const dispatchAt = clock.now() + delays[0];
    plan(dispatchAt, async () => {
      if (priority === 'correction') spare.push(dispatchAt);
      if (limiter.acquire(KEY, dispatchAt) > 0) refused.push(id);
      plan(dispatchAt + delays[1], () => budget.complete(KEY, result.token));
    });
  };
  for (const [index, one] of given.entries()) {
    const caller = { ...one, id: `${one.priority}-${index}` };
    plan(start + one.at, () => ask(caller));
  }
  while (events.length > 0) {
    events.sort((one, other) => one.at - other.at);
    const next = events.shift();
    if (next === undefined) break;
    clock.set(Math.max(clock.now(), next.at));
    await next.run();
  }
  return { refused, spare, prepared, waiting };
}

test.each(LIMITER_ALGORITHMS)(
  'with a %s window at the server, no call is refused, spare calls overtake nobody, and all other calls end',
  async (kind) => {
    let made = 0;
    let early = 0;
    await fc.assert(
      fc.asyncProperty(callers, async (given) => {
        const { refused, spare, prepared, waiting } = await play(kind, given);
        expect(refused).toEqual([]);
        expect(waiting.size).toBe(0);
        made += spare.length;
        early += prepared.length;
        for (const [index, at] of prepared.entries()) {
          const inWindow = prepared.slice(index).filter((other) => other < at + WINDOW_MS).length;
          expect(inWindow).toBeLessThanOrEqual(preparationTokens(CALLS));
        }
        for (const [index, at] of spare.entries()) {
          const inWindow = spare.slice(index).filter((other) => other < at + WINDOW_MS).length;
          expect(inWindow).toBeLessThanOrEqual(Math.min(MAX_SPARE_TOKENS, Math.floor(CALLS / 10)));
        }
      }),
      cases(60),
    );
    // Corrections and preparations do get tokens.
    expect(early).toBeGreaterThan(least(60));
    expect(made).toBeGreaterThan(least(60));
  },
);

test.each(LIMITER_ALGORITHMS)(
  'with a %s window at the server, an on-demand call gets a token at once while preparations take all they can',
  async (kind) => {
    const calls = 30;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(20_000), { minLength: 1, maxLength: 8 }),
        fc.nat(400),
        async (requested, answerMs) => {
          const clock = manualClock(1_800_000_000_000);
          const budget = memoryBudget({ calls, windowMs: WINDOW_MS, clock });
          const limiter = createLimiter(kind, calls, WINDOW_MS);
          const replies: { readonly at: number; readonly token: string }[] = [];
          const take = async (id: string, priority: CallClass): Promise<boolean> => {
            const result = await budget.acquire({ key: KEY, id, org: 'acme', priority, holdMs: 500 });
            if (!result.granted) return false;
            expect(limiter.acquire(KEY, clock.now())).toBe(0);
            replies.push({ at: clock.now() + answerMs, token: result.token });
            return true;
          };
          // At most eight calls in a window, so that ten tokens suffice.
          const times = [...new Set(requested)].sort((a, b) => a - b);
          for (let ms = 0; ms <= 20_000; ms += 50) {
            for (const { token } of replies.filter(({ at }) => at <= clock.now())) await budget.complete(KEY, token);
            while (await take(`p${ms}`, 'preparation')) {}
            for (const at of times.filter((time) => time >= ms && time < ms + 50)) {
              expect(await take(`now-${at}`, 'on_demand')).toBe(true);
            }
            clock.advance(50);
          }
        },
      ),
      cases(15),
    );
  },
);
