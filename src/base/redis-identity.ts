import { z } from 'zod';
import { luaScript, runLua } from './lua.ts';
import type { RedisClient } from './redis-client.ts';
import { redisError } from './redis-error.ts';

/** Which deployment a Redis belongs to: the random id that stands in its archive's marker, too. */
export interface Identity {
  readonly id: string;
  /** Epoch ms by the clock of Redis: when this Redis learned of the id. */
  readonly since: number;
  /**
   * It was put back, because this Redis had forgotten it: the archive had a marker already, or a living process
   * remembered the id. Whatever else this Redis kept may be lost as well.
   */
  readonly restored: boolean;
}

/** Hash: `id`, `since`, `restored` ("1", or absent). */
const keyOf = (prefix: string): string => `${prefix}:identity`;

const identitySchema = z
  .object({
    id: z.string().regex(/^[0-9a-f]{32}$/),
    since: z
      .string()
      .regex(/^[1-9]\d*$/)
      .transform(Number),
    restored: z.string().optional(),
  })
  .transform(({ id, since, restored }) => ({ id, since, restored: restored === '1' }));

// KEYS: identity  ARGV: id, '1' when it is restored, the id to replace ('': none may be there)
const KEEP = luaScript(`
local held = redis.call('HMGET', KEYS[1], 'id', 'since', 'restored')
local id = held[1] or ''
if not string.match(id, '^[0-9a-f]+$') or #id ~= 32 or not string.match(held[2] or '', '^[1-9]%d*$') then id = '' end
if id == ARGV[3] then
  local time = redis.call('TIME')
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'id', ARGV[1], 'since', string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)))
  if ARGV[2] == '1' then redis.call('HSET', KEYS[1], 'restored', '1') end
end
return redis.call('HGETALL', KEYS[1])
`);

async function ask<Reply>(question: () => Promise<Reply>): Promise<Reply> {
  try {
    return await question();
  } catch (thrown) {
    throw redisError(thrown, { what: 'The identity of the deployment cannot be read' });
  }
}

/**
 * Undefined when this Redis knows none, or what it holds cannot be read. Throws `redis.unreachable` and its siblings.
 *
 * @param prefix of the deployment's keys, with the hash tag, e.g. `{docket}`
 */
export async function readIdentity(redis: RedisClient, prefix: string): Promise<Identity | undefined> {
  return identitySchema.safeParse(await ask(() => redis.hgetall(keyOf(prefix)))).data;
}

/** Keeps the id where none is, in one step, and returns the one that is there then: the first one wins. */
export const keepIdentity = (
  redis: RedisClient,
  prefix: string,
  id: string,
  { restored }: { readonly restored: boolean },
): Promise<Identity> => put(redis, prefix, id, { restored, replaces: '' });

/**
 * Takes another id in place of the one that is known, or the same one anew, in one step; returns the one that is there
 * then.
 */
export const replaceIdentity = (
  redis: RedisClient,
  prefix: string,
  id: string,
  replaces: string,
  { restored }: { readonly restored: boolean } = { restored: false },
): Promise<Identity> => put(redis, prefix, id, { restored, replaces });

async function put(
  redis: RedisClient,
  prefix: string,
  id: string,
  { restored, replaces }: { readonly restored: boolean; readonly replaces: string },
): Promise<Identity> {
  const reply = await ask(() => runLua(redis, KEEP, [keyOf(prefix)], [id, restored ? '1' : '', replaces]));
  const flat = z.array(z.string()).parse(reply);
  const entries = flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1]]] : []));
  return identitySchema.parse(Object.fromEntries(entries));
}
