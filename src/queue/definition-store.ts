import { z } from 'zod';
import { DocketError } from '../base/error.ts';
import { remembered } from '../base/remembered.ts';
import { type Definition, reportFileSchema } from '../define/definition.ts';
import { type OrgSettings, orgFileSchema } from '../define/org.ts';
import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import { repliesOf } from './pipeline.ts';
import type { RedisClient } from './script.ts';

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
  keep(digests: readonly string[]): Promise<void>;
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
 */
export function definitionStore(
  redis: RedisClient,
  { prefix, keepDays }: { readonly prefix: string; readonly keepDays: number },
): DefinitionStore {
  const keys = keysOf(prefix);
  const ttl = Math.round(keepDays * 86_400);
  const read = remembered(parse, REMEMBERED);
  return {
    put: (frozen) =>
      asking(redis, async () => {
        await redis.set(keys.definition(frozen.definition.digest), toText(frozen), 'EX', ttl);
      }),

    putAll: (all) =>
      asking(redis, () =>
        inBatches(all, async (batch) => {
          const pipeline = redis.pipeline();
          for (const frozen of batch) {
            pipeline.set(keys.definition(frozen.definition.digest), toText(frozen), 'EX', ttl);
          }
          await repliesOf(pipeline);
        }),
      ),

    keep: (digests) =>
      asking(redis, () =>
        inBatches(digests, async (batch) => {
          const pipeline = redis.pipeline();
          for (const digest of batch) pipeline.expire(keys.definition(digest), ttl);
          await repliesOf(pipeline);
        }),
      ),

    get: (digest) =>
      asking(redis, async () => {
        const text = await redis.getex(keys.definition(digest), 'EX', ttl);
        return text === null ? undefined : checked(digest, text, read);
      }),
  };
}

/** Versions that a process need not take apart again. */
const REMEMBERED = 200;
/** Commands that are on their way at the same time. */
const AT_ONCE = 500;

async function inBatches<T>(all: readonly T[], send: (batch: readonly T[]) => Promise<void>): Promise<void> {
  for (let from = 0; from < all.length; from += AT_ONCE) await send(all.slice(from, from + AT_ONCE));
}

function toText({ definition, settings }: FrozenDefinition): string {
  const { org, report, digest, ...file } = definition;
  const { id, ...orgFile } = settings;
  const stored: z.input<typeof storedSchema> = {
    definition: { org, report, digest, file },
    settings: { id, file: orgFile },
  };
  return JSON.stringify(stored);
}

function parse(text: string): FrozenDefinition {
  const { definition, settings } = storedSchema.parse(JSON.parse(text));
  const { org, report, digest } = definition;
  return Object.freeze({
    definition: Object.freeze({ ...reportFileSchema.parse(definition.file), org, report, digest }),
    settings: Object.freeze({ ...orgFileSchema.parse(settings.file), id: settings.id }),
  });
}

// Whoever can write to the queue could forge a definition, and a newer Docket may have stored what this one does not know.
function checked(digest: string, text: string, read: (text: string) => FrozenDefinition): FrozenDefinition {
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
