import { expect, test } from 'vitest';
import type { AcquireRequest } from '../../../src/fetch/rate-limit/budget.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import { manualClock } from '../../support/manual-clock.ts';

const START = 1_800_000_000_000;
const KEY = 'k';
const LIMITS = { calls: 30, windowMs: 60_000 };
const LATENCY = 100;

interface Caller extends Partial<AcquireRequest> {
  readonly id: string;
  /** When it first acquires, in ms after the start. */
  readonly from?: number;
  /** It acquires once and never comes back. */
  readonly dies?: boolean;
}

/** Each caller acquires again exactly at the reported time, and each call takes the same time. Returns when each was dispatched. */
async function simulate(callers: readonly Caller[]): Promise<Map<string, number>> {
  const clock = manualClock(START);
  const budget = memoryBudget({ ...LIMITS, clock });
  const dispatched = new Map<string, number>();
  type Event = { at: number; order: number; act: () => Promise<void> };
  const events: Event[] = [];
  let order = 0;
  const plan = (at: number, act: Event['act']) => {
    events.push({ at, order, act });
    order += 1;
  };
  const asks = (caller: Caller) => async (): Promise<void> => {
    const { id, from: _from, dies, ...more } = caller;
    const answer = await budget.acquire({ key: KEY, id, org: 'acme', priority: 'scheduled', holdMs: 5_000, ...more });
    if (dies) return;
    if (!answer.granted) return plan(answer.at, asks(caller));
    dispatched.set(id, clock.now() - START);
    plan(clock.now() + LATENCY, () => budget.complete(KEY, answer.token));
  };
  for (const caller of callers) plan(START + (caller.from ?? 0), asks(caller));
  while (events.length > 0) {
    events.sort((a, b) => b.at - a.at || b.order - a.order);
    const event = events.pop()!;
    clock.set(Math.max(clock.now(), event.at));
    await event.act();
  }
  return dispatched;
}

const many = (count: number, name: string, more: Omit<Caller, 'id'> = {}): Caller[] =>
  Array.from({ length: count }, (_, index) => ({ id: `${name}-${index}`, ...more }));
const last = (dispatched: Map<string, number>, name: string) =>
  Math.max(...[...dispatched].filter(([id]) => id.startsWith(name)).map(([, at]) => at));

test('150 waiting calls lose only the latency of one call per window', async () => {
  const dispatched = await simulate(many(150, 'call'));
  expect(dispatched.size).toBe(150);
  // (150 / 30 − 1) windows, each with the latency of one response and a millisecond of rounding.
  expect(last(dispatched, 'call')).toBe(4 * (LIMITS.windowMs + LATENCY + 1));
});

test('with 2,000 scheduled calls waiting, an on-demand call gets the next token', async () => {
  const dispatched = await simulate([
    ...many(2_000, 'scheduled'),
    { id: 'on-demand', priority: 'on_demand', org: 'other', from: 30_000 },
  ]);
  expect(dispatched.get('on-demand')).toBe(LIMITS.windowMs + LATENCY + 1);
});

test('twenty small organizations that share a key with a large one finish within two windows', async () => {
  const dispatched = await simulate([
    ...many(1_000, 'large', { org: 'large' }),
    ...Array.from({ length: 20 }, (_, index) =>
      many(2, `small-${index}`, { org: `small-${index}`, from: 1_000 }),
    ).flat(),
  ]);
  expect(last(dispatched, 'small')).toBeLessThan(1_000 + 2 * (LIMITS.windowMs + LATENCY + 1));
});

test('dead waiters delay the queue only briefly, and hold no tokens', async () => {
  const dispatched = await simulate([
    ...many(30, 'first'),
    ...many(30, 'dead', { dies: true, from: 500 }),
    ...many(60, 'call', { from: 1_000 }),
  ]);
  expect(dispatched.size).toBe(90);
  // Two windows without dead waiters. With them, tokens are passed on up to window/60 late, and reported times may be one window too late.
  expect(last(dispatched, 'call')).toBeLessThan(3 * (LIMITS.windowMs + LATENCY + 1) + LIMITS.windowMs / 30);
});
