import fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  type AcquireResult,
  type BudgetEvent,
  PRIORITIES,
  type Priority,
  SPARE_CLASSES,
  STARVATION_LIMIT,
} from '../../../src/fetch/rate-limit/budget.ts';
import { type BudgetHarness, memoryBudgetHarness, redisBudgetHarness } from '../../support/budgets.ts';
import { cases } from '../../support/fuzz.ts';
import { manualClock } from '../../support/manual-clock.ts';

let memory: BudgetHarness;
let redis: BudgetHarness;
beforeAll(async () => {
  memory = await memoryBudgetHarness();
  redis = await redisBudgetHarness(inject('redisUrl'));
});
afterAll(() => redis.close());

const KEY = 'k';
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      who: fc.nat(12),
      priority: fc.constantFrom(...PRIORITIES, ...SPARE_CLASSES),
      holdMs: fc.nat(900),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('complete' as const, 'release' as const), which: fc.nat(20) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), who: fc.nat(12) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('block' as const), ms: fc.nat(3_000) }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: -300, max: 2_500 }) }),
  },
);

type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** Both must return the same results and emit the same events at each step. */
async function goTogether(calls: number, story: readonly Step[]): Promise<void> {
  const clock = manualClock(1_800_000_000_000);
  const twins = [memory, redis].map((harness) => {
    const news: BudgetEvent[] = [];
    const budget = harness.budget({ calls, windowMs: 1_000 }, clock, (reported) => void news.push(reported));
    return { budget, tokens: [] as string[], news };
  });
  const shown = ({ tokens, ...answer }: AcquireResult) => ({ ...answer, token: undefined, tokens });
  for (const action of story) {
    if (action.kind === 'wait') {
      clock.advance(action.ms);
      continue;
    }
    const [one, other] = await Promise.all(
      twins.map(async ({ budget, tokens }) => {
        if (action.kind === 'ask') {
          const { who, priority, holdMs } = action;
          const answer = await budget.acquire({ key: KEY, id: `w${who}`, org: `o${who % 3}`, priority, holdMs });
          if (answer.granted) tokens.push(answer.token);
          return shown(answer);
        }
        if (action.kind === 'leave') await budget.cancel(KEY, `w${action.who}`);
        else if (action.kind === 'block') await budget.penalize(KEY, clock.now() + action.ms, 'acme');
        else if (tokens.length > 0) await budget[action.kind](KEY, tokens[action.which % tokens.length]!);
        return budget.inspect(KEY);
      }),
    );
    expect(other).toEqual(one);
    expect(twins[1]?.news).toEqual(twins[0]?.news);
  }
}

test('the budgets in memory and in Redis return the same results for the same operations', async () => {
  await fc.assert(fc.asyncProperty(fc.constantFrom(1, 2, 3, 4, 25), fc.array(step, { maxLength: 60 }), goTogether), {
    ...cases(150),
  });
});

/** This many on-demand calls get the only token in a row, while a scheduled call and a backfill wait. */
const passed = (times: number): Step[] => {
  const ask = (who: number, priority: Priority): Step => ({ kind: 'ask', who, priority, holdMs: 0 });
  return [
    ask(0, 'on_demand'),
    { kind: 'complete', which: 0 },
    ...Array.from({ length: times }, (_, index): Step[] => [
      ask(1, 'on_demand'),
      ask(10, 'scheduled'),
      ask(11, 'backfill'),
      { kind: 'wait', ms: 1_001 },
      ask(10, 'scheduled'),
      ask(11, 'backfill'),
      ask(1, 'on_demand'),
      { kind: 'complete', which: index + 1 },
    ]).flat(),
  ];
};

test('the budgets in memory and in Redis agree around the starvation limit of a lower priority', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: STARVATION_LIMIT - 1, max: STARVATION_LIMIT }),
      fc.array(step, { minLength: 5, maxLength: 30 }),
      async (times, story) => goTogether(1, [...passed(times), ...story]),
    ),
    cases(100),
  );
});

test('the budgets in memory and in Redis agree for simultaneous operations, which share one call of the script', async () => {
  const groups = fc.array(
    fc.tuple(fc.array(step, { minLength: 1, maxLength: 12 }), fc.integer({ min: 0, max: 1_500 })),
    {
      maxLength: 12,
    },
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(1, 2, 4, 25), groups, async (calls, story) => {
      const clock = manualClock(1_800_000_000_000);
      const twins = [memory, redis].map((harness) => ({
        budget: harness.budget({ calls, windowMs: 1_000 }, clock),
        tokens: [] as string[],
      }));
      for (const [together, ms] of story) {
        const [one, other] = await Promise.all(
          twins.map(async ({ budget, tokens }) => {
            const held = [...tokens];
            const answers = await Promise.all(
              together.map(async (action): Promise<unknown> => {
                if (action.kind === 'ask') {
                  const { who, priority, holdMs } = action;
                  const request = { key: KEY, id: `w${who}`, org: `o${who % 3}`, priority, holdMs };
                  return budget.acquire(request);
                }
                if (action.kind === 'leave') return budget.cancel(KEY, `w${action.who}`);
                if (action.kind === 'block') return budget.penalize(KEY, clock.now() + action.ms, 'acme');
                const token = 'which' in action ? held[action.which % Math.max(1, held.length)] : undefined;
                return token !== undefined && action.kind !== 'wait' && budget[action.kind](KEY, token);
              }),
            );
            for (const answer of answers as (AcquireResult | undefined)[]) {
              if (answer && 'token' in answer) tokens.push(answer.token);
            }
            const shown = answers.map((answer) => answer && { ...(answer as object), token: undefined });
            return [shown, await budget.inspect(KEY)];
          }),
        );
        expect(other).toEqual(one);
        clock.advance(ms);
      }
    }),
    cases(150),
  );
});
