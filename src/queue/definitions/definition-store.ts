import { z } from 'zod';
import { batchesOf } from '../../base/concurrency.ts';
import { DocketError } from '../../base/error.ts';
import { memoize } from '../../base/memoize.ts';
import { DAY_MS, SECOND_MS } from '../../base/time.ts';
import { type OrgSettings, storedOrgSchema } from '../../definitions/schema/org-settings.ts';
import type { Definition, ReportFile } from '../../definitions/schema/report-definition.ts';
import { execPipeline, type RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';

/** A snapshot of a report's definition and its organization's settings, taken when a run is triggered. */
export interface FrozenDefinition {
  readonly definition: Definition;
  readonly settings: OrgSettings;
}

/** Frozen definitions by digest: a run uses the one it was triggered with, on every machine. */
export interface DefinitionStore {
  /** Stores the version, or renews its expiry. */
  put(frozen: FrozenDefinition): Promise<void>;
  putAll(all: readonly FrozenDefinition[]): Promise<void>;
  /** Renews the expiry of active versions, which may have no run for a long time. Expired ones are not restored. */
  touch(digests: readonly string[]): Promise<void>;
  /** Throws `definition.invalid` when what is stored cannot be read by this version of Docket. */
  get(digest: string): Promise<FrozenDefinition | undefined>;
}

const storedSchema = z.strictObject({
  definition: z.object({ org: z.string(), report: z.string(), digest: z.string(), file: z.unknown() }),
  settings: z.object({ id: z.string(), file: z.unknown() }),
});

/**
 * In Redis, as JSON. Definitions hold references to secrets, never secrets.
 *
 * @param keepDays days after its last use for which a version is kept; as for run records
 * @param reportSchema of the registered targets and formats
 */
export function definitionStore(
  redis: RedisClient,
  {
    prefix,
    keepDays,
    reportSchema,
  }: { readonly prefix: string; readonly keepDays: number; readonly reportSchema: z.ZodType<ReportFile> },
): DefinitionStore {
  const keys = redisKeys(prefix);
  const ttl = Math.round((keepDays * DAY_MS) / SECOND_MS);
  const read = memoize((text: string) => parseStored(text, reportSchema), CACHE_SIZE);
  return {
    put: (frozen) =>
      withRedisErrors(redis, async () => {
        await redis.set(keys.definition(frozen.definition.digest), serialize(frozen), 'EX', ttl);
      }),

    putAll: (all) =>
      withRedisErrors(redis, async () => {
        for (const batch of batchesOf(all, BATCH_SIZE)) {
          const pipeline = redis.pipeline();
          for (const frozen of batch) {
            pipeline.set(keys.definition(frozen.definition.digest), serialize(frozen), 'EX', ttl);
          }
          await execPipeline(pipeline);
        }
      }),

    touch: (digests) =>
      withRedisErrors(redis, async () => {
        for (const batch of batchesOf(digests, BATCH_SIZE)) {
          const pipeline = redis.pipeline();
          for (const digest of batch) pipeline.expire(keys.definition(digest), ttl);
          await execPipeline(pipeline);
        }
      }),

    get: (digest) =>
      withRedisErrors(redis, async () => {
        const text = await redis.getex(keys.definition(digest), 'EX', ttl);
        return text === null ? undefined : parseChecked(digest, text, read);
      }),
  };
}

/** Parsed versions kept in memory. */
const CACHE_SIZE = 200;
/** Commands per pipeline. */
const BATCH_SIZE = 500;

function serialize({ definition, settings }: FrozenDefinition): string {
  const { org, report, digest, ...file } = definition;
  const { id, ...orgFile } = settings;
  const stored: z.input<typeof storedSchema> = {
    definition: { org, report, digest, file },
    settings: { id, file: orgFile },
  };
  return JSON.stringify(stored);
}

function parseStored(text: string, reportSchema: z.ZodType<ReportFile>): FrozenDefinition {
  const { definition, settings } = storedSchema.parse(JSON.parse(text));
  const { org, report, digest } = definition;
  return Object.freeze({
    definition: Object.freeze({ ...reportSchema.parse(definition.file), org, report, digest }),
    settings: Object.freeze({ ...storedOrgSchema.parse(settings.file), id: settings.id }),
  });
}

// Anyone with write access to Redis could forge a definition, and a newer Docket may store an unknown format.
function parseChecked(digest: string, text: string, read: (text: string) => FrozenDefinition): FrozenDefinition {
  try {
    const frozen = read(text);
    if (frozen.definition.digest !== digest) {
      throw new Error(`its digest is ${frozen.definition.digest}`);
    }
    return frozen;
  } catch (cause) {
    throw new DocketError('definition.invalid', `The stored definition ${digest} cannot be read.`, {
      expected: 'a definition of this version of Docket',
      got: cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause),
      next: 'Run the same version of Docket on every machine, then trigger the report again.',
      cause,
    });
  }
}
