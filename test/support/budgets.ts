import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { SteadyClock } from '../../src/base/clock.ts';
import { luaScript } from '../../src/base/lua.ts';
import type { Budget, BudgetLimits, TellBudget } from '../../src/fetch/budget.ts';
import { memoryBudget } from '../../src/fetch/memory-budget.ts';
import { budgetScript, redisBudget } from '../../src/fetch/redis-budget.ts';

export interface BudgetBench {
  /** @param limits read anew at each step */
  budget(limits: BudgetLimits, clock: SteadyClock, tell?: TellBudget): Budget;
  close(): Promise<void>;
}

export const memoryBench = async (): Promise<BudgetBench> => ({
  budget: (limits, clock, tell) =>
    memoryBudget({
      get calls() {
        return limits.calls;
      },
      get windowMs() {
        return limits.windowMs;
      },
      clock,
      ...(tell && { tell }),
    }),
  close: async () => {},
});

/** The production script but for the one line that reads Redis's clock: here it reads a key that the test sets. */
export const redisBench = async (url: string): Promise<BudgetBench> => {
  const redis = new Redis(url);
  const prefixes: string[] = [];
  return {
    budget: (limits, clock, tell) => {
      const prefix = `budget-test:${randomUUID()}:`;
      prefixes.push(prefix);
      const { lua } = budgetScript();
      const moved = lua.replace("redis.call('TIME')", `redis.call('HMGET', '${prefix}clock', 's', 'us')`);
      if (moved === lua) throw new Error('the script no longer reads its clock in one place');
      const script = luaScript(moved);
      const budget = redisBudget(redis, {
        get calls() {
          return limits.calls;
        },
        get windowMs() {
          return limits.windowMs;
        },
        prefix,
        clock,
        script,
        ...(tell && { tell }),
      });
      const tick = async () => {
        // Its own clock, which nobody steps; `line-time.test.ts` does.
        const now = 1_800_000_000_000 + clock.monotonic();
        await redis.hset(`${prefix}clock`, { s: Math.floor(now / 1000), us: (now % 1000) * 1000 });
      };
      const after =
        <Args extends unknown[], Result>(method: (...args: Args) => Promise<Result>) =>
        async (...args: Args) => {
          await tick();
          return method(...args);
        };
      return {
        limits: budget.limits,
        ask: after(budget.ask),
        replied: after(budget.replied),
        unsent: after(budget.unsent),
        leave: after(budget.leave),
        block: after(budget.block),
        look: after(budget.look),
      };
    },
    close: async () => {
      for (const prefix of prefixes) {
        const keys = await redis.keys(`${prefix}*`);
        if (keys.length > 0) await redis.del(...keys);
      }
      await redis.quit();
    },
  };
};
