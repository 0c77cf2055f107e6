import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Clock, systemClock } from '../base/clock.ts';
import { type LuaScript, readLua, runLua } from '../base/lua.ts';
import type { RedisClient } from '../base/redis-client.ts';
import {
  type Budget,
  type BudgetLimits,
  lateness,
  limitsIn,
  PASSES,
  PRIORITIES,
  recovery,
  type TellBudget,
} from './budget.ts';
import { reachable } from './reachable.ts';

const answerSchema = z.union([
  z.tuple([z.int(), z.literal(1), z.int()]),
  z.tuple([z.int(), z.literal(0), z.int(), z.int(), z.int()]),
]);
const blockSchema = z.tuple([z.literal([0, 1]), z.int(), z.int(), z.int()]);
const stateSchema = z.tuple([z.int(), z.int(), z.int(), z.int(), z.int(), z.int(), z.int()]);

export interface RedisBudgetOptions extends BudgetLimits {
  /** In front of every key in Redis, e.g. `docket:`. Metrics calls and list reads need different ones. */
  readonly prefix: string;
  /** Reads the caller's instants; Redis counts by its own clock. */
  readonly clock?: Clock;
  /** Told what shows to this process; the other workers are not told it again. */
  readonly tell?: TellBudget;
  /** The script; a test may hand in one whose clock it moves. Default: `budget-7.lua`. */
  readonly script?: LuaScript;
}

/** The script that holds the whole logic of the budget. */
export const budgetScript = (): LuaScript => readLua('./budget-7.lua', import.meta.url);

/** The budget that all workers share. Its whole logic is `budget-7.lua`; every method is one round trip. */
export function redisBudget(redis: RedisClient, options: RedisBudgetOptions): Budget {
  const { prefix, tell } = options;
  const limits = limitsIn(options);
  const clock = options.clock ?? systemClock;
  const script = options.script ?? budgetScript();

  const run = (key: string, operation: string, ...args: (string | number)[]): Promise<unknown> => {
    const names = ['held', 'flight', 'line', 'told', 'place', 'rounds', 'state'];
    const keys = names.map((name) => `${prefix}budget:{${key}}:${name}`);
    const { calls, windowMs } = limits;
    const { passedBy, lost } = lateness(limits);
    const values = [operation, calls, windowMs, passedBy, lost, PASSES, recovery(limits), ...args];
    return reachable(() => runLua(redis, script, keys, values));
  };

  return {
    limits,
    ask: async ({ key, id, org, priority, holdMs }) => {
      const token = `${id}#${randomUUID()}`;
      const [over, ...answer] = answerSchema.parse(
        await run(key, 'ask', id, token, org, PRIORITIES.indexOf(priority), Math.ceil(holdMs)),
      );
      if (over >= 0) tell?.({ kind: 'recovered', key, org, afterMs: over });
      return answer[0] === 1
        ? { granted: true, token, tokens: answer[1] }
        : { granted: false, tokens: answer[1], at: clock.now() + answer[2], ahead: answer[3] };
    },
    replied: async (key, token) => void (await run(key, 'replied', token)),
    unsent: async (key, token) => void (await run(key, 'unsent', token)),
    leave: async (key, id) => void (await run(key, 'leave', id)),
    block: async (key, until, org) => {
      const forMs = Math.max(0, Math.ceil(until - clock.now()));
      const [first, limit, blocked, slowed] = blockSchema.parse(await run(key, 'block', forMs));
      const now = clock.now();
      if (first === 1)
        tell?.({ kind: 'slowed', key, org, limit, blockedUntil: now + blocked, slowedUntil: now + slowed });
    },
    look: async (key) => {
      const [tokens, inFlight, waiting, blocked, throttled, limit, slowed] = stateSchema.parse(await run(key, 'look'));
      return {
        key,
        tokens,
        inFlight,
        waiting,
        blockedUntil: blocked === 0 ? null : clock.now() + blocked,
        throttled,
        limit,
        slowedUntil: slowed === 0 ? null : clock.now() + slowed,
      };
    },
  };
}
