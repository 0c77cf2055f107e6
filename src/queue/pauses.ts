import { z } from 'zod';
import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import { type RedisClient, script } from './script.ts';

const pauseSchema = z.object({
  org: z.string(),
  who: z.string(),
  why: z.string(),
  since: z.number(),
  key: z.string(),
  run: z.string(),
});

/** An organization whose scheduled runs wait. */
export interface Pause {
  readonly org: string;
  /** Who paused it; `docket` where it did so itself. */
  readonly who: string;
  /** One sentence for a person. */
  readonly why: string;
  /** Epoch ms. */
  readonly since: number;
  /** Fingerprint of the API key that was refused. */
  readonly key: string;
  /** The run that was refused: its report's owner is the one who is told. */
  readonly run: string;
}

/** Which organizations are paused, for all workers. */
export interface Pauses {
  /** By name. */
  list(): Promise<readonly Pause[]>;
  /** Pauses the organization unless it is paused for this very key; returns the pause that then stands. */
  put(pause: Pause): Promise<Pause>;
  /** Lifts the organization's pause – with `run` only the one that this run caused – and returns it; undefined when there was none. */
  lift(org: string, run?: string): Promise<Pause | undefined>;
}

// KEYS: pauses  ARGV: org, key, the pause
const PUT = script(`
local held = redis.call('HGET', KEYS[1], ARGV[1])
local readable, pause = pcall(cjson.decode, held or '')
if readable and pause.key == ARGV[2] then return held end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return ARGV[3]
`);

// KEYS: pauses  ARGV: org, run or ''
const LIFT = script(`
local held = redis.call('HGET', KEYS[1], ARGV[1])
if not held then return false end
local readable, pause = pcall(cjson.decode, held)
if ARGV[2] ~= '' and not (readable and pause.run == ARGV[2]) then return false end
redis.call('HDEL', KEYS[1], ARGV[1])
return held
`);

/** The pauses of a server, in one hash. Throws `redis.unreachable` when it is away. */
export function redisPauses(redis: RedisClient, { prefix }: { readonly prefix: string }): Pauses {
  const { pauses } = keysOf(prefix);
  return {
    list: () =>
      asking(redis, async () => {
        const all = Object.values(await redis.hgetall(pauses));
        return all.flatMap((text) => read(text) ?? []).sort((a, b) => a.org.localeCompare(b.org));
      }),
    put: (pause) =>
      asking(redis, async () => {
        const stands = await PUT(redis, [pauses], [pause.org, pause.key, JSON.stringify(pause)]);
        return read(stands) ?? pause;
      }),
    lift: (org, run = '') => asking(redis, async () => read(await LIFT(redis, [pauses], [org, run]))),
  };
}

/** What nobody can read pauses nobody: one bad entry must not stop the schedules of all. */
function read(text: unknown): Pause | undefined {
  try {
    return Object.freeze(pauseSchema.parse(JSON.parse(z.string().parse(text))));
  } catch {
    return undefined;
  }
}
