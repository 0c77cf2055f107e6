/** The stored responses of a benchmark's processes, in Redis so that none is lost with a process. */
export function answersOf(redis, prefix) {
  const kept = `${prefix}answers`;
  const twice = `${prefix}twice`;
  return {
    keep: async (id) => {
      if ((await redis.hsetnx(kept, id, Date.now())) === 0) await redis.incr(twice);
    },
    ids: async () => new Set(await redis.hkeys(kept)),
    count: () => redis.hlen(kept),
    twice: async () => Number(await redis.get(twice)),
    /** Epoch ms when the last response was stored. */
    last: async () => Math.max(...(await redis.hvals(kept)).map(Number)),
  };
}
