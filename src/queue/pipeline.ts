import type { ChainableCommander } from 'ioredis';

/** The replies of the pipeline's commands, in their order. Throws the first error that a command was answered with. */
export async function repliesOf(pipeline: ChainableCommander): Promise<unknown[]> {
  return ((await pipeline.exec()) ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
}
