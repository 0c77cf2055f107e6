import { z } from 'zod';
import { epochMsSchema } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

const pauseSchema = z.object({
  org: z.string(),
  report: z.string().nullable().default(null),
  who: z.string(),
  why: z.string(),
  since: epochMsSchema,
  key: z.string().nullable(),
  run: z.string().nullable(),
});

/** A pause of scheduled runs: an organization's, or one report's. */
export interface Pause {
  readonly org: string;
  /** Null: all reports of the organization. */
  readonly report: string | null;
  /** The person who paused it, or `docket`. */
  readonly who: string;
  /** One sentence for a person. */
  readonly why: string;
  /** Epoch ms. */
  readonly since: number;
  /** Fingerprint of the API key that was rejected. Null: a person paused it, and only a person may resume it. */
  readonly key: string | null;
  /** The run whose call was rejected; its report's owner is notified. Null: a person paused it. */
  readonly run: string | null;
}

/** Scope of a pause. */
export type PauseTarget = Pick<Pause, 'org' | 'report'>;

const entrySchema = z.object({
  what: z.enum(['pause', 'resume']),
  at: epochMsSchema,
  org: z.string(),
  report: z.string().nullable(),
  who: z.string(),
  why: z.string(),
});

/** A pause or a resumption in the history. */
export type PauseEntry = Readonly<z.infer<typeof entrySchema>>;

/** The pauses, for all processes. An organization may have a person's pause and Docket's own at the same time. */
export interface Pauses {
  /** Sorted by organization, then report; the organization's own pause first. */
  list(): Promise<readonly Pause[]>;
  /** Adds the pause, unless there is a person's, or one for the same key; returns the stored pause. */
  put(pause: Pause): Promise<Pause>;
  /** Removes and returns all pauses of this target, a rejected key's included; of an organization, not those of its reports. */
  lift(of: PauseTarget, who: string, why: string): Promise<readonly Pause[]>;
  /** Removes and returns the key's pause that this run caused; undefined when there is none. */
  liftKeyPause(org: string, run: string, why: string): Promise<Pause | undefined>;
  /** Newest first. */
  history(limit: number): Promise<readonly PauseEntry[]>;
}

const PUT = loadLuaScript('./put-pause.lua', import.meta.url);
const LIFT = loadLuaScript('./lift-pauses.lua', import.meta.url);

// An organization's name has no slash, so these fields never collide.
const keyPauseField = (org: string): string => org;
const pauseField = ({ org, report }: PauseTarget): string => `${org}/${report ?? '*'}`;

/** The pause of a report's scheduled runs, from pauses by `<org>` and `<org>/<report>`; undefined when they are not paused. */
export const findPause = <Value>(pauses: ReadonlyMap<string, Value>, org: string, report: string): Value | undefined =>
  pauses.get(org) ?? pauses.get(`${org}/${report}`);

/** In one hash. Throws `redis.unreachable`. */
export function redisPauses(redis: RedisClient, { prefix }: { readonly prefix: string }): Pauses {
  const keys = redisKeys(prefix);
  const both = [keys.pauses, keys.pauseHistory];
  const lift = async (run: string, who: string, why: string, fields: readonly string[]): Promise<readonly Pause[]> =>
    z
      .array(z.unknown())
      .parse(await runLuaScript(redis, LIFT, both, [run, who, why, ...fields]))
      .flatMap((text) => parseEntry(pauseSchema, text) ?? []);
  return {
    list: () =>
      withRedisErrors(redis, async () => {
        const all = Object.values(await redis.hgetall(keys.pauses)).flatMap(
          (text) => parseEntry(pauseSchema, text) ?? [],
        );
        return all.sort(
          (a, b) =>
            a.org.localeCompare(b.org) ||
            (a.report ?? '').localeCompare(b.report ?? '') ||
            a.since - b.since ||
            Number(a.key === null) - Number(b.key === null),
        );
      }),
    put: (pause) =>
      withRedisErrors(redis, async () => {
        const field = pause.key === null ? pauseField(pause) : keyPauseField(pause.org);
        return (
          parseEntry(
            pauseSchema,
            await runLuaScript(redis, PUT, both, [field, pause.key ?? '', JSON.stringify(pause)]),
          ) ?? pause
        );
      }),
    lift: (of, who, why) =>
      withRedisErrors(redis, () =>
        lift('', who, why, [pauseField(of), ...(of.report === null ? [keyPauseField(of.org)] : [])]),
      ),
    liftKeyPause: (org, run, why) =>
      withRedisErrors(redis, async () => (await lift(run, 'docket', why, [keyPauseField(org)]))[0]),
    history: (limit) =>
      withRedisErrors(redis, async () =>
        (await redis.lrange(keys.pauseHistory, 0, limit - 1)).flatMap((text) => parseEntry(entrySchema, text) ?? []),
      ),
  };
}

/** Undefined for an unreadable entry, which pauses nothing: one bad entry must not stop all schedules. */
function parseEntry<T>(schema: z.ZodType<T>, text: unknown): T | undefined {
  try {
    return Object.freeze(schema.parse(JSON.parse(z.string().parse(text))));
  } catch {
    return undefined;
  }
}
