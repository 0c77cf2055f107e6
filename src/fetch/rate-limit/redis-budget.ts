import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { bootId, type SteadyClock, systemClock } from '../../base/clock.ts';
import type { WallClockReading } from '../../base/clock-steps.ts';
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
  readonly onEvent?: OnBudgetEvent;
  /** Told of each reading of the clock of Redis. */
  readonly onClockReading?: (reading: WallClockReading) => void;
  /** Whether Redis lost data; when absent, only the lines that this process used itself are known to be lost. */
  readonly dataLoss?: DataLossDetector;
  /** What this process remembers of the lines, where it has several budgets on the same ones. */
  readonly bucketClock?: BucketClock;
  /** Whose monotonic clock it is; see `machineId`. */
  readonly machine?: string;
  /** The script; a test may hand in one whose clock it moves. Default: `budget-8.lua`. */
  readonly script?: LuaScript;
}

type ScriptArgs = readonly (string | number)[];

/** The script that holds the whole logic of the budget. */
export const budgetScript = (): LuaScript => loadLuaScript('./budget-8.lua', import.meta.url);

/** The budget that all workers share. Its whole logic is `budget-8.lua`; every method is one round trip. */
export function redisBudget(redis: RedisClient, options: RedisBudgetOptions): Budget {
  const { prefix, onEvent, onClockReading, dataLoss } = options;
  const limits = currentLimits(options);
  const clock = options.clock ?? systemClock;
  const script = options.script ?? budgetScript();
  const memory = options.bucketClock ?? bucketClock();
  const machine = options.machine ?? bootId();

  /** One run of the script. Undefined: it does not know the line, and `unknown` did not say what that means. */
  const evaluate = async (key: string, operation: string, unknown: '?' | 'new' | 'lost', args: ScriptArgs) => {
    const names = ['held', 'flight', 'line', 'told', 'place', 'rounds', 'state', 'clocks'];
    const keys = names.map((name) => `${prefix}budget:{${key}}:${name}`);
    const { calls, windowMs } = limits;
    const { passedBy, lost } = waiterTimeouts(limits);
    const sentAt = clock.monotonic();
    const known = memory.get(key, sentAt);
    const told = [machine, Math.floor(sentAt), known?.life ?? '', known?.offset ?? '', known?.seen ?? ''];
    const fixed = [operation, calls, windowMs, passedBy, lost, STARVATION_LIMIT, tokensRecoveredPerWindow(limits)];
    const values = [...fixed, ...told, unknown, lostMs(key), ...args];
    const [wall, ...line] = replySchema.parse(
      await withRedisErrors(undefined, () => runLuaScript(redis, script, keys, values), BEFORE_CALL),
    );
    const receivedAt = clock.monotonic();
    onClockReading?.({ wall, sentAt, receivedAt });
    if (line.length === 0) return undefined;
    const [life, at, begunAnew, result] = line;
    if (life !== '') memory.record(key, { life, at, sentAt, receivedAt });
    return { result, begunAnew: begunAnew === 1 };
  };

  /** Calls that nobody remembers may be out for this long (ms), and count for one window more. */
  const lostMs = (key: string): number => memory.maxHoldMs(key) + limits.windowMs + 1;

  const run = async (key: string, operation: string, ...args: ScriptArgs): Promise<unknown> =>
    (await evaluate(key, operation, '?', args))?.result;

  /** Of the operations that make a line where none is. */
  const runOrBegin = async (key: string, org: string, operation: string, ...args: ScriptArgs): Promise<unknown> => {
    await dataLoss?.remember();
    let reply = await evaluate(key, operation, '?', args);
    if (reply === undefined) {
      const missed = memory.get(key, clock.monotonic()) !== undefined;
      // Asked in any case: it also tells the other processes.
      const lost = (await dataLoss?.lostWithin(lostMs(key))) === true || missed;
      reply = await evaluate(key, operation, lost ? 'lost' : 'new', args);
    }
    if (reply?.begunAnew) onEvent?.({ kind: 'lost', key, org, forMs: lostMs(key) });
    return reply?.result;
  };

  return {
    limits,
    acquire: async ({ key, id, org, priority, holdMs }) => {
      const token = `${id}#${randomUUID()}`;
      memory.recordHold(key, Math.ceil(holdMs));
      const [over, ...answer] = acquireReplySchema.parse(
        await runOrBegin(key, org, 'ask', id, token, org, PRIORITIES.indexOf(priority), Math.ceil(holdMs)),
      );
      if (over >= 0) onEvent?.({ kind: 'recovered', key, org, afterMs: over });
      return answer[0] === 1
        ? { granted: true, token, tokens: answer[1] }
        : { granted: false, tokens: answer[1], at: clock.now() + answer[2], ahead: answer[3] };
    },
    complete: async (key, token) => void (await run(key, 'replied', token)),
    release: async (key, token) => void (await run(key, 'unsent', token)),
    cancel: async (key, id) => void (await run(key, 'leave', id)),
    penalize: async (key, until, org) => {
      const forMs = Math.max(0, Math.ceil(until - clock.now()));
      const [first, limit, blocked, slowed] = penalizeReplySchema.parse(await runOrBegin(key, org, 'block', forMs));
      const now = clock.now();
      if (first === 1)
        onEvent?.({ kind: 'slowed', key, org, limit, blockedUntil: now + blocked, slowedUntil: now + slowed });
    },
    inspect: async (key) => {
      const [tokens, inFlight, waiting, blocked, throttled, limit, slowed] = inspectReplySchema.parse(
        await run(key, 'look'),
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

/** What a reply of the budget's script says of the line, and when it was asked and came by this machine's clock, ms. */
export interface BucketClockReading {
  readonly life: string;
  /** Ms of the line's own time. */
  readonly at: number;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** What one process tells the script of the line of a key. */
export interface BucketClockState {
  /** Names the line from when it was made until Redis forgets it. */
  readonly life: string;
  /** From the monotonic clock to the line's time, ms. */
  readonly offset: number;
  /** The line's time that was seen last. */
  readonly seen: number;
}

/** Script `budget-8.lua` keeps a line for at least this long (ms) after its last use. */
const BUCKET_TTL_MS = 7 * 86_400_000;
/** How much faster (ms a ms) the clock of Redis may be than ours without being held back. */
const MAX_DRIFT = 0.0002;
/** By more than this (ms) the line is behind our reckoning only if it has lost time. */
const CLOCK_TOLERANCE_MS = 5;

/** What one process remembers of the lines that it used: its evidence against a Redis whose clock or data has moved. */
export interface BucketClock {
  /** Undefined for a line that Redis need not know any more. @param now by the monotonic clock */
  get(key: string, now: number): BucketClockState | undefined;
  record(key: string, reading: BucketClockReading): void;
  /** How long a call of this key can be out unanswered, ms: the longest that was asked for. */
  maxHoldMs(key: string): number;
  recordHold(key: string, holdMs: number): void;
}

export function bucketClock(): BucketClock {
  interface Line {
    readonly life: string;
    /** The line was no further than `at` when the monotonic clock showed `receivedAt`. */
    readonly at: number;
    readonly receivedAt: number;
    readonly seen: number;
    readonly lastUsed: number;
  }
  const lines = new Map<string, Line>();
  const holds = new Map<string, number>();
  const reckoned = ({ at, receivedAt }: Line, now: number): number => at + (now - receivedAt) * (1 + MAX_DRIFT);
  return {
    get: (key, now) => {
      const line = lines.get(key);
      if (line === undefined || now - line.lastUsed >= BUCKET_TTL_MS) return undefined;
      return { life: line.life, seen: line.seen, offset: Math.floor(reckoned(line, now) - now) };
    },
    record: (key, { life, at, sentAt, receivedAt }) => {
      const before = lines.get(key);
      const same = before?.life === life ? before : undefined;
      const seen = Math.max(at, same?.seen ?? at);
      // The script ran before its reply came; of several replies the quickest tells best how far the line is.
      const keep =
        same !== undefined && reckoned(same, sentAt) <= at + CLOCK_TOLERANCE_MS && reckoned(same, receivedAt) > at;
      lines.set(
        key,
        keep ? { ...same, seen, lastUsed: receivedAt } : { life, at, receivedAt, seen, lastUsed: receivedAt },
      );
    },
    maxHoldMs: (key) => holds.get(key) ?? 0,
    recordHold: (key, holdMs) => void holds.set(key, Math.max(holdMs, holds.get(key) ?? 0)),
  };
}
