import type { RedisClient } from '../../redis/client.ts';
import { beforeSending, withRedisErrors } from '../../redis/errors.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import { hashTagOfDelivery } from './ledger.ts';

/** Key of the hash with a run's rows. */
export const rowsKeyOf = (prefix: string, hashTag: string): string => `${prefix}deliveries:{${hashTag}}`;
/** Key of the sorted set of all `unknown` rows. */
export const unknownKeyOf = (prefix: string): string => `${prefix}unknown`;

/** Ids of `unknown` rows to read at once. */
export const BATCH_SIZE = 500;

/** Counts the rows that became `unknown` at `after` (epoch ms) or later. Throws `redis.unreachable`. */
export const countUnknown = (redis: RedisClient, prefix: string, after: number): Promise<number> =>
  withRedisErrors(
    undefined,
    () => redis.zcount(unknownKeyOf(prefix), after, '+inf'),
    beforeSending('The ledger of deliveries (count)'),
  );

/** Ids in the set of `unknown` rows whose row has expired, as older versions allowed. Throws `redis.unreachable`. */
export async function listExpiredUnknown(redis: RedisClient, prefix: string): Promise<string[]> {
  const withContext = <T>(command: () => Promise<T>): Promise<T> =>
    withRedisErrors(undefined, command, beforeSending('The ledger of deliveries (expired)'));
  const ids = await withContext(() => redis.zrange(unknownKeyOf(prefix), 0, '-1'));
  const expired: string[] = [];
  for (let from = 0; from < ids.length; from += BATCH_SIZE) {
    const batch = ids.slice(from, from + BATCH_SIZE);
    const found = await withContext(() =>
      Promise.all(batch.map((id) => redis.hexists(rowsKeyOf(prefix, hashTagOfDelivery(id)), `${id}:row`))),
    );
    expired.push(...batch.filter((_, index) => found[index] === 0));
  }
  return expired;
}

const REMOVE_EXPIRED = loadLuaScript('./ledger-remove-expired-2.lua', import.meta.url);

/** Removes an id from the set of `unknown` rows, unless its row exists. Throws `redis.unreachable`. */
export async function removeExpiredUnknown(redis: RedisClient, prefix: string, id: string): Promise<void> {
  const keys = [rowsKeyOf(prefix, hashTagOfDelivery(id)), unknownKeyOf(prefix)];
  await withRedisErrors(
    undefined,
    () => runLuaScript(redis, REMOVE_EXPIRED, keys, [id]),
    beforeSending('The ledger of deliveries (forget)'),
  );
}
