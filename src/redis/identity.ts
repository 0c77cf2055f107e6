import { z } from 'zod';
import type { RedisClient } from './client.ts';
import { type RedisCommandOptions, withRedisErrors } from './errors.ts';
import { loadLuaScript, runLuaScript } from './script.ts';

const identityKey = (prefix: string): string => `${prefix}:identity`;

const identitySchema = z.object({
  /** A random id. The marker of the deployment's archive holds the same. */
  id: z.string().regex(/^[0-9a-f]{32}$/),
  /** When the id was written, epoch ms by Redis's clock. */
  since: z
    .string()
    .regex(/^[1-9]\d*$/)
    .transform(Number),
  /**
   * Set if the id was lost and written again, from the archive's marker or a running process's memory. Other data of
   * this Redis may be lost as well. Stored as "1", or absent.
   */
  restored: z
    .string()
    .optional()
    .transform((text) => text === '1'),
});

/** Identifies the deployment that a Redis belongs to. */
export type Identity = Readonly<z.infer<typeof identitySchema>>;

const CLAIM = loadLuaScript('./identity-claim.lua', import.meta.url);

const READ_ERRORS: RedisCommandOptions = { operation: "The deployment's identity cannot be read" };

/**
 * Reads the identity; undefined if Redis holds none, or an unreadable one. Throws `redis.unreachable` and the other
 * Redis errors.
 *
 * @param prefix of the deployment's keys, with the hash tag, e.g. `{docket}`
 */
export async function readIdentity(redis: RedisClient, prefix: string): Promise<Identity | undefined> {
  return identitySchema.safeParse(
    await withRedisErrors(undefined, () => redis.hgetall(identityKey(prefix)), READ_ERRORS),
  ).data;
}

/**
 * Writes the id if there is none, and returns the stored id. Atomic: the first of several concurrent callers wins.
 *
 * @param replaces an id to replace, by another id or by itself with a new `since`
 */
export async function claimIdentity(
  redis: RedisClient,
  prefix: string,
  id: string,
  { restored, replaces = '' }: { readonly restored: boolean; readonly replaces?: string },
): Promise<Identity> {
  const reply = await withRedisErrors(
    undefined,
    () => runLuaScript(redis, CLAIM, [identityKey(prefix)], [id, restored ? '1' : '', replaces]),
    READ_ERRORS,
  );
  const flat = z.array(z.string()).parse(reply);
  const entries = flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1]]] : []));
  return identitySchema.parse(Object.fromEntries(entries));
}
