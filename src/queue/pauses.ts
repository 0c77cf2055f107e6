import { z } from 'zod';
import { instantSchema } from '../base/instant.ts';
import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import { type RedisClient, script } from './script.ts';

const pauseSchema = z.object({
  org: z.string(),
  report: z.string().nullable().default(null),
  who: z.string(),
  why: z.string(),
  since: instantSchema,
  key: z.string().nullable(),
  run: z.string().nullable(),
});

/** Scheduled runs that wait: an organization's, or one report's. */
export interface Pause {
  readonly org: string;
  /** Null: all reports of the organization. */
  readonly report: string | null;
  /** Who paused it; `docket` where it did so itself. */
  readonly who: string;
  /** One sentence for a person. */
  readonly why: string;
  /** Epoch ms. */
  readonly since: number;
  /** Fingerprint of the API key that was refused; null where a person paused it: that pause is a person's to lift. */
  readonly key: string | null;
  /** The run that was refused: its report's owner is the one who is told. Null where a person paused it. */
  readonly run: string | null;
}

/** What a pause is of. */
export type Paused = Pick<Pause, 'org' | 'report'>;

const entrySchema = z.object({
  what: z.enum(['pause', 'resume']),
  at: instantSchema,
  org: z.string(),
  report: z.string().nullable(),
  who: z.string(),
  why: z.string(),
});

/** A pause or a resumption that was, for whoever asks later. */
export type PauseEntry = Readonly<z.infer<typeof entrySchema>>;

/** What is paused, for all processes. A person's pause and Docket's own of one organization stand beside each other. */
export interface Pauses {
  /** By organization, then report; the organization's own first. */
  list(): Promise<readonly Pause[]>;
  /** Pauses what is not paused yet – by a person, or for this very key –; returns the pause that then stands. */
  put(pause: Pause): Promise<Pause>;
  /** Lifts whatever pauses exactly this, a refused key's pause included, and returns it; the pauses of an organization's reports stay. */
  lift(of: Paused, who: string, why: string): Promise<readonly Pause[]>;
  /** Lifts the pause that this run's refusal caused, unless it is another's or gone; returns it. */
  liftRefusal(org: string, run: string, why: string): Promise<Pause | undefined>;
  /** The last pauses and resumptions, newest first. */
  history(limit: number): Promise<readonly PauseEntry[]>;
}

/** Entries of the history that are kept. */
const KEPT = 1_000;

// Both scripts: KEYS: pauses, history. The server's clock dates the entry: whoever decides may be on any machine.
const NOTE = `
local function note(what, org, report, who, why)
  local time = redis.call('TIME')
  local at = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('LPUSH', KEYS[2], cjson.encode({ what = what, at = at, org = org, report = report, who = who, why = why }))
  redis.call('LTRIM', KEYS[2], 0, ${KEPT - 1})
end
`;

// ARGV: field, key or '' for a person's pause, the pause
const PUT = script(`${NOTE}
local held = redis.call('HGET', KEYS[1], ARGV[1])
local readable, pause = pcall(cjson.decode, held or '')
if readable and (ARGV[2] == '' or pause.key == ARGV[2]) then return held end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
pause = cjson.decode(ARGV[3])
note('pause', pause.org, pause.report, pause.who, pause.why)
return ARGV[3]
`);

// ARGV: run or '' for any, who, why, fields…
const LIFT = script(`${NOTE}
local lifted = {}
for i = 4, #ARGV do
  local held = redis.call('HGET', KEYS[1], ARGV[i])
  local readable, pause = pcall(cjson.decode, held or '')
  if held and (ARGV[1] == '' or (readable and pause.run == ARGV[1])) then
    redis.call('HDEL', KEYS[1], ARGV[i])
    lifted[#lifted + 1] = held
    if readable then note('resume', pause.org, pause.report or cjson.null, ARGV[2], ARGV[3]) end
  end
end
return lifted
`);

// A folder's name holds no slash, so none of these is another's.
const refusalField = (org: string): string => org;
const fieldOf = ({ org, report }: Paused): string => `${org}/${report ?? '*'}`;

/** The pauses of a server, in one hash. Throws `redis.unreachable` when it is away. */
export function redisPauses(redis: RedisClient, { prefix }: { readonly prefix: string }): Pauses {
  const keys = keysOf(prefix);
  const both = [keys.pauses, keys.pauseHistory];
  const lift = async (run: string, who: string, why: string, fields: readonly string[]): Promise<readonly Pause[]> =>
    z
      .array(z.unknown())
      .parse(await LIFT(redis, both, [run, who, why, ...fields]))
      .flatMap((text) => read(pauseSchema, text) ?? []);
  return {
    list: () =>
      asking(redis, async () => {
        const all = Object.values(await redis.hgetall(keys.pauses)).flatMap((text) => read(pauseSchema, text) ?? []);
        return all.sort(
          (a, b) =>
            a.org.localeCompare(b.org) ||
            (a.report ?? '').localeCompare(b.report ?? '') ||
            a.since - b.since ||
            Number(a.key === null) - Number(b.key === null),
        );
      }),
    put: (pause) =>
      asking(redis, async () => {
        const field = pause.key === null ? fieldOf(pause) : refusalField(pause.org);
        return read(pauseSchema, await PUT(redis, both, [field, pause.key ?? '', JSON.stringify(pause)])) ?? pause;
      }),
    lift: (of, who, why) =>
      asking(redis, () => lift('', who, why, [fieldOf(of), ...(of.report === null ? [refusalField(of.org)] : [])])),
    liftRefusal: (org, run, why) => asking(redis, async () => (await lift(run, 'docket', why, [refusalField(org)]))[0]),
    history: (limit) =>
      asking(redis, async () =>
        (await redis.lrange(keys.pauseHistory, 0, limit - 1)).flatMap((text) => read(entrySchema, text) ?? []),
      ),
  };
}

/** What nobody can read pauses nobody: one bad entry must not stop the schedules of all. */
function read<T>(schema: z.ZodType<T>, text: unknown): T | undefined {
  try {
    return Object.freeze(schema.parse(JSON.parse(z.string().parse(text))));
  } catch {
    return undefined;
  }
}
