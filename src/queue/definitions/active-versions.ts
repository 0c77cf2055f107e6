import { z } from 'zod';
import { batchesOf } from '../../base/concurrency.ts';
import { DAY_MS, SECOND_MS } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

/** The active version of a report: every scheduler opens its slots with this one. */
export interface ActiveVersion {
  /** Of the definition, in the definition store. */
  readonly digest: string;
  /** Epoch ms of its activation. */
  readonly since: number;
  /** The process that activated it, as `host:pid`. */
  readonly by: string;
  /** Digest of the previous version; null for a report's first. */
  readonly before: string | null;
  /** Names of its schedules' cursors. */
  readonly cursors: readonly string[];
}

/** A version to activate. */
export interface VersionActivation {
  /** `org/report` */
  readonly name: string;
  readonly digest: string;
  readonly cursors: readonly string[];
}

/**
 * The active version of each report, for all processes. It changes only when a scheduler starts or its files change. Of two
 * schedulers with different files (during a deployment), both use the versions of the one that activated last.
 */
export interface ActiveVersions {
  /** Grows with every change; undefined before the first activation, or after Redis lost it. */
  revision(): Promise<number | undefined>;
  /** By `org/report`. */
  read(): Promise<ReadonlyMap<string, ActiveVersion>>;
  /**
   * Activates versions and removes reports, each in one step with its cursors. New schedules start at `at`. Cursors of
   * removed schedules are deleted: a schedule that is added again later does not open the slots in between. Versions that
   * are active already stay as they are. Returns the names of reports that were rolled back to their previous version.
   *
   * @param at epoch ms
   */
  activate(
    change: { readonly put: readonly VersionActivation[]; readonly remove: readonly string[] },
    at: number,
    by: string,
  ): Promise<readonly string[]>;
  /** True for one caller a day. */
  claimDailyTouch(): Promise<boolean>;
}

// Cursors are one text: cjson would encode an empty list as an object.
const versionSchema = z.object({
  digest: z.string(),
  since: z.number(),
  by: z.string(),
  before: z.string().nullable(),
  cursors: z.string().transform((text) => (text === '' ? [] : text.split('\n'))),
});

const ACTIVATE = loadLuaScript('./activate-versions.lua', import.meta.url);

const DAY_S = DAY_MS / SECOND_MS;
/** Reports per script call, which blocks Redis meanwhile. */
const BATCH_SIZE = 500;

/** In one hash. Throws `redis.unreachable`. */
export function redisActiveVersions(redis: RedisClient, { prefix }: { readonly prefix: string }): ActiveVersions {
  const keys = redisKeys(prefix);
  return {
    revision: () =>
      withRedisErrors(redis, async () => {
        const text = await redis.get(keys.revision);
        return text === null ? undefined : Number(text);
      }),
    read: () =>
      withRedisErrors(redis, async () => {
        const versions = new Map<string, ActiveVersion>();
        for (const [name, text] of Object.entries(await redis.hgetall(keys.versions))) {
          const read = parseVersion(text);
          if (read !== undefined) versions.set(name, read);
        }
        return versions;
      }),
    activate: ({ put, remove }, at, by) =>
      withRedisErrors(redis, async () => {
        const rows = [
          ...put.map(({ name, digest, cursors }) => [name, digest, cursors.join('\n')]),
          ...remove.map((name) => [name, '', '']),
        ];
        const rolledBack: string[] = [];
        for (const batch of batchesOf(rows, BATCH_SIZE)) {
          const reply = await runLuaScript(
            redis,
            ACTIVATE,
            [keys.versions, keys.revision, keys.cursors],
            [at, by, ...batch.flat()],
          );
          rolledBack.push(...z.array(z.string()).parse(reply));
        }
        return rolledBack;
      }),
    claimDailyTouch: () =>
      withRedisErrors(redis, async () => (await redis.set(keys.versionsKept, '1', 'EX', DAY_S, 'NX')) === 'OK'),
  };
}

/** Undefined for an unreadable version: the next scheduler that starts replaces it. */
function parseVersion(text: string): ActiveVersion | undefined {
  try {
    return Object.freeze(versionSchema.parse(JSON.parse(text)));
  } catch {
    return undefined;
  }
}
