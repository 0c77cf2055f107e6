import { z } from 'zod';
import { DocketError } from '../base/error.ts';
import { ENDED, type Reopening, type RunRecord, type RunState, type RunStore } from '../run/record.ts';
import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import { type RedisClient, script } from './script.ts';
import { fromFields, fromReply, NOT_STARTED, toFields } from './stored-record.ts';

/** The run store of a server, with what only the queue asks of it. */
export interface RedisRunStore extends RunStore {
  /**
   * Puts a run that has ended back to `queued`, as one step; the record as it is then. Undefined when the run is not in
   * one of these states (any more), or not on record.
   */
  reopen(id: string, from: readonly RunState[], reopening: Reopening): Promise<RunRecord | undefined>;
  /** Runs that have not ended and were created before `before` (epoch ms), oldest first. */
  unfinished(before: number, limit: number): Promise<readonly { readonly id: string; readonly createdAt: number }[]>;
}

// KEYS: record, unfinished, indexes…  ARGV: id, created, ttl ms, record's fields…
// The clock of the server bounds what is dropped: a client whose clock is ahead must not throw away the others' runs.
const OPEN = script(`
local found = redis.call('HGETALL', KEYS[1])
if #found > 0 then return {0, found} end
local fields = {}
for i = 4, #ARGV do fields[#fields + 1] = ARGV[i] end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local time = redis.call('TIME')
local now = math.min(tonumber(ARGV[2]), time[1] * 1000)
for i = 2, #KEYS do
  redis.call('ZADD', KEYS[i], ARGV[2], ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', '(' .. string.format('%.0f', now - ARGV[3]))
  redis.call('PEXPIRE', KEYS[i], ARGV[3])
end
return {1, fields}
`);

// KEYS: record, unfinished  ARGV: id, ttl ms, what the change means ('ends', 'goes on' or ''), fields…
// A run that has ended stays ended: a worker that lost its lock and has not noticed must not bring it back.
const UPDATE = script(`
local ENDED = { ${[...ENDED].map((state) => `${state} = true`).join(', ')} }
local state = redis.call('HGET', KEYS[1], 'state')
if not state then return 'missing' end
if ENDED[state] and ARGV[3] == 'goes on' then return 'ended' end
local fields = {}
for i = 4, #ARGV do fields[#fields + 1] = ARGV[i] end
if #fields > 0 then redis.call('HSET', KEYS[1], unpack(fields)) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if ARGV[3] == 'ends' then
  redis.call('ZREM', KEYS[2], ARGV[1])
end
return 'written'
`);

// KEYS: record, unfinished  ARGV: id, ttl ms, the reopening as JSON, states it may be in…
// Each reopening names its moment and who asked: the client's repetition of a command finds its own, and changes nothing.
const REOPEN = script(`
local held = redis.call('HMGET', KEYS[1], 'state', 'reopened', 'order')
local state, reopened = held[1], held[2] or '[]'
if not state then return 0 end
if string.sub(reopened, -#ARGV[3] - 1, -2) == ARGV[3] then return 1 end
local may = false
for i = 4, #ARGV do may = may or ARGV[i] == state end
if not may then return 0 end
local before = string.sub(reopened, 1, -2)
if before ~= '[' then before = before .. ',' end
redis.call('HSET', KEYS[1], 'state', 'queued', 'startedAt', 'null', 'finishedAt', 'null', 'until', 'null',
  'error', 'null', 'reopened', before .. ARGV[3] .. ']')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('ZADD', KEYS[2], cjson.decode(held[3]).createdAt, ARGV[1])
return 1
`);

const fieldsSchema = z.record(z.string(), z.string());

const DAY_MS = 86_400_000;
/** Records must outlive the window of catch-up (3 days), or a slot could be opened a second time. */
const LEAST_DAYS = 4;
/** Records read at once when a listing has to leave some out. */
const PAGE = 200;

