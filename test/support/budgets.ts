import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { SteadyClock } from '../../src/base/clock.ts';
import type { Budget, BudgetLimits, OnBudgetEvent } from '../../src/fetch/rate-limit/budget.ts';
import { memoryBudget } from '../../src/fetch/rate-limit/memory-budget.ts';
import { budgetScript, redisBudget } from '../../src/fetch/rate-limit/redis-budget.ts';
import { luaScript } from '../../src/redis/script.ts';

export interface BudgetHarness {
  /** @param limits read again at each step */
  budget(limits: BudgetLimits, clock: SteadyClock, tell?: OnBudgetEvent): Budget;
  close(): Promise<void>;
}

export const memoryBudgetHarness = async (): Promise<BudgetHarness> => ({
  budget: (limits, clock, tell) =>
    memoryBudget({
      get calls() {
        return limits.calls;
      },
      get windowMs() {
        return limits.windowMs;
      },
      clock,
      ...(tell && { onEvent: tell }),
    }),
  close: async () => {},
});

/** The production script, except for the line that reads Redis's clock: here it reads a key that the test sets. */
export const redisBudgetHarness = async (url: string): Promise<BudgetHarness> => {
  const redis = new Redis(url);
  const prefixes: string[] = [];
  return {
    budget: (limits, clock, onEvent) => {
      const prefix = `budget-test:${randomUUID()}:`;
      prefixes.push(prefix);
      const { lua } = budgetScript();
      const moved = lua
        .replace('local MAX_READ = 64', 'local MAX_READ = 3')
        .replace("redis.call('TIME')", `redis.call('HMGET', '${prefix}clock', 's', 'us')`);
      if (!moved.includes('MAX_READ = 3') || !moved.includes("'us')"))
        throw new Error('the script no longer has the lines that are replaced here');
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
        ...(onEvent && { onEvent }),
      });
      const tick = async () => {
        // This clock never steps. `line-time.test.ts` steps it.
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
        waiters: budget.waiters,
        acquire: after(budget.acquire),
        complete: after(budget.complete),
        release: after(budget.release),
        cancel: after(budget.cancel),
        penalize: after(budget.penalize),
        inspect: after(budget.inspect),
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
