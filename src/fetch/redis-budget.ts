import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type SteadyClock, systemClock } from '../base/clock.ts';
import type { WallReading } from '../base/clock-step.ts';
import { type LuaScript, readLua, runLua } from '../base/lua.ts';
import { machineId } from '../base/machine.ts';
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
import { type LineMemory, lineMemory } from './line-memory.ts';
import type { LostData } from './lost-data.ts';
import { reachable } from './reachable.ts';

const answerSchema = z.union([
  z.tuple([z.int(), z.literal(1), z.int()]),
  z.tuple([z.int(), z.literal(0), z.int(), z.int(), z.int()]),
]);
const blockSchema = z.tuple([z.literal([0, 1]), z.int(), z.int(), z.int()]);
const stateSchema = z.tuple([z.int(), z.int(), z.int(), z.int(), z.int(), z.int(), z.int()]);

/** Of every reply: the wall clock of Redis, and what it says of the line. */
const replySchema = z.union([
  z.tuple([z.int()]),
  z.tuple([z.int(), z.string(), z.int(), z.literal([0, 1]), z.unknown()]),
]);

export interface RedisBudgetOptions extends BudgetLimits {
  /** In front of every key in Redis, e.g. `docket:`. Metrics calls and list reads need different ones. */
  readonly prefix: string;
  /** Reads the caller's instants; Redis counts by its own clock. */
  readonly clock?: SteadyClock;
  /** Told what shows to this process; the other workers are not told it again. */
  readonly tell?: TellBudget;
  /** Told of each reading of the clock of Redis. */
  readonly watch?: (reading: WallReading) => void;
  /** Whether Redis lost data; when absent, only the lines that this process used itself are known to be lost. */
  readonly lostData?: LostData;
  /** What this process remembers of the lines, where it has several budgets on the same ones. */
  readonly memory?: LineMemory;
  /** Whose monotonic clock it is; see `machineId`. */
  readonly machine?: string;
  /** The script; a test may hand in one whose clock it moves. Default: `budget-8.lua`. */
  readonly script?: LuaScript;
}

type Args = readonly (string | number)[];

/** The script that holds the whole logic of the budget. */
export const budgetScript = (): LuaScript => readLua('./budget-8.lua', import.meta.url);

/** The budget that all workers share. Its whole logic is `budget-8.lua`; every method is one round trip. */
export function redisBudget(redis: RedisClient, options: RedisBudgetOptions): Budget {
  const { prefix, tell, watch, lostData } = options;
  const limits = limitsIn(options);
  const clock = options.clock ?? systemClock;
  const script = options.script ?? budgetScript();
  const memory = options.memory ?? lineMemory();
  const machine = options.machine ?? machineId();

  /** One run of the script. Undefined: it does not know the line, and `unknown` did not say what that means. */
  const evaluate = async (key: string, operation: string, unknown: '?' | 'new' | 'lost', args: Args) => {
    const names = ['held', 'flight', 'line', 'told', 'place', 'rounds', 'state', 'clocks'];
    const keys = names.map((name) => `${prefix}budget:{${key}}:${name}`);
    const { calls, windowMs } = limits;
    const { passedBy, lost } = lateness(limits);
    const sentAt = clock.monotonic();
    const known = memory.of(key, sentAt);
    const told = [machine, Math.floor(sentAt), known?.life ?? '', known?.offset ?? '', known?.seen ?? ''];
    const fixed = [operation, calls, windowMs, passedBy, lost, PASSES, recovery(limits)];
    const values = [...fixed, ...told, unknown, lostMs(key), ...args];
    const [wall, ...line] = replySchema.parse(await reachable(() => runLua(redis, script, keys, values)));
    const receivedAt = clock.monotonic();
    watch?.({ wall, sentAt, receivedAt });
    if (line.length === 0) return undefined;
    const [life, at, begunAnew, result] = line;
    if (life !== '') memory.learn(key, { life, at, sentAt, receivedAt });
    return { result, begunAnew: begunAnew === 1 };
  };

  /** Calls that nobody remembers may be out for this long (ms), and count for one window more. */
  const lostMs = (key: string): number => memory.holdMs(key) + limits.windowMs + 1;

  const run = async (key: string, operation: string, ...args: Args): Promise<unknown> =>
    (await evaluate(key, operation, '?', args))?.result;

  /** Of the operations that make a line where none is. */
  const runOrBegin = async (key: string, org: string, operation: string, ...args: Args): Promise<unknown> => {
    await lostData?.learn();
    let reply = await evaluate(key, operation, '?', args);
    if (reply === undefined) {
      const missed = memory.of(key, clock.monotonic()) !== undefined;
      // Asked in any case: it also tells the other processes.
      const lost = (await lostData?.within(lostMs(key))) === true || missed;
      reply = await evaluate(key, operation, lost ? 'lost' : 'new', args);
    }
    if (reply?.begunAnew) tell?.({ kind: 'lost', key, org, forMs: lostMs(key) });
    return reply?.result;
  };

  return {
    limits,
    ask: async ({ key, id, org, priority, holdMs }) => {
      const token = `${id}#${randomUUID()}`;
      memory.held(key, Math.ceil(holdMs));
      const [over, ...answer] = answerSchema.parse(
        await runOrBegin(key, org, 'ask', id, token, org, PRIORITIES.indexOf(priority), Math.ceil(holdMs)),
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
      const [first, limit, blocked, slowed] = blockSchema.parse(await runOrBegin(key, org, 'block', forMs));
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
