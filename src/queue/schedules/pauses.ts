import { z } from 'zod';
import { epochMsSchema } from '../../base/time.ts';
import { parseStored, type RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

const pauseSchema = z.object({
  org: z.string(),
  /** Null: all reports of the organization. */
  report: z.string().nullable().default(null),
  /** The person who paused it, or `docket`. */
  who: z.string(),
  /** One sentence for a person. */
  why: z.string(),
  since: epochMsSchema,
  /** Fingerprint of the API key that was rejected. Null: a person paused it, and only a person may resume it. */
  key: z.string().nullable(),
  /** The run whose call was rejected; its report's owner is notified. Null: a person paused it. */
  run: z.string().nullable(),
});

/** A pause of scheduled runs: an organization's, or one report's. */
export type Pause = Readonly<z.infer<typeof pauseSchema>>;

/** Whether the key is valid and lacks a permission: replacing it would change nothing. The code is at the end of `why`. */
export const lacksPermission = ({ why }: Pick<Pause, 'why'>): boolean => why.endsWith('[api.forbidden]');

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

const PUT = loadLuaScript('./put-pause.lua', import.meta.url);
const LIFT = loadLuaScript('./lift-pauses.lua', import.meta.url);

// An organization's name has no slash, so these fields never collide.
const keyPauseField = (org: string): string => org;
const pauseField = ({ org, report }: PauseTarget): string => `${org}/${report ?? '*'}`;

/** The pause of a report's scheduled runs, from pauses by `<org>` and `<org>/<report>`; undefined when they are not paused. */
export const findPause = <Value>(pauses: ReadonlyMap<string, Value>, org: string, report: string): Value | undefined =>
  pauses.get(org) ?? pauses.get(`${org}/${report}`);

/** An unreadable entry pauses nothing: it must not stop all schedules. */
const parsePauses = (texts: readonly unknown[]): Pause[] =>
  texts.flatMap((text) => parseStored<Pause>(pauseSchema, text) ?? []);

/**
 * The pauses of all processes, in one hash. An organization may have a person's pause and Docket's own at the same time.
 * Throws `redis.unreachable`.
 */
export function redisPauses(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const keys = redisKeys(prefix);
  const both = [keys.pauses, keys.pauseHistory];
  const mapped = mapRedisErrors(redis);
  const lift = async (run: string, who: string, why: string, fields: readonly string[]): Promise<readonly Pause[]> =>
    parsePauses(z.array(z.unknown()).parse(await runLuaScript(redis, LIFT, both, [run, who, why, ...fields])));
  return {
    /** Sorted by organization, then report; the organization's own pause first. */
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
    /** Adds the pause, unless there is a person's, or one for the same key; returns the stored pause. */
    put: mapped(async (pause: Pause): Promise<Pause> => {
      const field = pause.key === null ? pauseField(pause) : keyPauseField(pause.org);
      const stored = await runLuaScript(redis, PUT, both, [field, pause.key ?? '', JSON.stringify(pause)]);
      return parsePauses([stored])[0] ?? pause;
    }),
    /** Removes and returns all pauses of this target, a rejected key's included; of an organization, not those of its reports. */
    lift: mapped((of: PauseTarget, who: string, why: string) =>
      lift('', who, why, [pauseField(of), ...(of.report === null ? [keyPauseField(of.org)] : [])]),
    ),
    /** Removes and returns the key's pause that this run caused; undefined without one. */
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
