import { RUN_STATES, type RunFilter, type RunPosition } from '../run/record.ts';
import type { Keys } from './keys.ts';
import type { RedisClient } from './script.ts';

/**
 * Lua: keeps a run in the indexes of its state alone – of all runs, of its organization, of its report – so that a rare
 * state is found without reading the rest. What has outlived its record is dropped from each index that is written.
 *
 * `moveState(states, order, id, from, to, ttl)`: `order` as it is stored, `from` false for a run that was not there.
 * The names are made here, which a Cluster allows because all of them bear the one hash tag.
 */
export const MOVE_STATE = `
local function trim(key, before, ttl)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', '(' .. string.format('%.0f', before))
  redis.call('PEXPIRE', key, ttl)
end
local function moveState(states, order, id, from, to, ttl)
  if from == to then return end
  local run = cjson.decode(order)
  local oldest = redis.call('TIME')[1] * 1000 - ttl
  for _, of in ipairs({ '', run.org, run.org .. '/' .. run.report }) do
    if from then redis.call('ZREM', states .. of .. ':' .. from, id) end
    local key = states .. of .. ':' .. to
    redis.call('ZADD', key, run.createdAt, id)
    trim(key, math.min(run.createdAt, oldest), ttl)
  end
end
`;

/** Ids read at once from an index, at the most. */
const MOST = 200;

/** Ids of runs, newest first, from as many indexes as the filter needs. Reads them in pages, as far as it is asked. */
export async function* idsOf(redis: RedisClient, keys: Keys, filter: RunFilter): AsyncGenerator<string[]> {
  const size = Math.min(filter.limit, MOST);
  const indexes = await indexesOf(redis, keys, filter);
  let after = filter.after;
  for (;;) {
    const pages = await Promise.all(indexes.map((index) => pageAfter(redis, index, filter, after, size)));
    // What an index has not shown yet comes after the last that it has: nothing beyond the nearest end is in order.
    const ends = pages.flatMap((page) => (page.length < size ? [] : page.slice(-1)));
    const end = ends.sort(newestFirst)[0];
    const rows = pages.flat().sort(newestFirst);
    const known = end === undefined ? rows : rows.filter((row) => newestFirst(row, end) <= 0);
    if (known.length > 0) yield known.map(({ id }) => id);
    if (end === undefined) return;
    after = end;
  }
}

async function indexesOf(redis: RedisClient, keys: Keys, { org, report, states }: RunFilter): Promise<string[]> {
  const every = states === undefined || new Set(states).size === RUN_STATES.length;
  const named = (of: { readonly org: string; readonly report?: string } | undefined): string[] => {
    if (every) return [keys.index(of)];
    const name = of === undefined ? '' : of.report === undefined ? of.org : `${of.org}/${of.report}`;
    return [...new Set(states)].map((state) => `${keys.states}${name}:${state}`);
  };
  if (report === undefined) return named(org === undefined ? undefined : { org });
  const orgs = org === undefined ? await redis.zrevrange(keys.orgs, 0, -1) : [org];
  return orgs.flatMap((one) => named({ org: one, report }));
}

/** The order of a listing. */
export const newestFirst = (one: RunPosition, other: RunPosition): number =>
  other.createdAt - one.createdAt || (one.id < other.id ? 1 : one.id > other.id ? -1 : 0);

async function pageAfter(
  redis: RedisClient,
  index: string,
  { since, until }: RunFilter,
  after: RunPosition | undefined,
  size: number,
): Promise<RunPosition[]> {
  const beyond = until !== undefined && (after === undefined || after.createdAt >= until);
  const max = beyond ? `(${until}` : String(after?.createdAt ?? '+inf');
  const rows: RunPosition[] = [];
  // Runs of the same millisecond as the last one shown may fill pages of their own.
  for (let from = 0; rows.length < size; from += size) {
    const flat = await redis.zrevrangebyscore(index, max, String(since ?? '-inf'), 'WITHSCORES', 'LIMIT', from, size);
    for (let i = 0; i + 1 < flat.length; i += 2) {
      const row = { id: flat[i] ?? '', createdAt: Number(flat[i + 1]) };
      if (after === undefined || newestFirst(after, row) < 0) rows.push(row);
    }
    if (flat.length < 2 * size) break;
  }
  return rows;
}