/**
 * The record of runs in Redis: one hash a run, and sorted sets by time of creation. Each method is one step or one
 * read. Throws `redis.unreachable` when the server is away; `update` throws `run.not_found` for a run it does not hold.
 *
 * @param keepDays days after its last change for which a run is kept; at least 4
 */
export function redisRunStore(
  redis: RedisClient,
  { prefix, keepDays }: { readonly prefix: string; readonly keepDays: number },
): RedisRunStore {
  if (!(keepDays >= LEAST_DAYS)) {
    throw new DocketError('config.invalid', 'Runs would be forgotten while their slots can still be caught up.', {
      expected: `records kept for ${LEAST_DAYS} days or more`,
      got: `${keepDays} days`,
    });
  }
  const keys = keysOf(prefix);
  const ttl = Math.round(keepDays * DAY_MS);

  const read = async (ids: readonly string[]): Promise<RunRecord[]> => {
    if (ids.length === 0) return [];
    const pipeline = redis.pipeline();
    for (const id of ids) pipeline.hgetall(keys.record(id));
    const replies = await pipeline.exec();
    const records: RunRecord[] = [];
    for (const [error, reply] of replies ?? []) {
      if (error) throw error;
      const fields = fieldsSchema.parse(reply);
      // An index may name a run whose record has just expired.
      if (fields.order !== undefined) records.push(fromFields(fields));
    }
    return records;
  };

  return {
    open: (order) =>
      asking(redis, async () => {
        const of = { org: order.org, report: order.report };
        const reply = await OPEN(
          redis,
          [keys.record(order.id), keys.unfinished, keys.index(), keys.index({ org: order.org }), keys.index(of)],
          [order.id, order.createdAt, ttl, ...toFields({ order, ...NOT_STARTED })],
        );
        if (!Array.isArray(reply) || !Array.isArray(reply[1])) throw new Error('the script answered something else');
        return { opened: reply[0] === 1, record: fromReply(reply[1]) };
      }),

    get: (id) => asking(redis, async () => (await read([id]))[0]),

    update: (id, change) =>
      asking(redis, async () => {
        const meaning = change.state === undefined ? '' : ENDED.has(change.state) ? 'ends' : 'goes on';
        const reply = await UPDATE(redis, [keys.record(id), keys.unfinished], [id, ttl, meaning, ...toFields(change)]);
        if (reply === 'missing') {
          throw new DocketError('run.not_found', `The run ${id} is not on record.`, {
            next: 'It may have been forgotten after its time; list the runs that are kept with `docket runs`.',
          });
        }
      }),

    reopen: (id, from, reopening) =>
      asking(redis, async () => {
        const args = [id, ttl, JSON.stringify(reopening), ...from];
        return (await REOPEN(redis, [keys.record(id), keys.unfinished], args)) === 1
          ? (await read([id]))[0]
          : undefined;
      }),

    list: ({ org, report, limit }) =>
      asking(redis, async () => {
        const narrow = org !== undefined && report !== undefined;
        const index = org === undefined ? keys.index() : keys.index(narrow ? { org, report } : { org });
        const found: RunRecord[] = [];
        for (let from = 0; found.length < limit; from += PAGE) {
          const ids = await redis.zrevrange(index, from, from + PAGE - 1);
          const page = await read(ids);
          found.push(...page.filter((record) => report === undefined || record.report === report));
          if (ids.length < PAGE) break;
        }
        return found.slice(0, limit);
      }),

    unfinished: (before, limit) =>
      asking(redis, async () => {
        const flat = await redis.zrangebyscore(keys.unfinished, '-inf', before, 'WITHSCORES', 'LIMIT', 0, limit);
        const rows: { id: string; createdAt: number }[] = [];
        for (let i = 0; i + 1 < flat.length; i += 2) rows.push({ id: flat[i] ?? '', createdAt: Number(flat[i + 1]) });
        return rows;
      }),
  };
}
