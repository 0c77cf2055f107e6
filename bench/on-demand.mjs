// A call on demand arrives while 2,000 scheduled calls wait for the same key. It must get the next token that returns:
// between its arrival and its grant, no scheduled call may take the last available token.
//
// Tokens of a burst return within the same millisecond, and the call whose timer fires first requests first. So a
// scheduled call that is granted in that millisecond, but leaves a token for the call on demand, has not overtaken it.
// `late_ms` is the longest time for which its token was available.
//
//   npm run build && node build/modules.mjs && node bench/on-demand.mjs [--quick] [--calls 2000] [--window 2000] [--times 20]
import { setTimeout as sleep } from 'node:timers/promises';
import { bullmqLineOf } from './support/bullmq-key-queue.mjs';
import { lineOf } from './support/key-queue.mjs';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { percentile, reportOf } from './support/report.mjs';
import { startService } from './support/service.mjs';

const { calls, window, times } = readOptions({ calls: 2_000, window: 2_000, times: 20 }, { times: 5 });
const LIMIT = 30;

/** Makes one call on demand. Returns how many scheduled calls overtook it, its wait, and how late it took its token. */
async function arrive(line, id) {
  const came = Date.now();
  await line.call({ id, org: 'acme', priority: 'on_demand' });
  const arrival = line.answers.findIndex((answer) => answer.id === id);
  const grant = line.answers.findIndex((answer) => answer.id === id && answer.granted);
  const { at } = line.answers[grant];
  const between = line.answers.slice(arrival + 1, grant).filter(({ granted }) => granted);
  return {
    passedBy: between.filter(({ tokens }) => tokens === 0).length,
    ms: at - came,
    late: at - (between[0]?.at ?? at),
  };
}

async function measure(redisUrl, lineBy) {
  const service = await startService({ windowMs: window });
  const line = lineBy({ redisUrl, service, limit: LIMIT, windowMs: window });
  try {
    for (let index = 0; index < calls; index++) {
      line.call({ id: `scheduled-${index}`, org: 'acme', priority: 'scheduled' });
    }
    while (line.answers.length < calls) await sleep(1);
    const waiting = await line.waiting();
    const arrivals = [];
    for (let time = 0; time < times; time++) {
      await sleep(Math.random() * window);
      arrivals.push(await arrive(line, `on-demand-${time}`));
    }
    const waits = arrivals.map(({ ms }) => ms);
    return {
      passed_by: Math.max(...arrivals.map(({ passedBy }) => passedBy)),
      wait_ms_p50: percentile(waits, 0.5),
      wait_ms_most: Math.max(...waits),
      late_ms: Math.max(...arrivals.map(({ late }) => late)),
      waiting,
      times,
      throttled: service.requests().filter(({ status }) => status === 429).length,
    };
  } finally {
    await line.close();
    await service.close();
  }
}

const report = reportOf('on-demand');
const redis = await privateRedis();
try {
  for (const [who, lineBy] of Object.entries({ docket: lineOf, bullmq: bullmqLineOf })) {
    const figures = await measure(redis.url, lineBy);
    report({ name: `${calls} scheduled calls wait`, who, ...figures, limit: { passed_by: 0, throttled: 0 } });
  }
} finally {
  await redis.close();
}
