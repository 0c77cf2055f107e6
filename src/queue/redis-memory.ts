import type { RedisClient } from './script.ts';

/** What Redis holds, and what it may: with `noeviction`, a full one refuses to write. */
export interface RedisMemory {
  readonly usedBytes: number;
  /** 0: no limit is set (`maxmemory 0`), and the machine's memory is the limit. */
  readonly limitBytes: number;
}

/**
 * The memory of the server; of a Cluster, of the master that is nearest to its limit. Null where we may not ask, which a
 * hosted Redis may forbid. Never throws.
 */
export async function redisMemory(redis: RedisClient): Promise<RedisMemory | null> {
  try {
    const servers = 'nodes' in redis ? redis.nodes('master') : [redis];
    const each = await Promise.all(servers.map(async (server) => memoryIn(await server.info('memory'))));
    const filled = ({ usedBytes, limitBytes }: RedisMemory) => usedBytes / (limitBytes || Number.MAX_SAFE_INTEGER);
    return each.sort((one, other) => filled(other) - filled(one))[0] ?? null;
  } catch {
    return null;
  }
}

function memoryIn(info: string): RedisMemory {
  const field = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return { usedBytes: field('used_memory'), limitBytes: field('maxmemory') };
}
