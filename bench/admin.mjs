// The admin route as people and programs find it: `docket start --role admin` in a process of its own, a Redis of its own.
// Beside it Bull Board, the admin route of bare BullMQ, which asks nobody who he is, checks nothing, and keeps no record.
//
//   npm run build && npm run build:modules && node bench/admin.mjs [--quick] [--rate 200] [--seconds 20]
//
// POST → 202: each request is a new run, opened and put in line durably, of ten organizations in turn (for the peer a new job).
// Requests arrive at a fixed rate, whatever is still open, and each counts from the instant at which it was due
// (`client_late_ms` is in it): what waits behind a stall is counted. `own_ms` is the process's processor time a request.
// Limit: p99 20 ms. Then, with all these runs on record, pages of a listing and /metrics.
import { fork } from 'node:child_process';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import { arrivals, figuresOf } from './support/arrivals.mjs';
import { startDocket } from './support/deployment.mjs';
import { readOptions } from './support/options.mjs';
import { cpuMsOf } from './support/processes.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportOf, rounded } from './support/report.mjs';

const { rate, seconds } = readOptions({ rate: 200, seconds: 20 }, { seconds: 5 });
const ORGS = Array.from({ length: 10 }, (_, index) => `org${index}`);
const POST = `POST to 202, ${rate} a second`;
const PAGE = 'a page of 50 runs, 50 a second';
const BULL_BOARD = fileURLToPath(new URL('./support/bull-board.mjs', import.meta.url));
const report = reportOf('admin');

async function docket(redisUrl) {
  const started = await startDocket({
    redisUrl,
    // An admin process calls nothing.
    apiUrl: 'http://127.0.0.1:9',
    keys: Object.fromEntries(ORGS.map((org, index) => [org, `bench${index}.key`])),
    budget: { calls: 30, window: 60 },
    role: 'admin',
  });
  return {
    ...started,
    post: (index) => ['POST', `/api/reports/${ORGS[index % ORGS.length]}/report/runs`, '{"deliver":false}'],
    posted: 202,
    gets: [
      [PAGE, '/api/runs?limit=50', 50],
      ['a page of one organization, 50 a second', '/api/runs?org=org3&limit=50', 50],
      ['/metrics, 5 a second', '/metrics', 5],
    ],
  };
}

async function bullBoard(redisUrl) {
  const child = fork(BULL_BOARD, [redisUrl]);
  const url = await new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`Bull Board ended with ${code}`)));
  });
  return {
    url,
    headers: { 'Content-Type': 'application/json' },
    post: (index) => ['POST', '/api/queues/runs/add', JSON.stringify({ name: 'run', data: { index }, options: {} })],
    posted: 200,
    gets: [[PAGE, '/api/queues?activeQueue=runs&status=waiting&page=1&jobsPerPage=50', 50]],
    cpuMs: () => cpuMsOf(child.pid),
    close: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.disconnect();
      await ended;
    },
  };
}

async function measure(who, start) {
  const redis = await privateRedis();
  const server = await start(redis.url);
  const pool = new Pool(server.url, { connections: 16 });
  const ask = async (method, path, body) => {
    const answer = await pool.request({ method, path, headers: server.headers, body: body ?? null });
    await answer.body.arrayBuffer();
    return answer.statusCode;
  };
  const post = (index) => ask(...server.post(index));
  const said = (name, got, status, limit, more) =>
    report({ name, who, ...figuresOf(got, status), ...more, load: rounded(loadavg()[0], 1), limit });
  try {
    // What is loaded and compiled late is loaded and compiled.
    await arrivals(post, { rate: Math.min(rate, 100), seconds: 3 });
    const before = await server.cpuMs();
    const posted = await arrivals(post, { rate, seconds });
    const own_ms = rounded(((await server.cpuMs()) - before) / posted.times.length, 2);
    said(POST, posted, server.posted, { p99_ms: 20, other: 0 }, { own_ms });
    for (const [name, path, often] of server.gets) {
      await arrivals(() => ask('GET', path), { rate: often, seconds: 1 });
      const got = await arrivals(() => ask('GET', path), { rate: often, seconds: Math.max(1, Math.ceil(seconds / 4)) });
      said(name, got, 200, { p99_ms: null, other: 0 });
    }
  } finally {
    await pool.close();
    await server.close();
    await redis.close();
  }
}

await measure('docket', docket);
await measure('bull-board', bullBoard);
