import { masterNodes, type RedisClient } from './client.ts';

/** Looks up fields in a reply to INFO. A missing field is the empty text. */
export const parseInfo =
  (info: string) =>
  (field: string): string =>
    new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';

/** A server's memory. With `noeviction`, a full server rejects writes. */
export interface RedisMemory {
  readonly usedBytes: number;
  /** 0: `maxmemory` is not set, so the machine's memory is the limit. */
  readonly limitBytes: number;
  /** The machine's memory; 0 or absent if unknown. */
  readonly machineBytes?: number;
}

/**
 * The memory of the server, or of the Cluster master closest to its limit. Null if INFO fails or is forbidden, as on
 * some hosted servers. Never throws.
 */
export async function readRedisMemory(redis: RedisClient): Promise<RedisMemory | null> {
  try {
    const servers = await Promise.all(
      masterNodes(redis).map(async (server) => readMemory(await server.info('memory'))),
    );
    const utilization = ({ usedBytes, limitBytes, machineBytes }: RedisMemory) =>
      usedBytes / (limitBytes || machineBytes || Number.MAX_SAFE_INTEGER);
    return servers.sort((a, b) => utilization(b) - utilization(a))[0] ?? null;
  } catch {
    return null;
  }
}

function readMemory(info: string): RedisMemory {
  const field = parseInfo(info);
  return {
    usedBytes: Number(field('used_memory')),
    limitBytes: Number(field('maxmemory')),
    machineBytes: Number(field('total_system_memory')),
  };
}

/** If the server, or a master of the Cluster, is a read-only replica: the master that it follows. Never throws. */
export async function findReplica(redis: RedisClient): Promise<string | undefined> {
  const infos = await Promise.all(masterNodes(redis).map((server) => server.info('replication'))).catch(() => []);
  const field = infos.map(parseInfo).find((each) => /^(slave|replica)$/.test(each('role')));
  return field && `${field('master_host')}:${field('master_port')}`;
}
