/** Statistics of a Redis: commands so far, including those inside of scripts; processor time, ms; bytes in use. */
export async function redisStats(redis) {
  const text = await redis.info('everything');
  const number = (field) => Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(text)?.[1]);
  const calls = [...text.matchAll(/^cmdstat_([^:|]+):calls=(\d+)/gm)].filter(([, name]) => name !== 'info');
  return {
    commands: calls.reduce((sum, [, , times]) => sum + Number(times), 0),
    cpuMs: (number('used_cpu_sys') + number('used_cpu_user')) * 1000,
    bytes: number('used_memory'),
  };
}
