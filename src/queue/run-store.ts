import { z } from 'zod';
import { DocketError, type ErrorJson, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { MOST_WINDOW } from '../define/schedule.ts';
import {
  type Cancellation,
  ENDED,
  type Reopening,
  type RunOrder,
  type RunPosition,
  type RunRecord,
  type RunState,
  type RunStore,
} from '../run/record.ts';
import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import { repliesOf } from './pipeline.ts';
import { FOLLOW_IDS, idsFrom } from './run-ids.ts';
import { idsOf, MOVE_STATE, newestFirst } from './run-index.ts';
import { type RedisClient, script } from './script.ts';
import type { RunIds } from './short-id.ts';
import { NOT_STARTED, type RunProgress, readCancellation, recordOf, recordOfReply, toFields } from './stored-record.ts';

/** The run store of a server, with what only the queue asks of it. */
export interface RedisRunStore extends RunStore, RunIds {
  /**
   * Puts a run that has ended back to `queued`, as one step; the record as it is then. Undefined when the run is not in
   * one of these states (any more), or not on record.
   */
  reopen(id: string, from: readonly RunState[], reopening: Reopening): Promise<RunRecord | undefined>;
  /**
   * Writes down that the run is to stop, as one step; whoever asks second changes nothing. The record as it is then,
   * unchanged when it had ended; undefined when it is not on record.
   */
  askToCancel(id: string, cancellation: Cancellation): Promise<RunRecord | undefined>;
  /** Which of these runs were told to stop. */
  toldToStop(ids: readonly string[]): Promise<readonly string[]>;
  /** Records a slot that is not opened, as one step; false when it was opened or skipped before. */
  skip(order: RunOrder, why: ErrorJson): Promise<boolean>;
  /**
   * Runs that have not ended and were created before `before` (epoch ms), oldest first, those of one instant by id; fewer
   * than `limit` only when there are no more.
   */
  unfinished(before: number, limit: number, after?: RunPosition): Promise<readonly RunPosition[]>;
}

/** Clocks of two processes may differ by so much, ms. */
const AHEAD_MS = 300_000;

// KEYS: record, ids, organizations, indexes, the one of all runs first…, unfinished (of a run that is to be made)
// ARGV: id, created, ttl ms, states' prefix, org, record's fields…
// A slot that was skipped by a clock far ahead of this one was not due then: the skip is void.
// The clock of the server bounds what is dropped: a client whose clock is ahead must not throw away the others' runs.
const OPEN = script(`
${MOVE_STATE}
${FOLLOW_IDS}
local found = redis.call('HGETALL', KEYS[1])
local early = false
if #found > 0 then
  local held = redis.call('HMGET', KEYS[1], 'state', 'order')
  early = held[1] == 'skipped' and cjson.decode(held[2]).createdAt > ARGV[2] + ${AHEAD_MS}
  if not early then return {0, found} end
  redis.call('DEL', KEYS[1])
end
local fields = {}
for i = 6, #ARGV do fields[#fields + 1] = ARGV[i] end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local time = redis.call('TIME')
local now = math.min(tonumber(ARGV[2]), time[1] * 1000)
followIds(KEYS[2], KEYS[4], ARGV[1], now - ARGV[3])
for i = 3, #KEYS do
  redis.call('ZADD', KEYS[i], ARGV[2], i == 3 and ARGV[5] or ARGV[1])
  trim(KEYS[i], now - ARGV[3], ARGV[3])
end
local known = redis.call('HMGET', KEYS[1], 'order', 'state')
moveState(ARGV[4], known[1], ARGV[1], early and 'skipped' or false, known[2], tonumber(ARGV[3]))
return {1, fields}
`);

// KEYS: record, unfinished, cancels  ARGV: id, ttl ms, states' prefix, the state it goes to or '', fields…
// A run that has ended stays as it ended: a worker that lost its lock and has not noticed must not bring it back, nor end
// it otherwise. One that was told to stop does not go on: whoever says it does is told by whom.
const UPDATE = script(`
${MOVE_STATE}
local ENDED = { ${[...ENDED].map((state) => `${state} = true`).join(', ')} }
local known = redis.call('HMGET', KEYS[1], 'state', 'order', 'cancel')
local state, to = known[1], ARGV[4]
if not state then return 'missing' end
if to ~= '' and ENDED[state] then return 'ended' end
if to ~= '' and not ENDED[to] and known[3] and known[3] ~= 'null' then return known[3] end
local fields = {}
for i = 5, #ARGV do fields[#fields + 1] = ARGV[i] end
if #fields > 0 then redis.call('HSET', KEYS[1], unpack(fields)) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if to ~= '' then moveState(ARGV[3], known[2], ARGV[1], state, to, tonumber(ARGV[2])) end
if ENDED[to] then
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('SREM', KEYS[3], ARGV[1])
end
return 'written'
`);

const APPEND = `
local function append(list, entry)
  local before = string.sub(list, 1, -2)
  if before ~= '[' then before = before .. ',' end
  return before .. entry .. ']'
end
`;

// KEYS: record, unfinished, cancels  ARGV: id, ttl ms, states' prefix, the reopening as JSON, states it may be in…
// Each reopening names its moment and who asked: the client's repetition of a command finds its own, and changes nothing.
const REOPEN = script(`
${MOVE_STATE}
${APPEND}
local held = redis.call('HMGET', KEYS[1], 'state', 'reopened', 'order')
local state, reopened = held[1], held[2] or '[]'
if not state then return 0 end
if string.sub(reopened, -#ARGV[4] - 1, -2) == ARGV[4] then return 1 end
local may = false
for i = 5, #ARGV do may = may or ARGV[i] == state end
if not may then return 0 end
redis.call('HSET', KEYS[1], 'state', 'queued', 'startedAt', 'null', 'finishedAt', 'null', 'until', 'null',
  'error', 'null', 'cancel', 'null', 'reopened', append(reopened, ARGV[4]))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
moveState(ARGV[3], held[3], ARGV[1], state, 'queued', tonumber(ARGV[2]))
redis.call('ZADD', KEYS[2], cjson.decode(held[3]).createdAt, ARGV[1])
redis.call('SREM', KEYS[3], ARGV[1])
return 1
`);

// KEYS: record, cancels  ARGV: id, ttl ms, the cancellation as JSON, the same as an entry of what was decided
const CANCEL = script(`
${APPEND}
local ENDED = { ${[...ENDED].map((state) => `${state} = true`).join(', ')} }
local held = redis.call('HMGET', KEYS[1], 'state', 'reopened', 'cancel')
if not held[1] or ENDED[held[1]] or (held[3] and held[3] ~= 'null') then return 0 end
redis.call('HSET', KEYS[1], 'cancel', ARGV[3], 'reopened', append(held[2] or '[]', ARGV[4]))
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1
`);

const fieldsSchema = z.record(z.string(), z.string());

const DAY_MS = 86_400_000;
/** Records must outlive the longest `catch_up_window`, or a slot could be opened a second time. */
const LEAST_DAYS = MOST_WINDOW / 86_400 + 1;

/**
 * The record of runs in Redis: one hash a run, and sorted sets by time of creation. Each method is one step or one
 * read. Throws `redis.unreachable` when the server is away; `update` throws `run.not_found` for a run it does not hold, and
 * `run.cancelled` for one that was told to stop when the change says that it goes on; `get` throws `run.unreadable` for a
 * record that is not ours, which a listing leaves out and logs.
 *
 * @param keepDays days after its last change for which a run is kept; at least 32
 * @param ended called after a run has failed or was cancelled: what it kept for going on may go; its failure changes nothing
 */
export function redisRunStore(
  redis: RedisClient,
  {
    prefix,
    keepDays,
    log,
    ended = async () => {},
  }: {
    readonly prefix: string;
    readonly keepDays: number;
    readonly log?: Pick<Log, 'error'>;
    readonly ended?: (run: string) => Promise<void>;
  },
): RedisRunStore {
  if (!(keepDays >= LEAST_DAYS)) {
    throw new DocketError('config.invalid', 'Runs would be forgotten while their slots can still be caught up.', {
      expected: `records kept for ${LEAST_DAYS} days or more`,
      got: `${keepDays} days`,
    });
  }
  const keys = keysOf(prefix);
  const ttl = Math.round(keepDays * DAY_MS);

  const read = async (ids: readonly string[], unreadable = refuse): Promise<RunRecord[]> => {
    if (ids.length === 0) return [];
    const pipeline = redis.pipeline();
    for (const id of ids) pipeline.hgetall(keys.record(id));
    const records: RunRecord[] = [];
    for (const [index, reply] of (await repliesOf(pipeline)).entries()) {
      const fields = fieldsSchema.parse(reply);
      // An index may name a run whose record has just expired.
      if (fields.order === undefined) continue;
      try {
        records.push(recordOf(ids[index] ?? '', fields));
      } catch (thrown) {
        unreadable(ids[index] ?? '', thrown);
      }
    }
    return records;
  };
  const refuse = (_: string, thrown: unknown): void => {
    throw thrown;
  };
  // One that cannot be read must not hide all others.
  const leaveOut = (id: string, thrown: unknown): void => {
    log?.error('The record of a run cannot be read; listings leave it out', {
      run: id,
      why: toDocketError(thrown).got ?? '',
    });
  };

  const write = async (order: RunOrder, progress: RunProgress) => {
    const { id, org, report, createdAt } = order;
    const indexes = [keys.orgs, keys.index(), keys.index({ org }), keys.index({ org, report })];
    const reply = await OPEN(
      redis,
      [keys.record(id), keys.ids, ...indexes, ...(ENDED.has(progress.state) ? [] : [keys.unfinished])],
      [id, createdAt, ttl, keys.states, org, ...toFields({ order, ...progress })],
    );
    if (!Array.isArray(reply) || !Array.isArray(reply[1])) throw new Error('the script answered something else');
    const fields: readonly unknown[] = reply[1];
    return { opened: reply[0] === 1, fields };
  };

  return {
    open: (order) =>
      asking(redis, async () => {
        const { opened, fields } = await write(order, NOT_STARTED);
        return { opened, record: recordOfReply(order.id, fields) };
      }),

    skip: (order, why) =>
      asking(redis, async () => {
        const ended = { ...NOT_STARTED, state: 'skipped' as const, finishedAt: order.createdAt, error: why };
        return (await write(order, ended)).opened;
      }),

    get: (id) => asking(redis, async () => (await read([id]))[0]),

    idsFrom: (prefix, after) => asking(redis, () => idsFrom(redis, keys, prefix, after)),

    update: (id, change) =>
      asking(redis, async () => {
        const reply = await UPDATE(
          redis,
          [keys.record(id), keys.unfinished, keys.cancels],
          [id, ttl, keys.states, change.state ?? '', ...toFields(change)],
        );
        if (reply === 'missing') {
          throw new DocketError('run.not_found', `The run ${id} is not on record.`, {
            next: 'It may have been forgotten after its time; list the runs that are kept with `docket runs`.',
          });
        }
        if (typeof reply === 'string' && reply.startsWith('{')) throw cancelled(readCancellation(reply));
        // Other ends have their files, and have dropped it then.
        if (change.state === 'failed' || change.state === 'cancelled') await ended(id).catch(() => {});
      }),

    reopen: (id, from, reopening) =>
      asking(redis, async () => {
        const args = [id, ttl, keys.states, JSON.stringify(reopening), ...from];
        return (await REOPEN(redis, [keys.record(id), keys.unfinished, keys.cancels], args)) === 1
          ? (await read([id]))[0]
          : undefined;
      }),

    askToCancel: (id, cancellation) =>
      asking(redis, async () => {
        const decision: Reopening = { what: 'cancel', ...cancellation };
        const args = [id, ttl, JSON.stringify(cancellation), JSON.stringify(decision)];
        await CANCEL(redis, [keys.record(id), keys.cancels], args);
        return (await read([id]))[0];
      }),

    toldToStop: (ids) =>
      asking(redis, async () => {
        const told = await redis.smismember(keys.cancels, ...ids);
        return ids.filter((_, index) => told[index] === 1);
      }),

    list: (filter) =>
      asking(redis, async () => {
        const { limit } = filter;
        const found = new Map<string, RunRecord>();
        for await (const ids of idsOf(redis, keys, filter)) {
          for (let rest = ids; rest.length > 0 && found.size < limit; ) {
            const next = rest.slice(0, limit - found.size);
            rest = rest.slice(next.length);
            // An index is as old as the moment it was read: a run that has left the state since is none of these.
            for (const record of await read(next, leaveOut)) {
              if (filter.states === undefined || filter.states.includes(record.state)) found.set(record.id, record);
            }
          }
          if (found.size >= limit) break;
        }
        return [...found.values()];
      }),

    unfinished: (before, limit, after) =>
      asking(redis, async () => {
        const since = after?.createdAt ?? '-inf';
        const rows: RunPosition[] = [];
        // Runs of the same millisecond as the last one may fill a page of their own.
        for (let from = 0; rows.length < limit; from += limit) {
          const flat = await redis.zrangebyscore(keys.unfinished, since, before, 'WITHSCORES', 'LIMIT', from, limit);
          for (let i = 0; i + 1 < flat.length; i += 2) {
            const row = { id: flat[i] ?? '', createdAt: Number(flat[i + 1]) };
            if (after === undefined || newestFirst(row, after) < 0) rows.push(row);
          }
          if (flat.length < 2 * limit) break;
        }
        return rows.slice(0, limit);
      }),
  };
}

/** What a run that was told to stop ends with. */
export const cancelled = ({ by, reason }: Cancellation): DocketError =>
  new DocketError('run.cancelled', `The run was cancelled by ${by}: ${reason}`, {
    next: 'What was delivered before is listed; `docket runs retry` goes on with the rest.',
  });
