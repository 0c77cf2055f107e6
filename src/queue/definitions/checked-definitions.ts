import { errorMessage } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { DAY_MS, SECOND_MS } from '../../base/time.ts';
import type { CheckedOrganizations } from '../../definitions/load/checked-organization.ts';
import type { Unpack } from '../../definitions/load/kept-reports.ts';
import type { RedisClient } from '../../redis/client.ts';
import { redisKeys } from '../../redis/keys.ts';

/** After the last start of a process of a build. */
const KEPT_S = (14 * DAY_MS) / SECOND_MS;

export interface CheckedDefinitionsOptions {
  readonly prefix: string;
  /** A digest of all that decides what a text is parsed to. */
  readonly build: string;
  readonly unpack: Unpack;
  readonly log: Log;
}

/**
 * Checked organizations in Redis: one hash a build, so that processes of different builds do not read each other's. Redis is
 * trusted with them as with the active versions, which decide what is sent to whom. What a load writes waits for `store`, by
 * when the process knows that this Redis is its deployment's.
 *
 * @param redis of the load; nothing more is asked of it after a failure
 */
export function redisCheckedDefinitions(redis: RedisClient, options: CheckedDefinitionsOptions) {
  const { prefix, build, unpack, log } = options;
  const key = redisKeys(prefix).checked(build);
  const written = new Map<string, Buffer>();
  let failed = false;
  const attempt = async <Result>(act: () => Promise<Result>): Promise<Result | undefined> => {
    if (failed) return undefined;
    try {
      return await act();
    } catch (error) {
      failed = true;
      log.debug('Checked definitions cannot be kept in Redis; the files are parsed', { why: errorMessage(error) });
      return undefined;
    }
  };
  const organizations: CheckedOrganizations = {
    unpack,
    read: (org) => attempt(async () => (await redis.hgetBuffer(key, org)) ?? undefined),
    write: (org, entry) => {
      written.set(org, entry);
    },
  };
  return {
    organizations,
    /** Stores what was written, keeps that and the rest for two weeks, and drops other organizations than these. */
    store: async (to: RedisClient, orgs: Iterable<string>): Promise<void> => {
      await attempt(async () => {
        for (const [org, entry] of written) await to.hset(key, org, entry);
        const known = new Set(orgs);
        const gone = (await to.hkeys(key)).filter((org) => !known.has(org));
        if (gone.length > 0) await to.hdel(key, ...gone);
        await to.expire(key, KEPT_S);
      });
      written.clear();
    },
  };
}
