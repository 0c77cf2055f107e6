import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { WallClockReading } from '../../base/clock.ts';
import { bootId, type SteadyClock, systemClock } from '../../base/clock.ts';
import { DAY_MS } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import type { DataLossDetector } from '../../redis/data-loss.ts';
import { BEFORE_CALL, withRedisErrors } from '../../redis/errors.ts';
import { type LuaScript, loadLuaScript, runLuaScript } from '../../redis/script.ts';
import {
  type Budget,
  type BudgetLimits,
  currentLimits,
  type OnBudgetEvent,
  PRIORITIES,
  STARVATION_LIMIT,
  tokensRecoveredPerWindow,
  waiterTimeouts,
} from './budget.ts';

const acquireReplySchema = z.union([
  z.tuple([z.int(), z.literal(1), z.int()]),
  z.tuple([z.int(), z.literal(0), z.int(), z.int(), z.int()]),
]);
const penalizeReplySchema = z.tuple([z.literal([0, 1]), z.int(), z.int(), z.int()]);
const inspectReplySchema = z.tuple([z.int(), z.int(), z.int(), z.int(), z.int(), z.int(), z.int()]);

/** Every reply: the wall clock of Redis, then generation, the bucket's time, whether it was reset, and the result. */
const replySchema = z.union([
  z.tuple([z.int()]),
  z.tuple([z.int(), z.string(), z.int(), z.literal([0, 1]), z.unknown()]),
]);

export interface RedisBudgetOptions extends BudgetLimits {
  /** Prefix of every key in Redis, e.g. `docket:`. Metrics calls and list reads need different ones. */
  readonly prefix: string;
  /** For instants in requests and results; Redis uses its own clock. */
  readonly clock?: SteadyClock;
  /** Called for events that this process sees first; other workers do not report them again. */
  readonly onEvent?: OnBudgetEvent;
  /** Called with each reading of the clock of Redis. */
  readonly onClockReading?: (reading: WallClockReading) => void;
  /** Detects that Redis lost data; when absent, only buckets that this process has used are known to be lost. */
  readonly dataLoss?: DataLossDetector;
  /** Shared by the budgets of one process that use the same buckets. */
  readonly bucketClock?: BucketClock;
  /** Identifies the monotonic clock; see `bootId`. */
  readonly machine?: string;
  /** Default: `budget-9.lua`. Tests pass one with a fake clock. */
  readonly script?: LuaScript;
}

/** In front of the tokens of spare calls, by which the script counts them. No waiter's id starts so. */
const SPARE_PREFIX = 'spare!';

type ScriptArgs = readonly (string | number)[];

/** The script with the whole logic of the budget. */
export const budgetScript = (): LuaScript => loadLuaScript('./budget-9.lua', import.meta.url);

