import { z } from 'zod';
import { splitBatches } from '../../base/concurrency.ts';
import { DAY_MS, SECOND_MS } from '../../base/time.ts';
import { parseStored, type RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

/** A version to activate. */
export interface VersionActivation {
  /** `org/report`. */
  readonly name: string;
  readonly digest: string;
  readonly cursors: readonly string[];
}

const versionSchema = z.object({
  /** Digest of the definition in the definition store. */
  digest: z.string(),
  /** When it was activated, epoch ms. */
  since: z.number(),
  /** The process that activated it, as `host:pid`. */
  by: z.string(),
  /** Digest of the previous version; null for a report's first version. */
  before: z.string().nullable(),
  /** Names of its schedules' cursors. Stored as one text, because cjson would encode an empty list as an object. */
  cursors: z.string().transform((text): readonly string[] => (text === '' ? [] : text.split('\n'))),
});

/** A report's active version. Every scheduler uses it to open the report's slots. */
export type ActiveVersion = Readonly<z.infer<typeof versionSchema>>;

const ACTIVATE = loadLuaScript('./activate-versions.lua', import.meta.url);

const DAY_S = DAY_MS / SECOND_MS;
/** Reports per script call. Redis is blocked during a call. */
const BATCH_SIZE = 500;

/**
 * Keeps the active version of each report, for all processes, in one hash. It changes only when a scheduler starts or
 * its files change. During a deployment, two schedulers may have different files: both use the versions of the one that
 * activated last. Throws `redis.unreachable`.
 */
export function redisActiveVersions(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const keys = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  return {
    /** Increases with every change. Undefined before the first activation, or after Redis lost it. */
    revision: mapped(async () => {
      const text = await redis.get(keys.revision);
      return text === null ? undefined : Number(text);
    }),
    /**
     * Reads the versions by `org/report`. Leaves out unreadable versions, which the next starting scheduler replaces.
     */
    read: mapped(async (): Promise<ReadonlyMap<string, ActiveVersion>> => {
      const versions = new Map<string, ActiveVersion>();
      // Read as a list: for many thousands, the client is slow to make an object.
      const flat = z.array(z.string()).parse(await redis.call('HGETALL', keys.versions));
      for (let i = 0; i + 1 < flat.length; i += 2) {
        const read = parseStored(versionSchema, flat[i + 1]);
        if (read !== undefined) versions.set(flat[i] ?? '', read);
      }
      return versions;
    }),
    /**
     * Activates versions and removes reports, each in one step with its cursors. New schedules start at `at`. Cursors
     * of removed schedules are deleted, so that a schedule that is added again later does not open the slots in
     * between. Versions that are already active stay as they are. Returns the names of reports that were rolled back to
     * their previous version.
     *
     * @param at epoch ms
     */
    activate: mapped(async (put: readonly VersionActivation[], remove: readonly string[], at: number, by: string) => {
      const rows = [
        ...put.map(({ name, digest, cursors }) => [name, digest, cursors.join('\n')]),
        ...remove.map((name) => [name, '', '']),
      ];
      const rolledBack: string[] = [];
      for (const batch of splitBatches(rows, BATCH_SIZE)) {
        const args = [at, by, ...batch.flat()];
        const reply = await runLuaScript(redis, ACTIVATE, [keys.versions, keys.revision, keys.cursors], args);
        rolledBack.push(...z.array(z.string()).parse(reply));
      }
      return rolledBack;
    }),
    /** True for one caller a day. */
    claimDailyTouch: mapped(async () => (await redis.set(keys.versionsKept, '1', 'EX', DAY_S, 'NX')) === 'OK'),
  };
}
export type ActiveVersions = ReturnType<typeof redisActiveVersions>;
