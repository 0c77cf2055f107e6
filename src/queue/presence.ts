import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import { type RedisClient, script } from './script.ts';

/** A process that has not said for so long that it is at work is taken for gone, ms. */
const GONE_MS = 90_000;
/** Between two words of a process: two of them may be lost. */
export const PRESENT_EVERY_MS = 25_000;

// The clock of the server alone decides: those of two machines may differ by more than a process may be silent.
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local gone = string.format('%.0f', now - ${GONE_MS})
`;

// KEYS: present  ARGV: <role> <process>…
const TELL = script(`${NOW}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', gone)
for _, member in ipairs(ARGV) do redis.call('ZADD', KEYS[1], string.format('%.0f', now), member) end
redis.call('PEXPIRE', KEYS[1], ${GONE_MS})
return 1
`);
const SEEN = script(`${NOW}
return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. gone, '+inf')
`);

/** Which processes are at work, as they say themselves. */
export interface Presence {
  /** Says that this process does these roles; to be said again within a minute. */
  tell(roles: readonly string[]): Promise<void>;
  /** Says that it does none of them any more. */
  leave(): Promise<void>;
  /** How many processes do each role; a role that nobody does is absent. */
  count(): Promise<ReadonlyMap<string, number>>;
}

/**
 * The processes of one server, in one sorted set. Unlike the list of a server's connections it can be read on a Cluster,
 * and with a user who may not ask for that. Throws `redis.unreachable`.
 *
 * @param self names this process, unlike any other
 */
export function redisPresence(
  redis: RedisClient,
  { prefix, self }: { readonly prefix: string; readonly self: string },
): Presence {
  const { present } = keysOf(prefix);
  let told: readonly string[] = [];
  return {
    tell: (roles) =>
      asking(redis, async () => {
        const members = roles.map((role) => `${role} ${self}`);
        const over = told.filter((member) => !members.includes(member));
        told = members;
        if (over.length > 0) await redis.zrem(present, ...over);
        if (members.length > 0) await TELL(redis, [present], members);
      }),
    leave: () =>
      asking(redis, async () => {
        if (told.length > 0) await redis.zrem(present, ...told);
        told = [];
      }),
    count: () =>
      asking(redis, async () => {
        const members = await SEEN(redis, [present], []);
        const counts = new Map<string, number>();
        for (const member of Array.isArray(members) ? members.map(String) : []) {
          const role = member.split(' ', 1)[0] ?? '';
          counts.set(role, (counts.get(role) ?? 0) + 1);
        }
        return counts;
      }),
  };
}
