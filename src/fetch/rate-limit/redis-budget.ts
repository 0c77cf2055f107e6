import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { WallClockReading } from '../../base/clock.ts';
import { bootId, type SteadyClock, systemClock } from '../../base/clock.ts';
import type { RedisClient } from '../../redis/client.ts';
import type { DataLossDetector } from '../../redis/data-loss.ts';
import { BEFORE_CALL, withRedisErrors } from '../../redis/errors.ts';
import { type LuaScript, loadLuaScript, runLuaScript } from '../../redis/script.ts';
import { type BucketClock, bucketClock } from './bucket-clock.ts';
import {
  type Budget,
  type BudgetLimits,
  currentLimits,
  isSpareClass,
  type OnBudgetEvent,
  PRIORITIES,
  type SpareClass,
  STARVATION_LIMIT,
  tokensRecoveredPerWindow,
  waiterTimeouts,
} from './budget.ts';
import { localWaiters } from './local-waiters.ts';

const acquireReplySchema = z.union([
  z.tuple([z.int(), z.literal(1), z.int(), z.array(z.string())]),
  z.tuple([z.int(), z.literal(0), z.int(), z.int(), z.int()]),
]);
const penalizeReplySchema = z.tuple([z.literal([0, 1]), z.int(), z.int(), z.int()]);
const inspectReplySchema = z.tuple([z.int(), z.int(), z.int(), z.int(), z.int(), z.int(), z.int()]);

/** A reply: the wall clock of Redis, then generation, the bucket's time, whether it was reset, and the results. */
const replySchema = z.union([
  z.tuple([z.int()]),
  z.tuple([z.int(), z.string(), z.int(), z.literal([0, 1]), z.array(z.unknown())]),
]);

export interface RedisBudgetOptions extends BudgetLimits {
  /** Prefix of every key in Redis, e.g. `docket:`. Metrics calls and list reads need different ones. */
  readonly prefix: string;
  /** For instants in requests and results; Redis uses its own clock. */
  readonly clock?: SteadyClock;
  /** Called for events that this process sees first. Other workers do not report them again. */
  readonly onEvent?: OnBudgetEvent;
  /** Called with each reading of the clock of Redis. */
  readonly onClockReading?: (reading: WallClockReading) => void;
  /** Detects that Redis lost data. Absent: only the loss of buckets that this process has used is noticed. */
  readonly dataLoss?: DataLossDetector;
  /** Shared by all budgets in a process that use the same buckets. */
  readonly bucketClock?: BucketClock;
  /** Identifies the monotonic clock; see `bootId`. */
  readonly machine?: string;
  /** Default: `budget-10.lua`. Tests pass one with a fake clock. */
  readonly script?: LuaScript;
}

/**
 * For each spare class: its operation, and the prefix of its tokens, by which the script counts them. No waiter's id
 * begins like this. Version 0.2.0 counts the tokens of preparations as those of runs.
 */
const SPARE: Record<SpareClass, { readonly operation: Operation['name']; readonly prefix: string }> = {
  correction: { operation: 'spare', prefix: 'spare!' },
  preparation: { operation: 'prepare', prefix: 'prep!' },
};

/** One operation of the script. */
interface Operation {
  readonly name: 'acquire' | 'spare' | 'prepare' | 'complete' | 'release' | 'cancel' | 'penalize' | 'inspect';
  readonly args: readonly (string | number)[];
  /** For operations that create missing state: the organization that the call belongs to. */
  readonly creates?: string;
}

/** The most operations in one call of the script. Redis does nothing else meanwhile, for less than a millisecond. */
const MAX_BATCH = 32;

/** The script with the whole logic of the budget. */
export const budgetScript = (): LuaScript => loadLuaScript('./budget-10.lua', import.meta.url);

/**
 * The budget that all workers share. All logic is in `budget-10.lua`. Every method is one round trip, and calls for the
 * same key in the same turn of the event loop share one call of the script.
 */
