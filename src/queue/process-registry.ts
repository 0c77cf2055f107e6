import { SECOND_MS } from '../base/time.ts';
import type { RedisClient } from '../redis/client.ts';
import { mapRedisErrors } from '../redis/errors.ts';
import { redisKeys } from '../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../redis/script.ts';

/** A process without a heartbeat for this long, ms, counts as stopped. */
const PROCESS_TTL_MS = 90 * SECOND_MS;
/** The names of processes that sign review and correction events end with this. Names of older versions do not. */
const SIGNS_EVENTS = ':signs-events';
/** Short enough that two heartbeats may be lost. */
export const PROCESS_HEARTBEAT_INTERVAL_MS = 25 * SECOND_MS;

const SCRIPT = loadLuaScript('./process-registry.lua', import.meta.url);

/**
 * Registers the running processes by role, in one sorted set. Unlike CLIENT LIST, it works on a Cluster and for users
 * without admin permissions. Throws `redis.unreachable`.
 *
 * @param self this process's unique name
 */
export function redisProcessRegistry(
  redis: RedisClient,
  { prefix, self }: { readonly prefix: string; readonly self: string },
) {
  const { present } = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  let registered: readonly string[] = [];
  return {
    /** Registers this process with these roles for 90 seconds. */
    heartbeat: mapped(async (roles: readonly string[]) => {
      const members = roles.map((role) => `${role} ${self}${SIGNS_EVENTS}`);
      const dropped = registered.filter((member) => !members.includes(member));
      registered = members;
      if (dropped.length > 0) await redis.zrem(present, ...dropped);
      if (members.length > 0) await runLuaScript(redis, SCRIPT, [present], [PROCESS_TTL_MS, ...members]);
    }),
    /** Removes this process. */
    leave: mapped(async () => {
      if (registered.length > 0) await redis.zrem(present, ...registered);
      registered = [];
    }),
    /** Whether a process is running whose version does not sign review events. */
    hasOlder: mapped(async (): Promise<boolean> => {
      const members = await runLuaScript(redis, SCRIPT, [present], [PROCESS_TTL_MS]);
      return Array.isArray(members) && members.some((member) => !String(member).endsWith(SIGNS_EVENTS));
    }),
    /** The running processes, by name `host:pid:random`, with their roles. */
    roles: mapped(async (): Promise<ReadonlyMap<string, readonly string[]>> => {
      const members = await runLuaScript(redis, SCRIPT, [present], [PROCESS_TTL_MS]);
      const roles = new Map<string, string[]>();
      for (const member of Array.isArray(members) ? members.map(String) : []) {
        const [role = '', name = ''] = member.replace(SIGNS_EVENTS, '').split(' ');
        roles.set(name, [...(roles.get(name) ?? []), role]);
      }
      return roles;
    }),
    /** Number of processes in each role. Roles without a process are absent. */
    countByRole: mapped(async (): Promise<ReadonlyMap<string, number>> => {
      const members = await runLuaScript(redis, SCRIPT, [present], [PROCESS_TTL_MS]);
      const counts = new Map<string, number>();
      for (const member of Array.isArray(members) ? members.map(String) : []) {
        const role = member.split(' ', 1)[0] ?? '';
        counts.set(role, (counts.get(role) ?? 0) + 1);
      }
      return counts;
    }),
  };
}
export type ProcessRegistry = ReturnType<typeof redisProcessRegistry>;
