import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import {
  type AcquireRequest,
  type AcquireResult,
  type Budget,
  type BudgetEvent,
  type BudgetLimits,
  STARVATION_LIMIT,
} from '../../../src/fetch/rate-limit/budget.ts';
import { type BudgetHarness, memoryBudgetHarness, redisBudgetHarness } from '../../support/budgets.ts';
import { cases } from '../../support/fuzz.ts';
import { manualClock } from '../../support/manual-clock.ts';

const START = Date.parse('2026-11-19T08:00:00Z');
const KEY = 'fingerprint';
const LIMITS: BudgetLimits = { calls: 3, windowMs: 60_000 };
const HOLD = 5_000;

describe.each([
  ['in memory', memoryBudgetHarness],
  ['in Redis', () => redisBudgetHarness(inject('redisUrl'))],
])('the budget %s', (_where, open) => {
  let harness: BudgetHarness;
  beforeAll(async () => {
    harness = await open();
  });
  afterAll(() => harness.close());

  const start = (limits: BudgetLimits = LIMITS) => {
    const clock = manualClock(START);
    const news: BudgetEvent[] = [];
    const budget = harness.budget(limits, clock, (reported) => void news.push(reported));
    const ask = (id: string, more: Partial<AcquireRequest> = {}) =>
      budget.acquire({ key: KEY, id, org: 'acme', priority: 'scheduled', holdMs: HOLD, ...more });
    return { clock, budget, ask, news };
  };
  const tokenOf = (answer: AcquireResult): string => {
    if (!answer.granted) throw new Error('expected a token');
    return answer.token;
  };
  const refusal = (answer: AcquireResult) => {
    if (answer.granted) throw new Error('expected a place in the line');
    return answer;
  };
  /** Takes all tokens and completes them at once, so that they return one window from now. */
  const drain = async (budget: Budget, ask: (id: string) => Promise<AcquireResult>) => {
    for (let index = 0; index < budget.limits.calls; index += 1) {
      await budget.complete(KEY, tokenOf(await ask(`drain-${index}`)));
    }
  };
  /** All waiters acquire in the given order, and again each time the only token is back. Returns the order of their grants. */
  const served = async (
    { clock, budget, ask }: ReturnType<typeof start>,
    waiters: [string, Partial<AcquireRequest>][],
  ) => {
    await drain(budget, ask);
    for (const [id, more] of waiters) await ask(id, more);
    const order: string[] = [];
    while (order.length < waiters.length) {
      clock.advance(budget.limits.windowMs + 1);
      for (const [id, more] of waiters.filter(([name]) => !order.includes(name))) {
        const answer = await ask(id, more);
        if (!answer.granted) continue;
        order.push(id);
        await budget.complete(KEY, answer.token);
      }
    }
    return order;
  };

  test('grants tokens up to the limit, then a queue position', async () => {
    const { ask } = start();
    expect([await ask('a'), await ask('b'), await ask('c')].map(({ granted, tokens }) => [granted, tokens])).toEqual([
      [true, 2],
      [true, 1],
      [true, 0],
    ]);
    expect(await ask('d')).toMatchObject({ granted: false, ahead: 0, tokens: 0 });
    expect(await ask('e')).toMatchObject({ granted: false, ahead: 1 });
  });

  test('a token returns one window after the reply, not after the dispatch', async () => {
    const { clock, budget, ask } = start({ calls: 1, windowMs: 60_000 });
    const token = tokenOf(await ask('a'));
    clock.advance(4_000);
    await budget.complete(KEY, token);
    const { at } = refusal(await ask('b'));
    expect(at).toBe(START + 4_000 + 60_000 + 1);
    clock.set(at - 1);
    expect((await ask('b')).granted).toBe(false);
    clock.set(at);
    expect((await ask('b')).granted).toBe(true);
  });

  test('a call without a reply returns its token after its hold plus one window', async () => {
    const { clock, ask } = start({ calls: 1, windowMs: 60_000 });
    await ask('a', { holdMs: 5_000 });
    clock.advance(65_000);
    expect((await ask('b')).granted).toBe(false);
    clock.advance(1);
    expect((await ask('b')).granted).toBe(true);
  });

  test('a token that was not used returns at once', async () => {
    const { budget, ask } = start({ calls: 1, windowMs: 60_000 });
    await budget.release(KEY, tokenOf(await ask('a')));
    expect((await ask('b')).granted).toBe(true);
  });

  test('acquiring again keeps the queue position', async () => {
    const { budget, ask } = start();
    await drain(budget, ask);
    await ask('first');
    await ask('second');
    for (let again = 0; again < 3; again += 1) expect(await ask('first')).toMatchObject({ ahead: 0 });
    expect(await ask('second')).toMatchObject({ ahead: 1 });
    expect((await budget.inspect(KEY)).waiting).toBe(2);
  });

  test('one grant is one dispatch: acquiring again after a grant takes another token', async () => {
    const { budget, ask } = start();
    const first = tokenOf(await ask('a'));
    const second = tokenOf(await ask('a'));
    expect(second).not.toBe(first);
    await budget.complete(KEY, first);
    expect(await budget.inspect(KEY)).toMatchObject({ tokens: 1, inFlight: 1 });
  });

  test('spare calls hold at most a tenth of the tokens and at most three, but one if the limit is small', async () => {
    for (const [calls, most] of [
      [1, 1],
      [25, 2],
      [100, 3],
    ] as const) {
      const { clock, budget, ask } = start({ calls, windowMs: 60_000 });
      const spare = (id: string) => ask(id, { priority: 'correction' });
      for (let index = 0; index < most; index += 1) {
        await budget.complete(KEY, tokenOf(await spare(`s${index}`)));
        clock.advance(1_000);
      }
      const { at, ahead } = refusal(await spare('late'));
      expect({ at, ahead }).toEqual({ at: START + 60_001, ahead: 0 });
      // A spare call does not queue: another call gets a token if one is left.
      expect((await budget.inspect(KEY)).waiting).toBe(0);
      expect((await ask('other')).granted).toBe(calls > most);
      clock.set(at);
      expect((await spare('late')).granted).toBe(calls > most);
    }
  });

  test('a spare call gets nothing while a call of any class waits, or the key is blocked', async () => {
    const { clock, budget, ask } = start({ calls: 2, windowMs: 60_000 });
    const held = [tokenOf(await ask('a')), tokenOf(await ask('b'))];
    await ask('waits', { priority: 'backfill' });
    for (const token of held) await budget.release(KEY, token);
    expect(refusal(await ask('spare', { priority: 'correction' }))).toMatchObject({ ahead: 1, tokens: 2 });
    await budget.release(KEY, tokenOf(await ask('waits', { priority: 'backfill' })));
    await budget.penalize(KEY, clock.now() + 5_000, 'acme');
    expect(refusal(await ask('spare', { priority: 'correction' })).at).toBe(START + 5_000);
    clock.advance(5_000);
    expect((await ask('spare', { priority: 'correction' })).granted).toBe(true);
  });

  test.each([
    [30, 20],
    [3, 2],
    [1, 0],
  ])('with %i tokens, preparations hold at most %i and leave the rest to runs', async (calls, most) => {
    const { clock, budget, ask } = start({ calls, windowMs: 60_000 });
    const prepare = (id: string) => ask(id, { priority: 'preparation' });
    for (let index = 0; index < most; index += 1) await budget.complete(KEY, tokenOf(await prepare(`p${index}`)));
    expect((await prepare('late')).granted).toBe(false);
    expect((await budget.inspect(KEY)).waiting).toBe(0);
    expect((await ask('now', { priority: 'on_demand' })).granted).toBe(true);
    clock.advance(60_001);
    expect((await prepare('late')).granted).toBe(most > 0);
  });

  test.each(['on_demand', 'scheduled'] as const)(
    'a preparation gets nothing while an %s call waits',
    async (priority) => {
      const { budget, ask } = start();
      const held = [tokenOf(await ask('a')), tokenOf(await ask('b')), tokenOf(await ask('c'))];
      await ask('waits', { priority });
      await ask('backfill', { priority: 'backfill' });
      for (const token of held) await budget.release(KEY, token);
      expect(refusal(await ask('early', { priority: 'preparation' }))).toMatchObject({ ahead: 2, tokens: 3 });
      expect((await ask('waits', { priority })).granted).toBe(true);
      expect((await ask('early', { priority: 'preparation' })).granted).toBe(true);
    },
  );

  test('preparations overtake a waiting backfill only up to the starvation limit', async () => {
    const { budget, ask } = start();
    const prepare = () => ask('early', { priority: 'preparation' });
    const backfill = () => ask('backfill', { priority: 'backfill' });
    const waiting = async () => {
      const held = [tokenOf(await ask('a')), tokenOf(await ask('b')), tokenOf(await ask('c'))];
      await backfill();
      for (const token of held) await budget.release(KEY, token);
    };
    await waiting();
    for (let index = 0; index < STARVATION_LIMIT; index += 1) await budget.release(KEY, tokenOf(await prepare()));
    expect(refusal(await prepare()).ahead).toBe(1);
    await budget.release(KEY, tokenOf(await backfill()));
    expect((await prepare()).granted).toBe(true);
  });

  test('preparations that overtake a backfill do not bring it nearer to overtaking on-demand calls', async () => {
    const { budget, ask } = start();
    const held = [tokenOf(await ask('a')), tokenOf(await ask('b')), tokenOf(await ask('c'))];
    await ask('backfill', { priority: 'backfill' });
    for (const token of held) await budget.release(KEY, token);
    for (let index = 0; index < STARVATION_LIMIT; index += 1) {
      await budget.release(KEY, tokenOf(await ask('early', { priority: 'preparation' })));
    }
    expect((await ask('urgent', { priority: 'on_demand' })).granted).toBe(true);
  });

  test('a lowered limit counts the tokens held', async () => {
    const limits = { calls: 3, windowMs: 60_000 };
    const { clock, budget, ask } = start(limits);
    for (const id of ['a', 'b']) await budget.complete(KEY, tokenOf(await ask(id)));
    limits.calls = 1;
    expect(await budget.inspect(KEY)).toMatchObject({ limit: 1, tokens: 0 });
    expect(refusal(await ask('c')).at).toBe(START + 60_001);
    clock.set(START + 60_001);
    expect([(await ask('c')).granted, (await ask('d')).granted]).toEqual([true, false]);
  });

  test('a raised limit adds the difference', async () => {
    const limits = { calls: 1, windowMs: 60_000 };
    const { budget, ask } = start(limits);
    await budget.complete(KEY, tokenOf(await ask('a')));
    expect((await ask('b')).granted).toBe(false);
    limits.calls = 3;
    expect([(await ask('b')).granted, (await ask('c')).granted, (await ask('d')).granted]).toEqual([true, true, false]);
  });

  test('a longer window delays the tokens held', async () => {
    const limits = { calls: 2, windowMs: 60_000 };
    const { clock, budget, ask } = start(limits);
    await budget.complete(KEY, tokenOf(await ask('replied')));
    await ask('in flight');
    clock.advance(30_000);
    limits.windowMs = 120_000;
    expect(refusal(await ask('c')).at).toBe(START + 120_001);
    clock.set(START + 120_001);
    expect((await ask('c')).granted).toBe(true);
    expect(refusal(await ask('d')).at).toBe(START + HOLD + 120_001);
  });

  test('a shorter window returns the tokens held sooner', async () => {
    const limits = { calls: 1, windowMs: 120_000 };
    const { clock, budget, ask } = start(limits);
    await budget.complete(KEY, tokenOf(await ask('a')));
    expect(refusal(await ask('b')).at).toBe(START + 120_001);
    clock.advance(30_000);
    limits.windowMs = 60_000;
    expect(refusal(await ask('b')).at).toBe(START + 60_001);
    clock.set(START + 60_001);
    expect((await ask('b')).granted).toBe(true);
  });

  test('inspecting a key with another window changes nothing', async () => {
    const limits = { calls: 1, windowMs: 60_000 };
    const { clock, budget, ask } = start(limits);
    await budget.complete(KEY, tokenOf(await ask('a')));
    limits.windowMs = 10;
    clock.advance(1_000);
    expect(await budget.inspect(KEY)).toMatchObject({ tokens: 0 });
    limits.windowMs = 60_000;
    expect(refusal(await ask('b')).at).toBe(START + 60_001);
  });

  test('grants every waiter its token at the reported time', async () => {
    const { clock, budget, ask } = start();
    for (const id of ['a', 'b', 'c']) {
      await budget.complete(KEY, tokenOf(await ask(id)));
      clock.advance(1_000);
    }
    const reported = [];
    for (const id of ['w1', 'w2', 'w3', 'w4']) reported.push(refusal(await ask(id)).at);
    expect(reported.map((at) => at - START)).toEqual([60_001, 61_001, 62_001, 120_001]);
    for (const [index, at] of reported.slice(0, 3).entries()) {
      clock.set(at);
      expect((await ask(`w${index + 1}`)).granted).toBe(true);
    }
  });

  test('estimates that a call in flight is answered now at the earliest', async () => {
    const { clock, ask } = start({ calls: 1, windowMs: 60_000 });
    await ask('a', { holdMs: 300_000 });
    clock.advance(10_000);
    expect(refusal(await ask('b')).at).toBe(START + 70_001);
  });

  test('serves on-demand calls before scheduled ones and backfills last, in any order of arrival', async () => {
    const order = await served(start({ calls: 1, windowMs: 60_000 }), [
      ['backfill', { priority: 'backfill' }],
      ['scheduled-1', { priority: 'scheduled' }],
      ['scheduled-2', { priority: 'scheduled' }],
      ['on-demand', { priority: 'on_demand' }],
    ]);
    expect(order).toEqual(['on-demand', 'scheduled-1', 'scheduled-2', 'backfill']);
  });

  test('a stream of on-demand calls does not starve the scheduled ones', async () => {
    const { clock, budget, ask } = start({ calls: 1, windowMs: 60_000 });
    await drain(budget, ask);
    await ask('scheduled');
    let passed = 0;
    for (; passed < 50; passed += 1) {
      await ask(`on-demand-${passed}`, { priority: 'on_demand' });
      clock.advance(60_001);
      const scheduled = await ask('scheduled');
      if (scheduled.granted) break;
      await budget.complete(KEY, tokenOf(await ask(`on-demand-${passed}`, { priority: 'on_demand' })));
    }
    expect(passed).toBe(STARVATION_LIMIT);
  });

  test('organizations that share a key are served round-robin', async () => {
    const order = await served(start({ calls: 1, windowMs: 60_000 }), [
      ...Array.from({ length: 6 }, (_, index): [string, Partial<AcquireRequest>] => [`big-${index}`, { org: 'big' }]),
      ['small-0', { org: 'small' }],
      ['small-1', { org: 'small' }],
      ['other-0', { org: 'other' }],
    ]);
    expect(order.slice(0, 5)).toEqual(['big-0', 'small-0', 'other-0', 'big-1', 'small-1']);
    expect(order.slice(5)).toEqual(['big-2', 'big-3', 'big-4', 'big-5']);
  });

  test('a call with a turn of its own does not wait behind the calls of its organization', async () => {
    const own = { turn: 'acme:catalog' };
    const order = await served(start({ calls: 1, windowMs: 60_000 }), [
      ['a1', {}],
      ['a2', {}],
      ['a3', {}],
      ['catalog', own],
    ]);
    expect(order).toEqual(['a1', 'catalog', 'a2', 'a3']);
  });

  test('an organization that joins later is served round-robin from then on, without catching up', async () => {
    const { clock, budget, ask } = start({ calls: 1, windowMs: 60_000 });
    await drain(budget, ask);
    const waiting = ['big-0', 'big-1', 'big-2', 'big-3', 'big-4'];
    const order: string[] = [];
    for (const id of waiting) await ask(id, { org: 'big' });
    while (waiting.length > 0) {
      clock.advance(60_001);
      for (const id of [...waiting]) {
        const answer = await ask(id, { org: id.split('-')[0] ?? '' });
        if (!answer.granted) continue;
        await budget.complete(KEY, answer.token);
        waiting.splice(waiting.indexOf(id), 1);
        order.push(id);
      }
      for (const id of order.length === 3 ? ['late-0', 'late-1', 'late-2'] : []) {
        waiting.push(id);
        await ask(id, { org: 'late' });
      }
    }
    expect(order).toEqual(['big-0', 'big-1', 'big-2', 'late-0', 'big-3', 'late-1', 'big-4', 'late-2']);
  });

  test('after the starvation limit one waiter of a lower priority goes first', async () => {
    const { clock, budget, ask } = start({ calls: 1, windowMs: 60_000 });
    await drain(budget, ask);
    for (let passed = 0; passed < STARVATION_LIMIT; passed += 1) {
      await ask('first', { priority: 'on_demand' });
      clock.advance(60_001);
      for (const id of ['scheduled', 'next']) await ask(id);
      await budget.complete(KEY, tokenOf(await ask('first', { priority: 'on_demand' })));
    }
    const aheadOf = async (id: string, more: Partial<AcquireRequest> = {}) => refusal(await ask(id, more)).ahead;
    // Two on-demand calls, the scheduled one whose turn it is, another scheduled one, and a backfill.
    expect(await aheadOf('one', { priority: 'on_demand' })).toBe(1);
    expect(await aheadOf('two', { priority: 'on_demand' })).toBe(2);
    expect(await aheadOf('scheduled')).toBe(0);
    expect(await aheadOf('next')).toBe(3);
    expect(await aheadOf('last', { priority: 'backfill' })).toBe(4);
    clock.advance(60_001);
    expect(await ask('one', { priority: 'on_demand' })).toMatchObject({ granted: false, ahead: 1 });
    await budget.complete(KEY, tokenOf(await ask('scheduled')));
    expect(await aheadOf('one', { priority: 'on_demand' })).toBe(0);
    expect(await aheadOf('next')).toBe(2);
  });

  test('tokens that overtake nobody do not count towards the starvation limit', async () => {
    const { clock, budget, ask } = start({ calls: 1, windowMs: 60_000 });
    await drain(budget, ask);
    const demand = (index: number) => ask(`on-demand-${index}`, { priority: 'on_demand' });
    for (let index = 0; index < STARVATION_LIMIT + 3; index += 1) {
      await demand(index);
      await demand(index + 1);
      clock.advance(60_001);
      await budget.complete(KEY, tokenOf(await demand(index)));
    }
    await demand(STARVATION_LIMIT + 3);
    expect(await ask('scheduled')).toMatchObject({ granted: false, ahead: 1 });
  });

  test('an overdue waiter of a lower priority does not block the others', async () => {
    const { clock, budget, ask } = start({ calls: 1, windowMs: 60_000 });
    await drain(budget, ask);
    for (let passed = 0; passed < STARVATION_LIMIT; passed += 1) {
      await ask('first', { priority: 'on_demand' });
      clock.advance(60_001);
      await ask('scheduled');
      await budget.complete(KEY, tokenOf(await ask('first', { priority: 'on_demand' })));
    }
    await ask('first', { priority: 'on_demand' });
    clock.advance(60_001);
    clock.advance(1_001);
    expect(await ask('first', { priority: 'on_demand' })).toMatchObject({ granted: true });
  });

  test('an overdue waiter is overtaken, and keeps its position if it is only a little late', async () => {
    const { clock, budget, ask } = start({ calls: 1, windowMs: 60_000 });
    await drain(budget, ask);
    const { at } = refusal(await ask('sleeper'));
    await ask('patient');
    clock.set(at);
    expect((await ask('patient')).granted).toBe(false);
    clock.set(at + 1_000);
    expect((await ask('patient')).granted).toBe(false);
    clock.set(at + 1_001);
    const taken = tokenOf(await ask('patient'));
    await budget.complete(KEY, taken);
    await ask('third');
    expect(await ask('sleeper')).toMatchObject({ granted: false, ahead: 0 });
  });

  test('an overdue waiter expires two windows later', async () => {
    const { clock, budget, ask } = start();
    await drain(budget, ask);
    const { at } = refusal(await ask('dead'));
    clock.set(at + 1_000 + 120_000);
    expect((await budget.inspect(KEY)).waiting).toBe(1);
    clock.advance(1);
    expect((await budget.inspect(KEY)).waiting).toBe(0);
  });

  test('a grant names the waiters that can take the tokens left, without overdue ones', async () => {
    const { clock, budget, ask } = start({ calls: 4, windowMs: 60_000 });
    const next = async (id: string) => {
      const answer = await ask(id);
      return answer.granted && answer.next;
    };
    await drain(budget, ask);
    for (const id of ['a', 'b', 'c', 'd', 'e']) expect(await next(id)).toBe(false);
    clock.advance(60_001);
    expect(await next('a')).toEqual(['b', 'c', 'd']);
    // All but the last are overdue by more than a sixtieth of a window.
    clock.advance(1_001);
    expect(await next('c')).toEqual(['e']);
  });

  test('cancelling removes the waiter from the queue', async () => {
    const { budget, ask } = start();
    await drain(budget, ask);
    await ask('first');
    await ask('second');
    await budget.cancel(KEY, 'first');
    expect(await ask('second')).toMatchObject({ ahead: 0 });
  });

  test('a 429 blocks all waiters until its time; the latest one counts', async () => {
    const { clock, budget, ask } = start();
    await budget.penalize(KEY, START + 30_000, 'acme');
    await budget.penalize(KEY, START + 10_000, 'acme');
    expect(await ask('a')).toMatchObject({ granted: false, at: START + 30_000 });
    expect(await budget.inspect(KEY)).toMatchObject({ blockedUntil: START + 30_000, throttled: 2 });
    clock.set(START + 29_999);
    expect((await ask('a')).granted).toBe(false);
    clock.set(START + 30_000);
    expect((await ask('a')).granted).toBe(true);
    expect((await budget.inspect(KEY)).blockedUntil).toBe(null);
  });

  test('a 429 halves the limit, which recovers with each window', async () => {
    const { clock, budget } = start({ calls: 30, windowMs: 60_000 });
    const limit = async () => (await budget.inspect(KEY)).limit;
    await budget.penalize(KEY, START + 10_000, 'acme');
    await budget.penalize(KEY, START + 10_000, 'acme');
    expect(await limit()).toBe(15);
    const seen = [];
    clock.set(START + 10_000);
    for (let window = 0; window < 6; window += 1) {
      clock.advance(60_000);
      seen.push(await limit());
    }
    expect(seen).toEqual([18, 21, 24, 27, 30, 30]);
    await budget.penalize(KEY, clock.now() + 10_000, 'acme');
    clock.advance(70_000);
    await budget.penalize(KEY, clock.now() + 10_000, 'acme');
    expect(await limit()).toBe(9);
  });

  test('a series of 429s is reported once at its start and once after its end', async () => {
    const { clock, budget, ask, news } = start({ calls: 30, windowMs: 60_000 });
    const slowedUntil = async () => (await budget.inspect(KEY)).slowedUntil;
    expect(await slowedUntil()).toBe(null);
    await budget.penalize(KEY, START + 10_000, 'acme');
    const wholeAt = START + 10_000 + 5 * 60_000;
    const slowed = { kind: 'slowed', key: KEY, org: 'acme', limit: 15, blockedUntil: START + 10_000 };
    expect(news).toEqual([{ ...slowed, slowedUntil: wholeAt }]);
    expect(await slowedUntil()).toBe(wholeAt);

    await budget.penalize(KEY, START + 10_000, 'rival');
    clock.set(START + 130_000);
    await budget.penalize(KEY, START + 140_000, 'acme');
    await ask('during');
    expect(news).toHaveLength(1);
    // The limit had recovered to 18 and is halved to 9. It recovers within 7 windows.
    const later = START + 140_000 + 7 * 60_000;
    expect(await slowedUntil()).toBe(later);

    clock.set(later - 1);
    await ask('just before');
    expect(news).toHaveLength(1);
    clock.set(later);
    expect(await budget.inspect(KEY)).toMatchObject({ limit: 30, slowedUntil: null });
    await ask('first');
    await ask('second');
    expect(news.slice(1)).toEqual([{ kind: 'recovered', key: KEY, org: 'acme', afterMs: later - START }]);

    await budget.penalize(KEY, later + 1_000, 'acme');
    expect(news.slice(2)).toMatchObject([{ kind: 'slowed', limit: 15 }]);
  });

  test('a 429 after the end of a series starts a new one, even without an acquire in between', async () => {
    const { clock, budget, news } = start();
    await budget.penalize(KEY, START + 1_000, 'acme');
    clock.advance(3_600_000 / 2);
    await budget.penalize(KEY, clock.now() + 1_000, 'acme');
    expect(news.map(({ kind }) => kind)).toEqual(['slowed', 'slowed']);
  });

  test('a limit of one token is not halved, but the 429 is counted', async () => {
    const { clock, budget, ask, news } = start({ calls: 1, windowMs: 60_000 });
    await budget.penalize(KEY, START + 5_000, 'acme');
    expect(news).toMatchObject([{ kind: 'slowed', limit: 1, slowedUntil: START + 5_000 }]);
    clock.advance(5_000);
    await ask('a');
    expect(news).toMatchObject([{}, { kind: 'recovered', afterMs: 5_000 }]);
  });

  test('under a reduced limit surplus tokens are not granted again', async () => {
    const { clock, budget, ask } = start({ calls: 4, windowMs: 60_000 });
    for (const id of ['a', 'b', 'c', 'd']) {
      await budget.complete(KEY, tokenOf(await ask(id)));
      clock.advance(1_000);
    }
    await budget.penalize(KEY, clock.now() + 1, 'acme');
    // The limit is two instead of four, so the first two tokens that return are not granted.
    expect(refusal(await ask('w')).at).toBe(START + 62_001);
    clock.set(START + 62_000);
    expect((await ask('w')).granted).toBe(false);
    clock.set(START + 62_001);
    expect((await ask('w')).granted).toBe(true);
    expect(await budget.inspect(KEY)).toMatchObject({ tokens: 0, limit: 2 });
  });

  test.each([-3_600_000, -7_000, -1, 1, 7_000, 3_600_000])(
    'a wall clock step of %i ms moves no token, block or expected grant',
    async (step) => {
      const { clock, budget, ask } = start({ calls: 1, windowMs: 60_000 });
      await budget.complete(KEY, tokenOf(await ask('a')));
      clock.advance(10_000);
      await budget.penalize(KEY, clock.now() + 51_000, 'acme');
      expect(refusal(await ask('b')).at).toBe(clock.now() + 51_000);
      clock.step(step);
      expect(refusal(await ask('b')).at).toBe(clock.now() + 51_000);
      expect(await budget.inspect(KEY)).toMatchObject({ inFlight: 0, tokens: 0, blockedUntil: clock.now() + 51_000 });
      clock.advance(50_999);
      expect((await ask('b')).granted).toBe(false);
      clock.advance(1);
      expect((await ask('b')).granted).toBe(true);
    },
  );

  test('keys are independent', async () => {
    const { budget, ask } = start();
    await drain(budget, ask);
    expect((await ask('a', { key: 'another' })).granted).toBe(true);
    expect((await budget.inspect(KEY)).tokens).toBe(0);
  });

  test('no window at the server exceeds the limit, whatever the latencies and losses', async () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ kind: fc.constant('ask' as const), who: fc.integer({ min: 0, max: 9 }) }) },
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant('reply' as const), which: fc.nat(20), late: fc.nat(500) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('unsent' as const), which: fc.nat(20) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('block' as const), ms: fc.nat(2_000) }) },
      { weight: 5, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(1_200) }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 80 }),
        fc.nat(),
        async (calls, steps, seed) => {
          const windowMs = 1_000;
          const holdMs = 300;
          const { clock, budget, ask } = start({ calls, windowMs });
          // Each dispatch reaches the server somewhere between its grant and its reply (or its deadline).
          const arrivals: number[] = [];
          let flying: { token: string; granted: number }[] = [];
          let spread = seed;
          const arrive = (from: number, to: number) => {
            spread = (spread * 1_103_515_245 + 12_345) % 2_147_483_648;
            arrivals.push(from + ((spread % 1_000) / 999) * (to - from));
          };
          const expire = () => {
            for (const { granted } of flying.filter((call) => call.granted + holdMs < clock.now()))
              arrive(granted, granted + holdMs);
            flying = flying.filter((call) => call.granted + holdMs >= clock.now());
          };
          for (const action of steps) {
            expire();
            const call = 'which' in action ? flying[action.which % Math.max(1, flying.length)] : undefined;
            if (action.kind === 'ask') {
              const answer = await ask(`w${action.who}`, { holdMs, org: `o${action.who % 3}` });
              if (answer.granted) flying.push({ token: answer.token, granted: clock.now() });
            } else if (action.kind === 'wait') clock.advance(action.ms);
            else if (action.kind === 'block') await budget.penalize(KEY, clock.now() + action.ms, 'acme');
            else if (call !== undefined) {
              flying = flying.filter((other) => other !== call);
              if (action.kind === 'unsent') await budget.release(KEY, call.token);
              else {
                arrive(call.granted, clock.now());
                await budget.complete(KEY, call.token);
              }
            }
          }
          clock.advance(10_000);
          expire();
          arrivals.sort((a, b) => a - b);
          for (let index = 0; index + calls < arrivals.length; index += 1) {
            expect(arrivals[index + calls]! - arrivals[index]!).toBeGreaterThan(windowMs);
          }
        },
      ),
      cases(60),
    );
  });
});
