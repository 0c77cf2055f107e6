import { z } from 'zod';
import { DocketError } from '../../base/error.ts';
import { memoize } from '../../base/memoize.ts';
import { type OrgSettings, orgFileSchema } from '../../definitions/schema/org-settings.ts';
import type { Definition, ReportFile } from '../../definitions/schema/report-definition.ts';
import { execPipeline, type RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';

/** A report as it was when its run was triggered, with its organization. */
export interface FrozenDefinition {
  readonly definition: Definition;
  readonly settings: OrgSettings;
}

/** Versions of definitions by digest: a run uses the one it was triggered with, on whichever machine it runs. */
export interface DefinitionStore {
  /** Keeps the version; keeping it again only makes it last. */
  put(frozen: FrozenDefinition): Promise<void>;
  putAll(all: readonly FrozenDefinition[]): Promise<void>;
  /** Makes versions last that are in force, though no run of theirs is due for long; those that are gone stay gone. */
  touch(digests: readonly string[]): Promise<void>;
  /** Throws `definition.invalid` when what is stored cannot be read by this version of Docket. */
  get(digest: string): Promise<FrozenDefinition | undefined>;
}

const storedSchema = z.strictObject({
  definition: z.object({ org: z.string(), report: z.string(), digest: z.string(), file: z.unknown() }),
  settings: z.object({ id: z.string(), file: z.unknown() }),
});

/**
 * In Redis, as JSON. A definition holds references to secrets only, so it may be stored.
 *
 * @param keepDays days after its last use for which a version is kept: as long as the records of runs
 * @param reportSchema of the kinds of targets and formats of this version
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
  const ttl = Math.round(keepDays * 86_400);
  const read = memoize((text: string) => parseStored(text, reportSchema), CACHE_SIZE);
  return {
    put: (frozen) =>
      withRedisErrors(redis, async () => {
        await redis.set(keys.definition(frozen.definition.digest), serialize(frozen), 'EX', ttl);
      }),

    putAll: (all) =>
      withRedisErrors(redis, () =>
        inBatches(all, async (batch) => {
          const pipeline = redis.pipeline();
          for (const frozen of batch) {
            pipeline.set(keys.definition(frozen.definition.digest), serialize(frozen), 'EX', ttl);
          }
          await execPipeline(pipeline);
        }),
      ),

    touch: (digests) =>
      withRedisErrors(redis, () =>
        inBatches(digests, async (batch) => {
          const pipeline = redis.pipeline();
          for (const digest of batch) pipeline.expire(keys.definition(digest), ttl);
          await execPipeline(pipeline);
        }),
      ),

    get: (digest) =>
      withRedisErrors(redis, async () => {
        const text = await redis.getex(keys.definition(digest), 'EX', ttl);
        return text === null ? undefined : parseChecked(digest, text, read);
      }),
  };
}

/** Versions that a process need not take apart again. */
const CACHE_SIZE = 200;
/** Commands that are on their way at the same time. */
const BATCH_SIZE = 500;

async function inBatches<T>(all: readonly T[], send: (batch: readonly T[]) => Promise<void>): Promise<void> {
  for (let from = 0; from < all.length; from += BATCH_SIZE) await send(all.slice(from, from + BATCH_SIZE));
}

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
    settings: Object.freeze({ ...orgFileSchema.parse(settings.file), id: settings.id }),
  });
}

// Whoever can write to the queue could forge a definition, and a newer Docket may have stored what this one does not know.
function parseChecked(digest: string, text: string, read: (text: string) => FrozenDefinition): FrozenDefinition {
  try {
    const frozen = read(text);
    if (frozen.definition.digest !== digest) {
      throw new Error(`it says of itself that it is ${frozen.definition.digest}`);
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
