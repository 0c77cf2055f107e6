import { redisStats } from './redis-stats.mjs';

/**
 * The cost of `work`: elapsed time, and processor time of this process and of Redis, in ms; commands and bytes of
 * Redis. Growth is reported in processor time, which depends less on other load on the machine.
 */
export async function costOf(work, redis) {
  const stats = async () => (redis === undefined ? { commands: 0, cpuMs: 0, bytes: 0 } : redisStats(redis));
  const before = { ...(await stats()), at: performance.now(), own: process.cpuUsage() };
  await work();
  const { user, system } = process.cpuUsage(before.own);
  const ms = performance.now() - before.at;
  const after = await stats();
  return {
    ms: Math.round(ms),
    cpuMs: (user + system) / 1000 + after.cpuMs - before.cpuMs,
    commands: after.commands - before.commands,
    bytes: after.bytes - before.bytes,
  };
}
