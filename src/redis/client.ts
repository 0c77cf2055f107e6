import type { ChainableCommander, Cluster, Redis } from 'ioredis';

/** A client that stores speak through: one server, whatever a Sentinel group calls its master, or a Cluster. */
export type RedisClient = Redis | Cluster;

/** The replies of the pipeline's commands, in their order. Throws the first error that a command was answered with. */
export async function execPipeline(pipeline: ChainableCommander): Promise<unknown[]> {
  return ((await pipeline.exec()) ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
}
