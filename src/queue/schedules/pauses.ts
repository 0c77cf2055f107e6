import { z } from 'zod';
import { epochMsSchema } from '../../base/time.ts';
import { parseStored, type RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

const pauseSchema = z.object({
  org: z.string(),
  /** Null: the pause applies to all reports of the organization. */
  report: z.string().nullable().default(null),
  /** The person who set the pause, or `docket`. */
  who: z.string(),
  /** The reason, as one sentence. */
  why: z.string(),
  since: epochMsSchema,
  /** Fingerprint of the rejected API key. Null: a person set the pause, and only a person may lift it. */
  key: z.string().nullable(),
  /** The run whose call was rejected; its report's owner is notified. Null: a person set the pause. */
  run: z.string().nullable(),
});

/** A pause of the scheduled runs of an organization or of one report. */
export type Pause = Readonly<z.infer<typeof pauseSchema>>;

/**
 * Whether the key is valid but lacks a permission: replacing the key would not help. The code is at the end of `why`.
 */
export const lacksPermission = ({ why }: Pick<Pause, 'why'>): boolean => why.endsWith('[api.forbidden]');

/** What a pause applies to. */
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

const PUT = loadLuaScript('./put-pause.lua', import.meta.url);
const LIFT = loadLuaScript('./lift-pauses.lua', import.meta.url);

// An organization's name contains no slash, so these fields never collide.
const keyPauseField = (org: string): string => org;
const pauseField = ({ org, report }: PauseTarget): string => `${org}/${report ?? '*'}`;

/**
 * The pause of a report's scheduled runs, from pauses by `<org>` and `<org>/<report>`. Undefined if they are not
 * paused.
 */
export const findPause = <Value>(pauses: ReadonlyMap<string, Value>, org: string, report: string): Value | undefined =>
  pauses.get(org) ?? pauses.get(`${org}/${report}`);

/** An unreadable entry pauses nothing, because it must not stop all schedules. */
const parsePauses = (texts: readonly unknown[]): Pause[] =>
  texts.flatMap((text) => parseStored<Pause>(pauseSchema, text) ?? []);

/**
 * Stores the pauses, for all processes, in one hash. An organization may have a person's pause and Docket's own at the
 * same time. Throws `redis.unreachable`.
 */
export function redisPauses(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const keys = redisKeys(prefix);
  const both = [keys.pauses, keys.pauseHistory];
  const mapped = mapRedisErrors(redis);
  const lift = async (run: string, who: string, why: string, fields: readonly string[]): Promise<readonly Pause[]> =>
    parsePauses(z.array(z.unknown()).parse(await runLuaScript(redis, LIFT, both, [run, who, why, ...fields])));
  return {
    /** Sorted by organization, then report. The organization's own pause comes first. */
    list: mapped(
      async (): Promise<readonly Pause[]> =>
        parsePauses(Object.values(await redis.hgetall(keys.pauses))).sort(
          (a, b) =>
            a.org.localeCompare(b.org) ||
            (a.report ?? '').localeCompare(b.report ?? '') ||
            a.since - b.since ||
            Number(a.key === null) - Number(b.key === null),
        ),
    ),
    /** Adds the pause, unless there is a person's pause, or one for the same key. Returns the stored pause. */
    put: mapped(async (pause: Pause): Promise<Pause> => {
      const field = pause.key === null ? pauseField(pause) : keyPauseField(pause.org);
      const stored = await runLuaScript(redis, PUT, both, [field, pause.key ?? '', JSON.stringify(pause)]);
      return parsePauses([stored])[0] ?? pause;
    }),
    /**
     * Removes and returns all pauses of this target, including that for a rejected key. For an organization, its
     * reports' own pauses stay.
     */
    lift: mapped((of: PauseTarget, who: string, why: string) =>
      lift('', who, why, [pauseField(of), ...(of.report === null ? [keyPauseField(of.org)] : [])]),
    ),
    /** Removes and returns the pause for a rejected key that this run caused; undefined if there is none. */
    liftKeyPause: mapped(
      async (org: string, run: string, why: string) => (await lift(run, 'docket', why, [keyPauseField(org)]))[0],
    ),
    /** Newest first. */
    history: mapped(async (limit: number): Promise<readonly PauseEntry[]> => {
      const texts = await redis.lrange(keys.pauseHistory, 0, limit - 1);
      return texts.flatMap((text) => parseStored(entrySchema, text) ?? []);
    }),
  };
}
export type Pauses = ReturnType<typeof redisPauses>;