/** The budget shared by all workers. All logic is in `budget-9.lua`; every method is one round trip. */
export function redisBudget(redis: RedisClient, options: RedisBudgetOptions): Budget {
  const { prefix, onEvent, onClockReading, dataLoss } = options;
  const limits = currentLimits(options);
  const clock = options.clock ?? systemClock;
  const script = options.script ?? budgetScript();
  const memory = options.bucketClock ?? bucketClock();
  const machine = options.machine ?? bootId();

  /** Runs the script once. Undefined: Redis has no state of the key, and `whenMissing` was `?`. */
  const evaluate = async (key: string, operation: string, whenMissing: '?' | 'new' | 'lost', args: ScriptArgs) => {
    // The names of the keys are stored: `line` is the queue, `told` and `place` are its waiters.
    const names = ['held', 'flight', 'line', 'told', 'place', 'rounds', 'state', 'clocks'];
    const keys = names.map((name) => `${prefix}budget:{${key}}:${name}`);
    const { calls, windowMs } = limits;
    const { overtakenAfterMs, expiresAfterMs } = waiterTimeouts(limits);
    const recovery = tokensRecoveredPerWindow(limits);
    const sentAt = clock.monotonic();
    const known = memory.get(key, sentAt);
    const limitArgs = [calls, windowMs, overtakenAfterMs, expiresAfterMs, STARVATION_LIMIT, recovery];
    const clockArgs = [machine, Math.floor(sentAt), known?.generation ?? '', known?.offset ?? '', known?.seen ?? ''];
    const values = [operation, ...limitArgs, ...clockArgs, whenMissing, lostMs(key), ...args];
    const [wall, ...rest] = replySchema.parse(
      await withRedisErrors(undefined, () => runLuaScript(redis, script, keys, values), BEFORE_CALL),
    );
    const receivedAt = clock.monotonic();
    onClockReading?.({ wall, sentAt, receivedAt });
    if (rest.length === 0) return undefined;
    const [generation, at, wasReset, result] = rest;
    if (generation !== '') memory.record(key, { generation, at, sentAt, receivedAt });
    return { result, wasReset: wasReset === 1 };
  };

  /** Lost calls may be in flight for this long (ms), one window included. */
  const lostMs = (key: string): number => memory.maxHoldMs(key) + limits.windowMs + 1;

  const run = async (key: string, operation: string, ...args: ScriptArgs): Promise<unknown> =>
    (await evaluate(key, operation, '?', args))?.result;

  /** For operations that create missing state. */
  const runOrCreate = async (key: string, org: string, operation: string, ...args: ScriptArgs): Promise<unknown> => {
    await dataLoss?.remember();
    let reply = await evaluate(key, operation, '?', args);
    if (reply === undefined) {
      const isMissing = memory.get(key, clock.monotonic()) !== undefined;
      // Called in any case: it also notifies the other processes.
      const lost = (await dataLoss?.lostWithin(lostMs(key))) === true || isMissing;
      reply = await evaluate(key, operation, lost ? 'lost' : 'new', args);
    }
    if (reply?.wasReset) onEvent?.({ kind: 'lost', key, org, forMs: lostMs(key) });
    return reply?.result;
  };

  return {
    limits,
    acquire: async ({ key, id, org, priority, holdMs }) => {
      const spare = priority === 'correction';
      const token = `${spare ? SPARE_PREFIX : ''}${id}#${randomUUID()}`;
      const [operation, rank] = spare ? ['spare', PRIORITIES.length] : ['acquire', PRIORITIES.indexOf(priority)];
      memory.recordHold(key, Math.ceil(holdMs));
      const [recoveredAfterMs, ...reply] = acquireReplySchema.parse(
        await runOrCreate(key, org, operation, id, token, org, rank, Math.ceil(holdMs)),
      );
      if (recoveredAfterMs >= 0) onEvent?.({ kind: 'recovered', key, org, afterMs: recoveredAfterMs });
      return reply[0] === 1
        ? { granted: true, token, tokens: reply[1] }
        : { granted: false, tokens: reply[1], at: clock.now() + reply[2], ahead: reply[3] };
    },
    complete: async (key, token) => void (await run(key, 'complete', token)),
    release: async (key, token) => void (await run(key, 'release', token)),
    cancel: async (key, id) => void (await run(key, 'cancel', id)),
    penalize: async (key, until, org) => {
      const forMs = Math.max(0, Math.ceil(until - clock.now()));
      const [first, limit, blocked, slowed] = penalizeReplySchema.parse(await runOrCreate(key, org, 'penalize', forMs));
      const now = clock.now();
      if (first === 1)
        onEvent?.({ kind: 'slowed', key, org, limit, blockedUntil: now + blocked, slowedUntil: now + slowed });
    },
    inspect: async (key) => {
      const [tokens, inFlight, waiting, blocked, throttled, limit, slowed] = inspectReplySchema.parse(
        await run(key, 'inspect'),
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

/** The bucket's time as a reply gave it, and when request and reply were sent and received on the monotonic clock, ms. */
interface BucketClockReading {
  readonly generation: string;
  readonly at: number;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** What a process reports to the script about the bucket of a key. */
interface BucketClockState {
  /** Identifies the bucket from its creation until Redis drops it (field `life`). */
  readonly generation: string;
  /** From the monotonic clock to the bucket's time, ms. */
  readonly offset: number;
  /** The latest bucket time seen. */
  readonly seen: number;
}

/** `budget-9.lua` keeps a bucket for at least this long (ms) after its last use. */
const BUCKET_TTL_MS = 7 * DAY_MS;
/** Tolerated excess speed of the clock of Redis over ours, ms per ms. */
const MAX_DRIFT = 0.0002;
/** A bucket behind our estimate by more than this (ms) has lost time. */
const CLOCK_TOLERANCE_MS = 5;

/** The time of the buckets that one process has used. Shows that the clock of Redis was stepped or its data was lost. */
export interface BucketClock {
  /** Undefined for a bucket that Redis may have dropped. @param now on the monotonic clock */
  get(key: string, now: number): BucketClockState | undefined;
  record(key: string, reading: BucketClockReading): void;
  /** The longest that a call of this key can be unanswered, ms. */
  maxHoldMs(key: string): number;
  recordHold(key: string, holdMs: number): void;
}

export function bucketClock(): BucketClock {
  interface Bucket {
    readonly generation: string;
    /** Upper bound of the bucket's time when the monotonic clock read `receivedAt`. */
    readonly at: number;
    readonly receivedAt: number;
    readonly seen: number;
    readonly lastUsed: number;
  }
  const buckets = new Map<string, Bucket>();
  const holds = new Map<string, number>();
  const estimatedTime = ({ at, receivedAt }: Bucket, now: number): number => at + (now - receivedAt) * (1 + MAX_DRIFT);
  return {
    get: (key, now) => {
      const bucket = buckets.get(key);
      if (bucket === undefined || now - bucket.lastUsed >= BUCKET_TTL_MS) return undefined;
      const { generation, seen } = bucket;
      return { generation, seen, offset: Math.floor(estimatedTime(bucket, now) - now) };
    },
    record: (key, { generation, at, sentAt, receivedAt }) => {
      const before = buckets.get(key);
      const same = before?.generation === generation ? before : undefined;
      const seen = Math.max(at, same?.seen ?? at);
      // The script ran before its reply was received: the quickest of several replies gives the tightest bound.
      const keep =
        same !== undefined &&
        estimatedTime(same, sentAt) <= at + CLOCK_TOLERANCE_MS &&
        estimatedTime(same, receivedAt) > at;
      buckets.set(
        key,
        keep ? { ...same, seen, lastUsed: receivedAt } : { generation, at, receivedAt, seen, lastUsed: receivedAt },
      );
    },
    maxHoldMs: (key) => holds.get(key) ?? 0,
    recordHold: (key, holdMs) => void holds.set(key, Math.max(holdMs, holds.get(key) ?? 0)),
  };
}
