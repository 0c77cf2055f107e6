import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { answersOf } from './answers.mjs';
import { employ } from './fleet.mjs';
import { rounded } from './report.mjs';
import { startService } from './service.mjs';

/** The service's limit per window. */
export const LIMIT = 30;
export const LIMITERS = ['sliding', 'fixed', 'token-bucket'];

/** The minimum ms, from its first call on, for any client that keeps the limit. */
export const boundOf = (limiter, { calls, windowMs }) =>
  limiter === 'token-bucket' ? ((calls - LIMIT) * windowMs) / LIMIT : (Math.ceil(calls / LIMIT) - 1) * windowMs;

let runs = 0;

/**
 * Makes `calls` calls with `workers` processes that share one key, with one client, against its own service with one
 * limiter. Kills a process without warning `kills` times.
 */
export async function makeCalls({ client, limiter, redisUrl, calls, windowMs, workers, kills = 0 }) {
  const service = await startService({ limiter, windowMs });
  // A fixed window with a known start would favour us.
  await sleep(Math.random() * windowMs);
  const prefix = `bench:${process.pid}:${runs++}:`;
  const bound = boundOf(limiter, { calls, windowMs });
  const orders = Array.from({ length: workers }, (_, index) => ({
    client,
    redisUrl,
    prefix,
    url: service.url,
    key: service.key,
    limit: LIMIT,
    windowMs,
    workers,
    name: `worker-${index}`,
    // The token of a killed worker stays in use for as long as its call could still be answered.
    timeoutMs: kills === 0 ? 30_000 : 5_000,
    total: calls,
    ids: Array.from({ length: calls }, (_, call) => call)
      .filter((call) => call % workers === index)
      .map((call) => `call-${call}`),
  }));
  const redis = new Redis(redisUrl);
  const answers = answersOf(redis, prefix);
  const fleet = employ(orders, { giveUpMs: 8 * bound + 120_000 });
  const [, killed] = await Promise.all([fleet.over, killSome(fleet, answers, { kills, bound })]);
  const requests = service.requests();
  const figures = {
    throttled: requests.filter(({ status }) => status === 429).length,
    // From the first call at the server to the last stored response: the start of a process is not part of it.
    ratio: rounded(((await answers.last()) - Math.min(...requests.map(({ at }) => at))) / bound),
    ms: (await answers.last()) - Math.min(...requests.map(({ at }) => at)),
    bound_ms: bound,
    missing: calls - (await answers.count()),
    kept_twice: await answers.twice(),
    requests: requests.length,
    ...(kills === 0 ? {} : { killed }),
  };
  await redis.quit();
  await service.close();
  return figures;
}

/** Every other kill is in the middle of a burst, where it is unknown whether calls were sent. */
async function killSome(fleet, answers, { kills, bound }) {
  let over = false;
  const end = fleet.over.then(() => {
    over = true;
  });
  let killed = 0;
  while (killed < kills) {
    await Promise.race([end, sleep(((Math.random() + 0.5) * bound) / kills / 2)]);
    if (killed % 2 === 1) {
      const before = await answers.count();
      while (!over && (await answers.count()) === before) await sleep(2);
    }
    if (over) return killed;
    if (fleet.killOne()) killed += 1;
  }
  await end;
  return killed;
}