export function redisBudget(redis: RedisClient, options: RedisBudgetOptions): Budget {
  const { prefix, onEvent, onClockReading, dataLoss } = options;
  const limits = currentLimits(options);
  const clock = options.clock ?? systemClock;
  const script = options.script ?? budgetScript();
  const memory = options.bucketClock ?? bucketClock();
  const machine = options.machine ?? bootId();

  /** Runs the script once. Undefined if Redis has no state of the key and `whenMissing` is `?`. */
  const evaluate = async (key: string, whenMissing: '?' | 'new' | 'lost', operations: readonly Operation[]) => {
    // Names of stored keys, which must not change: `line` is the queue, `told` and `place` hold its waiters.
    const names = ['held', 'flight', 'line', 'told', 'place', 'rounds', 'state', 'clocks'];
    const keys = names.map((name) => `${prefix}budget:{${key}}:${name}`);
    const { calls, windowMs } = limits;
    const { overtakenAfterMs, expiresAfterMs } = waiterTimeouts(limits);
    const recovery = tokensRecoveredPerWindow(limits);
    const sentAt = clock.monotonic();
    const known = memory.get(key, sentAt);
    const limitArgs = [calls, windowMs, overtakenAfterMs, expiresAfterMs, STARVATION_LIMIT, recovery];
    const knownArgs = [known?.generation ?? '', known?.offset ?? '', known?.seen ?? '', known?.isDue === true ? 1 : 0];
    const headArgs = [...limitArgs, machine, Math.floor(sentAt), ...knownArgs, whenMissing, lostMs(key)];
    const values = [...headArgs, ...operations.flatMap(({ name, args }) => [name, ...args])];
    const [wall, ...rest] = replySchema.parse(
      await withRedisErrors(undefined, () => runLuaScript(redis, script, keys, values), BEFORE_CALL),
    );
    const receivedAt = clock.monotonic();
    onClockReading?.({ wall, sentAt, receivedAt });
    if (rest.length === 0) return undefined;
    const [generation, at, wasReset, results] = rest;
    if (generation !== '') memory.record(key, { generation, at, sentAt, receivedAt });
    return { results, wasReset: wasReset === 1 };
  };

  /** How long (ms) lost calls may still be in flight or count, one window included. */
  const lostMs = (key: string): number => memory.maxHoldMs(key) + limits.windowMs + 1;

  const evaluateOrCreate = async (key: string, operations: readonly Operation[]): Promise<readonly unknown[]> => {
    const org = operations.find(({ creates }) => creates !== undefined)?.creates;
    if (org !== undefined) await dataLoss?.remember();
    let reply = await evaluate(key, '?', operations);
    if (reply === undefined) {
      const isMissing = memory.get(key, clock.monotonic()) !== undefined;
      // Called in any case, because it also notifies the other processes.
      const lost = (await dataLoss?.lostWithin(lostMs(key))) === true || isMissing;
      reply = await evaluate(key, lost ? 'lost' : 'new', operations);
    }
    if (reply?.wasReset && org !== undefined) onEvent?.({ kind: 'lost', key, org, forMs: lostMs(key) });
    return reply?.results ?? [];
  };
  const run = batchByKey(evaluateOrCreate, MAX_BATCH);

  return {
    limits,
    waiters: localWaiters(),
    acquire: async ({ key, id, org, turn = org, priority, holdMs }) => {
      const spare = isSpareClass(priority) ? SPARE[priority] : undefined;
      const token = `${spare?.prefix ?? ''}${id}#${randomUUID()}`;
      const name = spare?.operation ?? 'acquire';
      const rank = isSpareClass(priority) ? PRIORITIES.length : PRIORITIES.indexOf(priority);
      memory.recordHold(key, Math.ceil(holdMs));
      const args = [id, token, turn, rank, Math.ceil(holdMs)];
      const [recoveredAfterMs, ...reply] = acquireReplySchema.parse(await run(key, { name, args, creates: org }));
      if (recoveredAfterMs >= 0) onEvent?.({ kind: 'recovered', key, org, afterMs: recoveredAfterMs });
      return reply[0] === 1
        ? { granted: true, token, tokens: reply[1], next: reply[2] }
        : { granted: false, tokens: reply[1], at: clock.now() + reply[2], ahead: reply[3] };
    },
    complete: async (key, token) => void (await run(key, { name: 'complete', args: [token] })),
    release: async (key, token) => void (await run(key, { name: 'release', args: [token] })),
    cancel: async (key, id) => void (await run(key, { name: 'cancel', args: [id] })),
    penalize: async (key, until, org) => {
      const forMs = Math.max(0, Math.ceil(until - clock.now()));
      const [first, limit, blocked, slowed] = penalizeReplySchema.parse(
        await run(key, { name: 'penalize', args: [forMs], creates: org }),
      );
      const now = clock.now();
      if (first === 1)
        onEvent?.({ kind: 'slowed', key, org, limit, blockedUntil: now + blocked, slowedUntil: now + slowed });
    },
    inspect: async (key) => {
      const reply = await evaluate(key, '?', [{ name: 'inspect', args: [] }]);
      const [tokens, inFlight, waiting, blocked, throttled, limit, slowed] = inspectReplySchema.parse(
        reply?.results[0],
      );
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

interface Pending<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Collects items of the same key that come in the same turn of the event loop and runs them together, at most `max` at
 * once.
 *
 * @param run returns one result for each item, in order. If it rejects, all of its items do.
 */
export function batchByKey<Item, Result>(
  run: (key: string, items: readonly Item[]) => Promise<readonly Result[]>,
  max: number,
): (key: string, item: Item) => Promise<Result> {
  const batches = new Map<string, Pending<Item, Result>[]>();
  const flush = async (key: string, batch: Pending<Item, Result>[]): Promise<void> => {
    if (batches.get(key) === batch) batches.delete(key);
    try {
      const results = await run(
        key,
        batch.map(({ item }) => item),
      );
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  };
  return (key, item) =>
    new Promise((resolve, reject) => {
      const open = batches.get(key);
      if (open !== undefined && open.length < max) {
        open.push({ item, resolve, reject });
        return;
      }
      const batch = [{ item, resolve, reject }];
      batches.set(key, batch);
      // Waits for the timers of this turn: those that fire together acquire together.
      setImmediate(() => void flush(key, batch));
    });
}
