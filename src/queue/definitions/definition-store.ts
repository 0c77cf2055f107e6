import { z } from 'zod';
import { splitBatches } from '../../base/concurrency.ts';
import { DocketError } from '../../base/error.ts';
import { memoize } from '../../base/memoize.ts';
import { DAY_MS, SECOND_MS } from '../../base/time.ts';
import type { ComparisonKind } from '../../definitions/schema/comparison.ts';
import { type OrgSettings, storedOrgSchema } from '../../definitions/schema/org-settings.ts';
import type { Definition, ReportFile } from '../../definitions/schema/report-definition.ts';
import { execPipeline, type RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';

/** A report's definition and its organization's settings, as they were when a run was triggered. */
export interface FrozenDefinition {
  readonly definition: Definition;
  readonly settings: OrgSettings;
}

const storedSchema = z.strictObject({
  definition: z.object({
    org: z.string(),
    report: z.string(),
    digest: z.string(),
    files: z.record(z.string(), z.string()).optional(),
    file: z.unknown(),
  }),
  settings: z.object({ id: z.string(), file: z.unknown() }),
});

/**
 * Stores frozen definitions by digest, so that a run uses the definition it was triggered with on every machine. In
 * Redis, as JSON. Definitions contain references to secrets, but no secrets. Throws `redis.unreachable`.
 *
 * @param keepDays days for which an unused version is kept, as for run records
 * @param reportSchema the schema with the registered targets and formats
 */
export function definitionStore(
  redis: RedisClient,
  {
    prefix,
    keepDays,
    reportSchema,
  }: { readonly prefix: string; readonly keepDays: number; readonly reportSchema: z.ZodType<ReportFile> },
) {
  const keys = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  const ttl = Math.round((keepDays * DAY_MS) / SECOND_MS);
  const read = memoize((text: string) => parseDefinition(text, reportSchema), CACHE_SIZE);
  const putAll = mapped(async (all: readonly FrozenDefinition[]) => {
    for (const batch of splitBatches(all, BATCH_SIZE)) {
      const pipeline = redis.pipeline();
      for (const frozen of batch) {
        pipeline.set(keys.definition(frozen.definition.digest), serializeDefinition(frozen), 'EX', ttl);
      }
      await execPipeline(pipeline);
    }
  });
  return {
    reportSchema,
    /** Stores a version, or renews its expiry. */
    put: mapped(async (frozen: FrozenDefinition) => {
      await redis.set(keys.definition(frozen.definition.digest), serializeDefinition(frozen), 'EX', ttl);
    }),
    putAll,
    /** Renews the expiry of active versions, which may have no run for a long time. Does not restore expired ones. */
    touch: mapped(async (digests: readonly string[]) => {
      for (const batch of splitBatches(digests, BATCH_SIZE)) {
        const pipeline = redis.pipeline();
        for (const digest of batch) pipeline.expire(keys.definition(digest), ttl);
        await execPipeline(pipeline);
      }
    }),
    /** Reads a version. Throws `definition.invalid` if this version of Docket cannot read it. */
    get: mapped(async (digest: string) => {
      const text = await redis.getex(keys.definition(digest), 'EX', ttl);
      return text === null ? undefined : parseChecked(digest, text, read);
    }),
  };
}
export type DefinitionStore = ReturnType<typeof definitionStore>;

/** Parsed versions kept in memory. */
const CACHE_SIZE = 200;
/** Commands per pipeline. */
const BATCH_SIZE = 500;

/** Makes the stored text. */
export function serializeDefinition({ definition, settings }: FrozenDefinition): string {
  const { org, report, digest, files, compare, ...rest } = definition;
  const file = { ...rest, ...(compare === undefined ? {} : { compare: compareText(compare) }) };
  const { id, ...orgFile } = settings;
  return JSON.stringify({
    definition: { org, report, digest, ...(files === undefined ? {} : { files }), file },
    settings: { id, file: orgFile },
  } satisfies z.input<typeof storedSchema>);
}

/**
 * Writes a single `previous_period` as text, the only form that workers of the previous version can read. During an
 * upgrade they may run what a new scheduler has stored.
 */
const compareText = (kinds: readonly ComparisonKind[]): ComparisonKind | readonly ComparisonKind[] => {
  const [only] = kinds;
  return kinds.length === 1 && only === 'previous_period' ? only : kinds;
};

function parseDefinition(text: string, reportSchema: z.ZodType<ReportFile>): FrozenDefinition {
  const { definition, settings } = storedSchema.parse(JSON.parse(text));
  const { org, report, digest, files } = definition;
  const named = files === undefined ? {} : { files: Object.freeze(files) };
  return Object.freeze({
    definition: Object.freeze({ ...reportSchema.parse(definition.file), org, report, digest, ...named }),
    settings: Object.freeze({ ...storedOrgSchema.parse(settings.file), id: settings.id }),
  });
}

// Checks the stored text: anyone with write access to Redis could forge a definition, and a newer Docket may use an
// unknown format.
function parseChecked(digest: string, text: string, read: (text: string) => FrozenDefinition): FrozenDefinition {
  try {
    const frozen = read(text);
    if (frozen.definition.digest !== digest) throw new Error(`its digest is ${frozen.definition.digest}`);
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
