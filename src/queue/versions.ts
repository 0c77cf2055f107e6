import { z } from 'zod';
import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import { type RedisClient, script } from './script.ts';

/** The version of a report that is in force: whichever scheduler opens a slot of it, opens it with this one. */
export interface Version {
  /** Of the definition, in the definition store. */
  readonly digest: string;
  /** Epoch ms since when. */
  readonly since: number;
  /** The process that adopted it, as `host:pid`. */
  readonly by: string;
  /** Digest of the version before it; null for a report's first. */
  readonly before: string | null;
  /** Names of its schedules' cursors. */
  readonly cursors: readonly string[];
}

/** A version that a scheduler adopts. */
export interface Adoption {
  /** `org/report` */
  readonly name: string;
  readonly digest: string;
  readonly cursors: readonly string[];
}

/**
 * Which version of each report is in force, for all processes. It changes only when a scheduler starts with other files or
 * its files change, never because one looks again: of two schedulers with different files (in the middle of a deploy) the
 * one that adopted last is followed by both.
 */
export interface Versions {
  /** Grows with every change; undefined when nothing was ever adopted here (or Redis has forgotten it). */
  revision(): Promise<number | undefined>;
  /** By `org/report`. */
  read(): Promise<ReadonlyMap<string, Version>>;
  /**
   * Puts these versions in force and takes those reports out, each in one step with its cursors: a schedule that is new
   * starts at `at`, one that is no longer in force leaves none behind, so that put back later it does not find the slots
   * of the time between. What is in force already stays as it is. Returns the names of reports that went back to the
   * version before.
   *
   * @param at epoch ms
   */
  adopt(
    change: { readonly put: readonly Adoption[]; readonly remove: readonly string[] },
    at: number,
    by: string,
  ): Promise<readonly string[]>;
  /** True for one asker a day. */
  claimKeeping(): Promise<boolean>;
}

// Cursors are kept as one text, which the script takes apart without a parser's surprises about empty lists.
const versionSchema = z.object({
  digest: z.string(),
  since: z.number(),
  by: z.string(),
  before: z.string().nullable(),
  cursors: z.string().transform((text) => (text === '' ? [] : text.split('\n'))),
});

// KEYS: versions, revision, cursors  ARGV: at, by, then for each report its name, digest ('' takes it out) and cursors
const ADOPT = script(`
local function lines(text)
  local all = {}
  for line in string.gmatch(text or '', '[^\\n]+') do all[#all + 1] = line end
  return all
end
local changed, back = false, {}
for i = 3, #ARGV, 3 do
  local name, digest, cursors = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local held = redis.call('HGET', KEYS[1], name)
  local readable, old = pcall(cjson.decode, held or '')
  if not readable or type(old) ~= 'table' then old = {} end
  if digest == '' then
    if held then
      changed = true
      redis.call('HDEL', KEYS[1], name)
      for _, cursor in ipairs(lines(old.cursors)) do redis.call('HDEL', KEYS[3], cursor) end
    end
  elseif old.digest ~= digest or old.cursors ~= cursors then
    changed = true
    if old.before == digest then back[#back + 1] = name end
    redis.call('HSET', KEYS[1], name, cjson.encode({
      digest = digest, since = tonumber(ARGV[1]), by = ARGV[2], before = old.digest or cjson.null, cursors = cursors
    }))
    local stay = {}
    for _, cursor in ipairs(lines(cursors)) do
      stay[cursor] = true
      redis.call('HSETNX', KEYS[3], cursor, ARGV[1])
    end
    for _, cursor in ipairs(lines(old.cursors)) do
      if not stay[cursor] then redis.call('HDEL', KEYS[3], cursor) end
    end
  end
end
if changed then redis.call('INCR', KEYS[2]) end
return back
`);

const DAY_S = 86_400;
/** Reports that one script takes: Redis serves nobody else meanwhile. */
const AT_ONCE = 500;

/** The versions of a server, in one hash. Throws `redis.unreachable` when it is away. */
export function redisVersions(redis: RedisClient, { prefix }: { readonly prefix: string }): Versions {
  const keys = keysOf(prefix);
  return {
    revision: () =>
      asking(redis, async () => {
        const text = await redis.get(keys.revision);
        return text === null ? undefined : Number(text);
      }),
    read: () =>
      asking(redis, async () => {
        const versions = new Map<string, Version>();
        for (const [name, text] of Object.entries(await redis.hgetall(keys.versions))) {
          const read = readVersion(text);
          if (read !== undefined) versions.set(name, read);
        }
        return versions;
      }),
    adopt: ({ put, remove }, at, by) =>
      asking(redis, async () => {
        const rows = [
          ...put.map(({ name, digest, cursors }) => [name, digest, cursors.join('\n')]),
          ...remove.map((name) => [name, '', '']),
        ];
        const back: string[] = [];
        for (let from = 0; from < rows.length; from += AT_ONCE) {
          const reply = await ADOPT(
            redis,
            [keys.versions, keys.revision, keys.cursors],
            [at, by, ...rows.slice(from, from + AT_ONCE).flat()],
          );
          back.push(...z.array(z.string()).parse(reply));
        }
        return back;
      }),
    claimKeeping: () =>
      asking(redis, async () => (await redis.set(keys.versionsKept, '1', 'EX', DAY_S, 'NX')) === 'OK'),
  };
}

/** What nobody can read is as if not in force: the next scheduler that starts puts its own in its place. */
function readVersion(text: string): Version | undefined {
  try {
    return Object.freeze(versionSchema.parse(JSON.parse(text)));
  } catch {
    return undefined;
  }
}
