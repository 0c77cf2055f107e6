import { z } from 'zod';
import { DocketError, type ErrorJson, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { DAY_MS, SECOND_MS } from '../../base/time.ts';
import { MAX_CATCH_UP_WINDOW_S } from '../../definitions/schedules/schedule.ts';
import { execPipeline, type RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import {
  type Cancellation,
  type RunCursor,
  type RunDecision,
  type RunFilter,
  type RunOrder,
  type RunRecord,
  type RunState,
  type RunStore,
  TERMINAL_STATES,
} from '../../run/run-record.ts';
import { type FrozenDefinition, serializeDefinition } from '../definitions/definition-store.ts';
import { findIdsByPrefix, type RunIdLookup } from './run-ids.ts';
import { listRunIds, newestFirst, readPage } from './run-index.ts';
import {
  INITIAL_RUN_FIELDS,
  type MutableRunFields,
  parseCancellation,
  parseRecord,
  parseRecordReply,
  toHashFields,
} from './stored-record.ts';

export interface RedisRunStore extends RunStore, RunIdLookup {
  /**
   * @param definition stored in the same step, or its expiry renewed, for as long as the record. Absent: already stored
   */
  open(order: RunOrder, definition?: FrozenDefinition): ReturnType<RunStore['open']>;
  /**
   * Sets an ended run back to `queued` in one step, and returns its record. Undefined if the run is missing, or in none
   * of the states `from`.
   */
  reopen(id: string, from: readonly RunState[], reopening: RunDecision): Promise<RunRecord | undefined>;
  /** Records, in one step, a decision that does not change the state. */
  note(id: string, decision: RunDecision): Promise<void>;
  /**
   * Records a cancellation in one step, unless the run has ended or was already cancelled. Returns the record;
   * undefined if it is missing.
   */
  requestCancel(id: string, cancellation: Cancellation): Promise<RunRecord | undefined>;
  /** The runs among these whose cancellation was requested. */
  cancelRequested(ids: readonly string[]): Promise<readonly string[]>;
  /**
   * The first runs of a listing, and the number of all its runs, at most `max`. The number may include runs whose
   * record has just expired.
   */
  listAndCount(
    filter: RunFilter,
    max: number,
  ): Promise<{ readonly runs: readonly RunRecord[]; readonly total: number }>;
  /** Records a skipped slot in one step. False if the slot was opened or skipped before. */
  skip(order: RunOrder, why: ErrorJson): Promise<boolean>;
  /**
   * Unfinished runs created before `before` (epoch ms), by creation time, then id. Returns fewer than `limit` only at
   * the end.
   */
  unfinished(before: number, limit: number, after?: RunCursor): Promise<readonly RunCursor[]>;
}

const OPEN = loadLuaScript('./scripts/open-run-2.lua', import.meta.url);
const UPDATE = loadLuaScript('./scripts/update-run.lua', import.meta.url);
const REOPEN = loadLuaScript('./scripts/reopen-run.lua', import.meta.url);
const NOTE = loadLuaScript('./scripts/note-decision.lua', import.meta.url);
const REQUEST_CANCEL = loadLuaScript('./scripts/request-cancel.lua', import.meta.url);

const fieldsSchema = z.record(z.string(), z.string());

/** Records must outlive the longest `catch_up_window`: a slot could otherwise be opened twice. */
const MIN_RETENTION_DAYS = (MAX_CATCH_UP_WINDOW_S * SECOND_MS) / DAY_MS + 1;

/**
 * Stores run records in Redis: one hash per run, and sorted sets by creation time. Each method is one atomic step or
 * one read. Throws `redis.unreachable`. `update` throws `run.not_found` for a missing run, and `run.cancelled` if a run
 * whose cancellation was requested is to continue. `get` throws `run.unreadable`; listings skip unreadable records and
 * log them.
 *
 * @param keepDays days for which an unchanged run is kept; at least 32
 * @param ended called after a run has failed or was cancelled, to delete its cached responses; its errors are ignored
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
    readonly log?: Log;
    readonly ended?: (run: string) => Promise<void>;
  },
): RedisRunStore {
  if (!(keepDays >= MIN_RETENTION_DAYS)) {
    throw new DocketError('config.invalid', 'keepDays is shorter than the longest catch_up_window.', {
      expected: `records kept for ${MIN_RETENTION_DAYS} days or more`,
      got: `${keepDays} days`,
    });
  }
  const keys = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  const ttl = Math.round(keepDays * DAY_MS);

  const read = async (ids: readonly string[], onUnreadable = rethrow): Promise<RunRecord[]> => {
    if (ids.length === 0) return [];
    const pipeline = redis.pipeline();
    for (const id of ids) pipeline.hgetall(keys.record(id));
    const records: RunRecord[] = [];
    for (const [index, reply] of (await execPipeline(pipeline)).entries()) {
      const fields = fieldsSchema.parse(reply);
      // The record may have expired after the index was read.
      if (fields.order === undefined) continue;
      try {
        records.push(parseRecord(ids[index] ?? '', fields));
      } catch (thrown) {
        onUnreadable(ids[index] ?? '', thrown);
      }
    }
    return records;
  };
  const rethrow = (_: string, thrown: unknown): void => {
    throw thrown;
  };
  // One unreadable record must not fail the whole listing.
  const skipUnreadable = (id: string, thrown: unknown): void => {
    log?.error('Unreadable run record; listings skip it', { run: id, why: toDocketError(thrown).got ?? '' });
  };

  const write = async (order: RunOrder, progress: MutableRunFields, definition?: FrozenDefinition) => {
    const { id, org, report, createdAt } = order;
    const indexes = [keys.orgs, keys.index(), keys.index({ org }), keys.index({ org, report })];
    const unfinished = TERMINAL_STATES.has(progress.state) ? [] : [keys.unfinished];
    const text = definition === undefined ? '' : serializeDefinition(definition);
    const reply = await runLuaScript(
      redis,
      OPEN,
      [keys.record(id), keys.ids, keys.definition(order.digest), ...indexes, ...unfinished],
      [id, createdAt, ttl, keys.states, org, `${prefix}:`, text, ...toHashFields({ order, ...progress })],
    );
    if (!Array.isArray(reply) || !Array.isArray(reply[1])) throw new Error('unexpected reply of the script');
    const fields: readonly unknown[] = reply[1];
    return { opened: reply[0] === 1, fields };
  };

  return {
    open: mapped(async (order: RunOrder, definition?: FrozenDefinition) => {
      const { opened, fields } = await write(order, INITIAL_RUN_FIELDS, definition);
      // For a new run, the reply would repeat what was sent.
      const record = opened ? Object.freeze({ ...order, ...INITIAL_RUN_FIELDS }) : parseRecordReply(order.id, fields);
      return { opened, record };
    }),
    get: mapped(async (id) => (await read([id]))[0]),
    findIdsByPrefix: mapped((start, after) => findIdsByPrefix(redis, keys, start, after)),
    update: mapped(async (id, change) => {
      const reply = await runLuaScript(
        redis,
        UPDATE,
        [keys.record(id), keys.unfinished, keys.cancels],
        [id, ttl, keys.states, change.state ?? '', ...toHashFields(change)],
      );
      if (reply === 'missing') {
        throw new DocketError('run.not_found', `Run ${id} not found.`, {
          next: 'Its record may have expired. `docket runs` lists the stored runs.',
        });
      }
      if (typeof reply === 'string' && reply.startsWith('{')) throw cancelledError(parseCancellation(reply));
      // Runs that ended in another way have published their files, and deleted the responses then.
      if (change.state === 'failed' || change.state === 'cancelled') await ended(id).catch(() => {});
    }),
    list: mapped(async (filter) => {
      const { limit } = filter;
      const found = new Map<string, RunRecord>();
      for await (const ids of listRunIds(redis, keys, filter)) {
        for (let rest = ids; rest.length > 0 && found.size < limit; ) {
          const next = rest.slice(0, limit - found.size);
          rest = rest.slice(next.length);
          // The run may have left the state after the index was read.
          for (const record of await read(next, skipUnreadable)) {
            if (filter.states === undefined || filter.states.includes(record.state)) found.set(record.id, record);
          }
        }
        if (found.size >= limit) break;
      }
      return [...found.values()];
    }),
    listAndCount: mapped(async (filter, max) => {
      const found: string[] = [];
      for await (const ids of listRunIds(redis, keys, { ...filter, limit: max })) {
        found.push(...ids);
        if (found.length >= max) break;
      }
      const runs = await read(found.slice(0, filter.limit), skipUnreadable);
      return { runs, total: Math.min(found.length, max) };
    }),
    skip: mapped(async (order, why) => {
      const skipped = { ...INITIAL_RUN_FIELDS, state: 'skipped' as const, finishedAt: order.createdAt, error: why };
      return (await write(order, skipped)).opened;
    }),
    reopen: mapped(async (id, from, reopening) => {
      const args = [id, ttl, keys.states, JSON.stringify(reopening), ...from];
      const reply = await runLuaScript(redis, REOPEN, [keys.record(id), keys.unfinished, keys.cancels], args);
      return reply === 1 ? (await read([id]))[0] : undefined;
    }),
    note: mapped(async (id, decision) => {
      await runLuaScript(redis, NOTE, [keys.record(id)], [JSON.stringify(decision)]);
    }),
    requestCancel: mapped(async (id, cancellation) => {
      const decision: RunDecision = { what: 'cancel', ...cancellation };
      const args = [id, ttl, JSON.stringify(cancellation), JSON.stringify(decision)];
      await runLuaScript(redis, REQUEST_CANCEL, [keys.record(id), keys.cancels], args);
      return (await read([id]))[0];
    }),
    cancelRequested: mapped(async (ids) => {
      const requested = await redis.smismember(keys.cancels, ...ids);
      return ids.filter((_, index) => requested[index] === 1);
    }),
    unfinished: mapped(async (before, limit, after) => {
      const rows = await readPage(limit, after && ((row) => newestFirst(row, after) < 0), (from) =>
        redis.zrangebyscore(keys.unfinished, after?.createdAt ?? '-inf', before, 'WITHSCORES', 'LIMIT', from, limit),
      );
      return rows.slice(0, limit);
    }),
  };
}

/** The error of a cancelled run. */
export const cancelledError = ({ by, reason }: Cancellation): DocketError =>
  new DocketError('run.cancelled', `The run was cancelled by ${by}: ${reason}`, {
    next: 'Earlier deliveries are listed. `docket runs retry` continues with the rest.',
  });
