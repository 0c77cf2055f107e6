// The admin route as people and programs find it: `docket start --role admin` in a process of its own, a Redis of its own.
//
//   npm run build && node bench/admin.mjs [--quick] [--rate 200] [--seconds 20]
//
// POST → 202: each request is a new run, opened and put in line durably, of ten organizations in turn. Requests arrive at a
// fixed rate, whatever is still open, and each counts from the instant at which it was due (`client_late_ms` is in it): what
// waits behind a stall is counted. `own_ms` is the process's processor time a request. Limit: p99 20 ms. Then, with all these runs on record, pages of a listing and /metrics.
import { availableParallelism, loadavg } from 'node:os';
import { Pool } from 'undici';
import { arrivals, figuresOf } from './support/arrivals.mjs';
import { startDocket } from './support/deployment.mjs';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportOf, rounded } from './support/report.mjs';

const { rate, seconds } = readOptions({ rate: 200, seconds: 20 }, { seconds: 5 });
const ORGS = Array.from({ length: 10 }, (_, index) => `org${index}`);
const REPORT = {
  version: 1,
  title: 'One call',
  owner: 'ops@acme.example',
  period: 'previous_month',
  sections: [{ id: 'created', title: 'Profiles', metrics: ['profiles.created'], granularity: 'day' }],
  outputs: [{ format: 'csv' }],
};

const report = reportOf('admin');
const redis = await privateRedis();
const docket = await startDocket({
  redisUrl: redis.url,
  // An admin process calls nothing.
  apiUrl: 'http://127.0.0.1:9',
  keys: Object.fromEntries(ORGS.map((org, index) => [org, `bench${index}.key`])),
  budget: { calls: 30, window: 60 },
  report: REPORT,
  role: 'admin',
});
const pool = new Pool(docket.url, { connections: 16 });

async function ask(method, path, body) {
  const answer = await pool.request({ method, path, headers: docket.headers, body: body ?? null });
  await answer.body.arrayBuffer();
  return answer.statusCode;
}
const post = (index) => ask('POST', `/api/reports/${ORGS[index % ORGS.length]}/report/runs`, '{"deliver":false}');
/** Seconds of processor that the process has used so far, as it tells itself. */
async function processor() {
  const answer = await pool.request({ method: 'GET', path: '/metrics', headers: docket.headers });
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(await answer.body.text())[1]);
}
const at = () => ({ load: rounded(loadavg()[0], 1), cores: availableParallelism() });

try {
  // What is loaded and compiled late is loaded and compiled.
  await arrivals(post, { rate: Math.min(rate, 100), seconds: 3 });
  const before = await processor();
  const posted = await arrivals(post, { rate, seconds });
  const own_ms = rounded(((await processor()) - before) * (1_000 / posted.times.length), 2);
  report({
    name: `POST to 202, ${rate} a second`,
    ...figuresOf(posted, 202),
    own_ms,
    ...at(),
    limit: { p99_ms: 20, other: 0 },
  });

  const part = Math.max(1, Math.ceil(seconds / 4));
  for (const [name, path, often] of [
    ['a page of 50 runs, 50 a second', '/api/runs?limit=50', 50],
    ['a page of one organization, 50 a second', '/api/runs?org=org3&limit=50', 50],
    ['/metrics, 5 a second', '/metrics', 5],
  ]) {
    await arrivals(() => ask('GET', path), { rate: often, seconds: 1 });
    const got = await arrivals(() => ask('GET', path), { rate: often, seconds: part });
    report({ name, ...figuresOf(got, 200), ...at(), limit: { other: 0 } });
  }
} finally {
  await pool.close();
  await docket.close();
  await redis.close();
}
