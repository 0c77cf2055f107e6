import { z } from 'zod';
import { DocketError, type ErrorJson, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { MAX_CATCH_UP_WINDOW_S } from '../../definitions/schedules/schedule.ts';
import { execPipeline, type RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import {
  type Cancellation,
  type RunCursor,
  type RunDecision,
  type RunOrder,
  type RunRecord,
  type RunState,
  type RunStore,
  TERMINAL_STATES,
} from '../../run/run-record.ts';
import { findIdsByPrefix, type RunIdLookup } from './run-ids.ts';
import { listRunIds, newestFirst } from './run-index.ts';
import {
  INITIAL_RUN_FIELDS,
  type MutableRunFields,
  parseCancellation,
  parseRecord,
  parseRecordReply,
  toHashFields,
} from './stored-record.ts';

/** The run store of a server, with what only the queue asks of it. */
export interface RedisRunStore extends RunStore, RunIdLookup {
  /**
   * Puts a run that has ended back to `queued`, as one step; the record as it is then. Undefined when the run is not in
   * one of these states (any more), or not on record.
   */
  reopen(id: string, from: readonly RunState[], reopening: RunDecision): Promise<RunRecord | undefined>;
  /**
   * Writes down that the run is to stop, as one step; whoever asks second changes nothing. The record as it is then,
   * unchanged when it had ended; undefined when it is not on record.
   */
  requestCancel(id: string, cancellation: Cancellation): Promise<RunRecord | undefined>;
  /** Which of these runs were told to stop. */
  cancelRequested(ids: readonly string[]): Promise<readonly string[]>;
  /** Records a slot that is not opened, as one step; false when it was opened or skipped before. */
  skip(order: RunOrder, why: ErrorJson): Promise<boolean>;
  /**
   * Runs that have not ended and were created before `before` (epoch ms), oldest first, those of one instant by id; fewer
   * than `limit` only when there are no more.
   */
  unfinished(before: number, limit: number, after?: RunCursor): Promise<readonly RunCursor[]>;
}

const OPEN = loadLuaScript('./scripts/open-run.lua', import.meta.url);
const UPDATE = loadLuaScript('./scripts/update-run.lua', import.meta.url);
const REOPEN = loadLuaScript('./scripts/reopen-run.lua', import.meta.url);
const REQUEST_CANCEL = loadLuaScript('./scripts/request-cancel.lua', import.meta.url);

const fieldsSchema = z.record(z.string(), z.string());

const DAY_MS = 86_400_000;
/** Records must outlive the longest `catch_up_window`, or a slot could be opened a second time. */
const MIN_RETENTION_DAYS = MAX_CATCH_UP_WINDOW_S / 86_400 + 1;

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
  if (!(keepDays >= MIN_RETENTION_DAYS)) {
    throw new DocketError('config.invalid', 'Runs would be forgotten while their slots can still be caught up.', {
      expected: `records kept for ${MIN_RETENTION_DAYS} days or more`,
      got: `${keepDays} days`,
    });
  }
  const keys = redisKeys(prefix);
  const ttl = Math.round(keepDays * DAY_MS);

  const read = async (ids: readonly string[], unreadable = refuse): Promise<RunRecord[]> => {
    if (ids.length === 0) return [];
    const pipeline = redis.pipeline();
    for (const id of ids) pipeline.hgetall(keys.record(id));
    const records: RunRecord[] = [];
    for (const [index, reply] of (await execPipeline(pipeline)).entries()) {
      const fields = fieldsSchema.parse(reply);
      // An index may name a run whose record has just expired.
      if (fields.order === undefined) continue;
      try {
        records.push(parseRecord(ids[index] ?? '', fields));
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

  const write = async (order: RunOrder, progress: MutableRunFields) => {
    const { id, org, report, createdAt } = order;
    const indexes = [keys.orgs, keys.index(), keys.index({ org }), keys.index({ org, report })];
    const reply = await runLuaScript(
      redis,
      OPEN,
      [keys.record(id), keys.ids, ...indexes, ...(TERMINAL_STATES.has(progress.state) ? [] : [keys.unfinished])],
      [id, createdAt, ttl, keys.states, org, ...toHashFields({ order, ...progress })],
    );
    if (!Array.isArray(reply) || !Array.isArray(reply[1])) throw new Error('the script answered something else');
    const fields: readonly unknown[] = reply[1];
    return { opened: reply[0] === 1, fields };
  };

  return {
    open: (order) =>
      withRedisErrors(redis, async () => {
        const { opened, fields } = await write(order, INITIAL_RUN_FIELDS);
        return { opened, record: parseRecordReply(order.id, fields) };
      }),

    skip: (order, why) =>
      withRedisErrors(redis, async () => {
        const ended = { ...INITIAL_RUN_FIELDS, state: 'skipped' as const, finishedAt: order.createdAt, error: why };
        return (await write(order, ended)).opened;
      }),

    get: (id) => withRedisErrors(redis, async () => (await read([id]))[0]),

    findIdsByPrefix: (prefix, after) => withRedisErrors(redis, () => findIdsByPrefix(redis, keys, prefix, after)),

    update: (id, change) =>
      withRedisErrors(redis, async () => {
        const reply = await runLuaScript(
          redis,
          UPDATE,
          [keys.record(id), keys.unfinished, keys.cancels],
          [id, ttl, keys.states, change.state ?? '', ...toHashFields(change)],
        );
        if (reply === 'missing') {
          throw new DocketError('run.not_found', `The run ${id} is not on record.`, {
            next: 'It may have been forgotten after its time; list the runs that are kept with `docket runs`.',
          });
        }
        if (typeof reply === 'string' && reply.startsWith('{')) throw cancelledError(parseCancellation(reply));
        // Other ends have their files, and have dropped it then.
        if (change.state === 'failed' || change.state === 'cancelled') await ended(id).catch(() => {});
      }),

    reopen: (id, from, reopening) =>
      withRedisErrors(redis, async () => {
        const args = [id, ttl, keys.states, JSON.stringify(reopening), ...from];
        return (await runLuaScript(redis, REOPEN, [keys.record(id), keys.unfinished, keys.cancels], args)) === 1
          ? (await read([id]))[0]
          : undefined;
      }),

    requestCancel: (id, cancellation) =>
      withRedisErrors(redis, async () => {
        const decision: RunDecision = { what: 'cancel', ...cancellation };
        const args = [id, ttl, JSON.stringify(cancellation), JSON.stringify(decision)];
        await runLuaScript(redis, REQUEST_CANCEL, [keys.record(id), keys.cancels], args);
        return (await read([id]))[0];
      }),

    cancelRequested: (ids) =>
      withRedisErrors(redis, async () => {
        const told = await redis.smismember(keys.cancels, ...ids);
        return ids.filter((_, index) => told[index] === 1);
      }),

    list: (filter) =>
      withRedisErrors(redis, async () => {
        const { limit } = filter;
        const found = new Map<string, RunRecord>();
        for await (const ids of listRunIds(redis, keys, filter)) {
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
      withRedisErrors(redis, async () => {
        const since = after?.createdAt ?? '-inf';
        const rows: RunCursor[] = [];
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
export const cancelledError = ({ by, reason }: Cancellation): DocketError =>
  new DocketError('run.cancelled', `The run was cancelled by ${by}: ${reason}`, {
    next: 'What was delivered before is listed; `docket runs retry` goes on with the rest.',
  });
