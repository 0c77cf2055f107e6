// Measures a run on demand whose key is free: ms from just before POST /api/reports/{org}/report/runs until its first
// metrics call arrives at the service, through `docket start` as delivered, one run after the other.
//
//   npm run build && node build/modules.mjs && node bench/first-call.mjs [--quick] [--times 80]
//
// Four organizations, each with its own key, take turns, and a window is one second, so the budget never limits. Their
// catalogs are cached, as in any worker that has run for a minute.
import { setTimeout as sleep } from 'node:timers/promises';
import { Secret } from '../dist-modules/base/secrets/secret.js';
import { startSandbox } from '../dist-modules/sandbox/sandbox.js';
import { startDocket } from './support/deployment.mjs';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { percentile, reportOf } from './support/report.mjs';
import { keyOf } from './support/service.mjs';

const { times } = readOptions({ times: 80 }, { times: 30 });
const ORGS = ['acme', 'northwind', 'lakeside', 'blank'];
const report = reportOf('first-call');
const redis = await privateRedis();
const sandbox = await startSandbox({ windowMs: 1_000 });
const keys = Object.fromEntries(ORGS.map((label) => [label, keyOf(sandbox, label)]));
const docket = await startDocket({
  redisUrl: redis.url,
  apiUrl: sandbox.url,
  keys,
  budget: { calls: 30, window: 1 },
});
try {
  // The first run of each fetches its catalog, and loads everything that is loaded late.
  for (const org of [...ORGS, ...ORGS, ...ORGS]) await docket.ask(org);
  const took = [];
  for (let time = 0; time < times; time++) {
    const org = ORGS[time % ORGS.length];
    const before = sandbox.requests().length;
    const posted = Date.now();
    // A different day each time, because requests of an earlier run would be answered without a call (`max_age`).
    const day = new Date(Date.UTC(2026, 9, 1) - time * 86_400_000).toISOString().slice(0, 10);
    await docket.ask(org, { from: day, to: day });
    const mine = new Secret(keys[org]).fingerprint();
    const first = sandbox
      .requests()
      .slice(before)
      .find(({ key }) => key === mine);
    took.push(first.at - posted);
    // A random pause, to avoid being in step with periodic work.
    await sleep(Math.random() * 100);
  }
  report({
    name: 'the key is free',
    p50_ms: percentile(took, 0.5),
    p90_ms: percentile(took, 0.9),
    most_ms: Math.max(...took),
    times,
    throttled: sandbox.requests().filter(({ status }) => status === 429).length,
    limit: { p50_ms: 30, throttled: 0 },
  });
} finally {
  await docket.close();
  await sandbox.close();
  await redis.close();
}
