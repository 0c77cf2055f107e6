import type { ChainableCommander, Cluster, Redis } from 'ioredis';
import { z } from 'zod';
import type { Endpoint } from '../base/config/redis-url.ts';

/** One server, the master of a Sentinel group, or a Cluster. */
export type RedisClient = Redis | Cluster;

export const isCluster = (redis: RedisClient): redis is Cluster => 'nodes' in redis;

/** The servers that accept writes: of a Cluster all masters, otherwise the one server. */
export const mastersOf = (redis: RedisClient): readonly Redis[] => (isCluster(redis) ? redis.nodes('master') : [redis]);

/** Host and port for errors and log lines; never user or password. */
export function redisName(redis: RedisClient): string {
  if (isCluster(redis)) {
    const nodes = redis.nodes().map(({ options: { host = '?', port = 0 } }) => ({ host, port }));
    return nodes.length === 0 ? 'the Redis Cluster' : clusterName(nodes);
  }
  const { path, host, port, sentinels, name } = redis.options;
  if (sentinels != null) return `${name} of the Sentinels ${sentinels.map(formatEndpoint).join(', ')}`;
  return path ?? `${host ?? '127.0.0.1'}:${port ?? 6379}`;
}

export const clusterName = (nodes: readonly Endpoint[]): string =>
  `the Cluster of ${nodes.map(formatEndpoint).sort().join(', ')}`;

const formatEndpoint = ({ host = '127.0.0.1', port = 26_379 }: Partial<Endpoint>): string => `${host}:${port}`;

/** The replies of a pipeline's commands, in their order. Throws the first error reply. */
export async function execPipeline(pipeline: ChainableCommander): Promise<unknown[]> {
  return ((await pipeline.exec()) ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
}

/** A value that is stored as JSON; undefined for an absent one, and for one that this version of Docket did not write. */
export function parseStored<T>(schema: z.ZodType<T>, text: unknown): T | undefined {
  try {
    return Object.freeze(schema.parse(JSON.parse(z.string().parse(text))));
  } catch {
    return undefined;
  }
}
