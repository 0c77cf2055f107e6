import fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Answer, type BudgetNews, PRIORITIES } from '../../src/fetch/budget.ts';
import { type BudgetBench, memoryBench, redisBench } from '../support/budgets.ts';
import { manualClock } from '../support/manual-clock.ts';

let memory: BudgetBench;
let redis: BudgetBench;
beforeAll(async () => {
  memory = await memoryBench();
  redis = await redisBench(inject('redisUrl'));
});
afterAll(() => redis.close());

const KEY = 'k';
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      who: fc.nat(12),
      priority: fc.constantFrom(...PRIORITIES),
      holdMs: fc.nat(900),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('replied' as const, 'unsent' as const), which: fc.nat(20) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), who: fc.nat(12) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('block' as const), ms: fc.nat(3_000) }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: -300, max: 2_500 }) }),
  },
);

test('the budget in memory and the one in Redis give the same answers to the same story', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), async (calls, story) => {
      const clock = manualClock(1_800_000_000_000);
      const twins = [memory, redis].map((bench) => {
        const news: BudgetNews[] = [];
        const budget = bench.budget({ calls, windowMs: 1_000 }, clock, (told) => void news.push(told));
        return { budget, tokens: [] as string[], news };
      });
      const shown = ({ tokens, ...answer }: Answer) => ({ ...answer, token: undefined, tokens });
      for (const action of story) {
        if (action.kind === 'wait') {
          clock.advance(action.ms);
          continue;
        }
        const [one, other] = await Promise.all(
          twins.map(async ({ budget, tokens }) => {
            if (action.kind === 'ask') {
              const { who, priority, holdMs } = action;
              const answer = await budget.ask({ key: KEY, id: `w${who}`, org: `o${who % 3}`, priority, holdMs });
              if (answer.granted) tokens.push(answer.token);
              return shown(answer);
            }
            if (action.kind === 'leave') await budget.leave(KEY, `w${action.who}`);
            else if (action.kind === 'block') await budget.block(KEY, clock.now() + action.ms, 'acme');
            else if (tokens.length > 0) await budget[action.kind](KEY, tokens[action.which % tokens.length]!);
            return budget.look(KEY);
          }),
        );
        expect(other).toEqual(one);
        expect(twins[1]?.news).toEqual(twins[0]?.news);
      }
    }),
    { numRuns: 150 },
  );
});
