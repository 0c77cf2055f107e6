import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';

/** A queue and a worker per key, because a limiter belongs to a queue, and the open edition has no groups. */
export async function open({ redisUrl, limit, windowMs, calls }) {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const parts = new Map();
  const jobs = new Map();
  const partOf = (key) => {
    const known = parts.get(key);
    if (known !== undefined) return known;
    const made = {
      queue: new Queue(key, { connection }),
      worker: new Worker(
        key,
        async (job) => {
          const { attempt, resolve } = jobs.get(job.id);
          await attempt();
          resolve();
        },
        { connection, limiter: { max: limit, duration: windowMs }, concurrency: calls },
      ),
    };
    made.worker.on('error', () => {});
    parts.set(key, made);
    return made;
  };
  return {
    call: (key, id, attempt) =>
      new Promise((resolve, reject) => {
        jobs.set(id, { attempt, resolve });
        partOf(key).queue.add('call', {}, { jobId: id, removeOnComplete: true }).catch(reject);
      }),
    close: async () => {
      await Promise.all([...parts.values()].map(({ worker }) => worker.close(true)));
      connection.disconnect();
    },
  };
}
