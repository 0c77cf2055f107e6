import type { ChainableCommander, Cluster, Redis } from 'ioredis';
import { z } from 'zod';
import type { Endpoint } from '../base/config/redis-url.ts';

/** A client of one server, of a Sentinel group's master, or of a Cluster. */
export type RedisClient = Redis | Cluster;

export const isCluster = (redis: RedisClient): redis is Cluster => 'nodes' in redis;

/** The servers that accept writes: all masters of a Cluster, otherwise the one server. */
export const masterNodes = (redis: RedisClient): readonly Redis[] =>
  isCluster(redis) ? redis.nodes('master') : [redis];

/** Host and port, for errors and log lines. Never includes user or password. */
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

/** Runs a pipeline and returns the replies in the order of its commands. Throws the first error reply. */
export async function execPipeline(pipeline: ChainableCommander): Promise<unknown[]> {
  return ((await pipeline.exec()) ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
}

/** Parses a value stored as JSON. Undefined if it is absent, or if this version of Docket cannot have written it. */
export function parseStored<T>(schema: z.ZodType<T>, text: unknown): T | undefined {
  try {
    return Object.freeze(schema.parse(JSON.parse(z.string().parse(text))));
  } catch {
    return undefined;
  }
}
