import type { RedisClient } from '../../redis/client.ts';
import type { RedisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import type { RunCursor, RunFilter } from '../../run/run-record.ts';
import { planRunQuery, type RunConditions } from './run-filter.ts';

const MAX_PAGE_SIZE = 200;
const MIN_PAGE_SIZE = 10;
/** Fewest and most ids per step if a script filters them. */
const FILTERED_PAGE_SIZES = { min: 100, max: 500 };

const MATCH = loadLuaScript('./scripts/match-runs-1.lua', import.meta.url);

/**
 * Pages of run ids, newest first, merged from the indexes that the filter needs. Reads further pages only on demand.
 */
export async function* listRunIds(redis: RedisClient, keys: RedisKeys, filter: RunFilter): AsyncGenerator<string[]> {
  const { indexes, conditions } = await planRunQuery(redis, keys, filter);
  if (indexes.length === 0) return;
  const { limit } = filter;
  const rows =
    conditions === undefined
      ? Math.min(limit, MAX_PAGE_SIZE)
      : Math.min(FILTERED_PAGE_SIZES.max, Math.max(FILTERED_PAGE_SIZES.min, 2 * limit));
  const size = Math.max(Math.min(rows, MIN_PAGE_SIZE), Math.ceil(rows / indexes.length));
  for await (const ids of mergeIndexes(redis, indexes, filter, size)) {
    const matching = conditions === undefined ? ids : await matchRuns(redis, keys, conditions, ids);
    if (matching.length > 0) yield matching;
  }
}

/** @param size rows per read of one index */
async function* mergeIndexes(
  redis: RedisClient,
  indexes: readonly string[],
  filter: RunFilter,
  size: number,
): AsyncGenerator<string[]> {
  let { after } = filter;
  let last: string | undefined;
  for (;;) {
    const pages = await Promise.all(indexes.map((index) => pageAfter(redis, index, filter, after, size)));
    // Unread entries of an index follow its last entry that was read. So the merged order is final up to the first of
    // these.
    const ends = pages.flatMap((page) => (page.length < size ? [] : page.slice(-1)));
    const end = ends.sort(newestFirst)[0];
    const rows = pages.flat().sort(newestFirst);
    const final = end === undefined ? rows : rows.filter((row) => newestFirst(row, end) <= 0);
    const ids: string[] = [];
    // A run with deliveries to two recipients is in both indexes.
    for (const { id } of final) {
      if (id !== last) ids.push(id);
      last = id;
    }
    if (ids.length > 0) yield ids;
    if (end === undefined) return;
    after = end;
  }
}

async function matchRuns(
  redis: RedisClient,
  keys: RedisKeys,
  conditions: RunConditions,
  ids: readonly string[],
): Promise<string[]> {
  const args = [keys.record(''), JSON.stringify(conditions), ...ids];
  const reply = await runLuaScript(redis, MATCH, [keys.index()], args);
  if (!Array.isArray(reply)) throw new Error('unexpected reply of the script');
  return reply.map(String);
}

export const newestFirst = (one: RunCursor, other: RunCursor): number =>
  other.createdAt - one.createdAt || (one.id < other.id ? 1 : one.id > other.id ? -1 : 0);

function pageAfter(
  redis: RedisClient,
  index: string,
  { since, until }: RunFilter,
  after: RunCursor | undefined,
  size: number,
): Promise<RunCursor[]> {
  const beyond = until !== undefined && (after === undefined || after.createdAt >= until);
  const max = beyond ? `(${until}` : String(after?.createdAt ?? '+inf');
  return readPage(size, after && ((row) => newestFirst(after, row) < 0), (from) =>
    redis.zrevrangebyscore(index, max, String(since ?? '-inf'), 'WITHSCORES', 'LIMIT', from, size),
  );
}

/**
 * Reads rows of an index. Returns fewer than `size` only at its end.
 *
 * @param isNext false for rows of the previous page. Rows of one millisecond may fill whole pages.
 * @param read reads `size` members with their scores, from this position on
 */
export async function readPage(
  size: number,
  isNext: ((row: RunCursor) => boolean) | undefined,
  read: (from: number) => Promise<readonly string[]>,
): Promise<RunCursor[]> {
  const rows: RunCursor[] = [];
  for (let from = 0; rows.length < size; from += size) {
    const flat = await read(from);
    for (let i = 0; i + 1 < flat.length; i += 2) {
      const row = { id: flat[i] ?? '', createdAt: Number(flat[i + 1]) };
      if (isNext === undefined || isNext(row)) rows.push(row);
    }
    if (flat.length < 2 * size) break;
  }
  return rows;
}
