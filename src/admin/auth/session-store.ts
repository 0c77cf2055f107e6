import { createHash, randomUUID } from 'node:crypto';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';

/**
 * Sessions in Redis, by the SHA-256 of their id. Each has two values, so that neither write overwrites the other:
 * `session`, which every request may write, and `account`, which only the refresh of the account writes. Methods throw
 * `redis.unreachable`.
 */
export interface SessionStore {
  get(id: string): Promise<StoredTexts>;
  /** Stores both values of a new session. */
  create(id: string, texts: { readonly session: string; readonly account?: string }, ttlMs: number): Promise<void>;
  /** Replaces one value, and extends both by `ttlMs`. Does nothing if the session was deleted meanwhile. */
  replace(id: string, text: { readonly session: string } | { readonly account: string }, ttlMs: number): Promise<void>;
  delete(id: string): Promise<void>;
  /**
   * Claims the right to refresh the account, which one process has at a time, for at most `ttlMs`. Undefined while
   * another process has it.
   * @returns a function that releases the claim
   */
  claimRefresh(id: string, ttlMs: number): Promise<(() => Promise<void>) | undefined>;
}

export interface StoredTexts {
  readonly session: string | undefined;
  readonly account: string | undefined;
}

export function redisSessionStore(redis: RedisClient, prefix: string): SessionStore {
  const keys = redisKeys(prefix);
  const keysOf = (id: string) => {
    const session = keys.session(createHash('sha256').update(id).digest('hex'));
    return { session, account: `${session}:account`, refresh: `${session}:refresh` };
  };
  return {
    get: async (id) => {
      const key = keysOf(id);
      const [session, account] = await withRedisErrors(redis, () => redis.mget(key.session, key.account));
      return { session: session ?? undefined, account: account ?? undefined };
    },
    create: async (id, { session, account }, ttlMs) => {
      const key = keysOf(id);
      await withRedisErrors(redis, async () => {
        // The account first: a session without its account is not valid.
        if (account !== undefined) await redis.set(key.account, account, 'PX', ttlMs, 'NX');
        await redis.set(key.session, session, 'PX', ttlMs, 'NX');
      });
    },
    replace: async (id, text, ttlMs) => {
      const key = keysOf(id);
      const [written, other, value] =
        'session' in text ? [key.session, key.account, text.session] : [key.account, key.session, text.account];
      await withRedisErrors(redis, async () => {
        // XX: a running request must not restore a session that signed out meanwhile.
        await redis.set(written, value, 'PX', ttlMs, 'XX');
        await redis.pexpire(other, ttlMs);
      });
    },
    delete: async (id) => {
      const { session, account } = keysOf(id);
      await withRedisErrors(redis, () => redis.del(session, account));
    },
    claimRefresh: async (id, ttlMs) => {
      const { refresh } = keysOf(id);
      const own = randomUUID();
      const claimed = await withRedisErrors(redis, () => redis.set(refresh, own, 'PX', ttlMs, 'NX'));
      if (claimed !== 'OK') return undefined;
      return () =>
        withRedisErrors(redis, async () => {
          if ((await redis.get(refresh)) === own) await redis.del(refresh);
        });
    },
  };
}
