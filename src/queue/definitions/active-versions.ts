import { z } from 'zod';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

/** The version of a report that is in force: whichever scheduler opens a slot of it, opens it with this one. */
export interface ActiveVersion {
  /** Of the definition, in the definition store. */
  readonly digest: string;
  /** Epoch ms since when. */
  readonly since: number;
  /** The process that adopted it, as `host:pid`. */
  readonly by: string;
  /** Digest of the version before it; null for a report's first. */
  readonly before: string | null;
  /** Names of its schedules' cursors. */
  readonly cursors: readonly string[];
}

/** A version that a scheduler adopts. */
export interface VersionActivation {
  /** `org/report` */
  readonly name: string;
  readonly digest: string;
  readonly cursors: readonly string[];
}

/**
 * Which version of each report is in force, for all processes. It changes only when a scheduler starts with other files or
 * its files change, never because one looks again: of two schedulers with different files (in the middle of a deploy) the
 * one that adopted last is followed by both.
 */
export interface ActiveVersions {
  /** Grows with every change; undefined when nothing was ever adopted here (or Redis has forgotten it). */
  revision(): Promise<number | undefined>;
  /** By `org/report`. */
  read(): Promise<ReadonlyMap<string, ActiveVersion>>;
  /**
   * Puts these versions in force and takes those reports out, each in one step with its cursors: a schedule that is new
   * starts at `at`, one that is no longer in force leaves none behind, so that put back later it does not find the slots
   * of the time between. What is in force already stays as it is. Returns the names of reports that went back to the
   * version before.
   *
   * @param at epoch ms
   */
  activate(
    change: { readonly put: readonly VersionActivation[]; readonly remove: readonly string[] },
    at: number,
    by: string,
  ): Promise<readonly string[]>;
  /** True for one asker a day. */
  claimDailyTouch(): Promise<boolean>;
}

// Cursors are kept as one text, which the script takes apart without a parser's surprises about empty lists.
const versionSchema = z.object({
  digest: z.string(),
  since: z.number(),
  by: z.string(),
  before: z.string().nullable(),
  cursors: z.string().transform((text) => (text === '' ? [] : text.split('\n'))),
});

const ACTIVATE = loadLuaScript('./activate-versions.lua', import.meta.url);

const DAY_S = 86_400;
/** Reports that one script takes: Redis serves nobody else meanwhile. */
const BATCH_SIZE = 500;

/** The versions of a server, in one hash. Throws `redis.unreachable` when it is away. */
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
        const back: string[] = [];
        for (let from = 0; from < rows.length; from += BATCH_SIZE) {
          const reply = await runLuaScript(
            redis,
            ACTIVATE,
            [keys.versions, keys.revision, keys.cursors],
            [at, by, ...rows.slice(from, from + BATCH_SIZE).flat()],
          );
          back.push(...z.array(z.string()).parse(reply));
        }
        return back;
      }),
    claimDailyTouch: () =>
      withRedisErrors(redis, async () => (await redis.set(keys.versionsKept, '1', 'EX', DAY_S, 'NX')) === 'OK'),
  };
}

/** What nobody can read is as if not in force: the next scheduler that starts puts its own in its place. */
function parseVersion(text: string): ActiveVersion | undefined {
  try {
    return Object.freeze(versionSchema.parse(JSON.parse(text)));
  } catch {
    return undefined;
  }
}
