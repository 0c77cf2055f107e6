import type { RedisClient } from '../../redis/client.ts';
import type { RedisKeys, RunScope } from '../../redis/keys.ts';
import { RUN_STATES, type RunCursor, type RunFilter } from '../../run/run-record.ts';

const MAX_PAGE_SIZE = 200;

/** Pages of run ids, newest first, merged from the indexes that the filter needs. Reads further pages on demand. */
export async function* listRunIds(redis: RedisClient, keys: RedisKeys, filter: RunFilter): AsyncGenerator<string[]> {
  const size = Math.min(filter.limit, MAX_PAGE_SIZE);
  const indexes = await indexesOf(redis, keys, filter);
  let after = filter.after;
  for (;;) {
    const pages = await Promise.all(indexes.map((index) => pageAfter(redis, index, filter, after, size)));
    // Unread entries of an index follow its last one read. So the order is final up to the first of these ends.
    const ends = pages.flatMap((page) => (page.length < size ? [] : page.slice(-1)));
    const end = ends.sort(newestFirst)[0];
    const rows = pages.flat().sort(newestFirst);
    const final = end === undefined ? rows : rows.filter((row) => newestFirst(row, end) <= 0);
    if (final.length > 0) yield final.map(({ id }) => id);
    if (end === undefined) return;
    after = end;
  }
}

async function indexesOf(redis: RedisClient, keys: RedisKeys, { org, report, states }: RunFilter): Promise<string[]> {
  const allStates = states === undefined || new Set(states).size === RUN_STATES.length;
  const indexNames = (of?: RunScope): string[] => {
    if (allStates) return [keys.index(of)];
    return [...new Set(states)].map((state) => keys.statesOf(of, state));
  };
  if (report === undefined) return indexNames(org === undefined ? undefined : { org });
  const orgs = org === undefined ? await redis.zrevrange(keys.orgs, 0, -1) : [org];
  return orgs.flatMap((one) => indexNames({ org: one, report }));
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
 * Rows of an index; fewer than `size` only at its end.
 *
 * @param isNext false for rows of the page before. Those of the same millisecond may fill whole pages.
 * @param read `size` members with their scores, from this position on
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
