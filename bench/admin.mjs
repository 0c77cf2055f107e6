// The admin route as people and programs find it: `docket start --role admin` in a process of its own, a Redis of its own.
// Beside it Bull Board, the admin route of bare BullMQ, which asks nobody who he is, checks nothing, and keeps no record.
//
//   npm run build && node build/modules.mjs && node bench/admin.mjs [--quick] [--rate 200] [--seconds 20]
//
// POST → 202: each request is a new run, opened and enqueued durably, of ten organizations in turn (for the peer a new job).
// Requests arrive at a fixed rate, whatever is still open, from a client in a process of its own, and count from the instant at
// which they left: by how much the client was late itself is shown beside (`client_late_ms`). Both servers stand all the time and
// are asked in turns, five seconds each, so that what else the machine does meets both. `own_ms` is the server's processor time a
// request, `redis_ms` that of its Redis. Limits: a p99 of 1.2 times Bull Board's (`times_bull_board`), 1.5 ms of processor time.
// Then, with all these runs on record, pages of a listing and /metrics.
import { fork } from 'node:child_process';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { figuresOf, httpClient } from './support/arrivals.mjs';
import { startDocket } from './support/deployment.mjs';
import { readOptions } from './support/options.mjs';
import { cpuMsOf } from './support/processes.mjs';
import { privateRedis } from './support/redis.mjs';
import { redisStats } from './support/redis-stats.mjs';
import { percentile, reportOf, rounded } from './support/report.mjs';

const { rate, seconds } = readOptions({ rate: 200, seconds: 20 }, { seconds: 5 });
const ROUND_SECONDS = 5;
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
  const post = (org) => ({ method: 'POST', path: `/api/reports/${org}/report/runs`, body: '{"deliver":false}' });
  return {
    ...started,
    posts: ORGS.map(post),
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
  const body = JSON.stringify({ name: 'run', data: { index: 0 }, options: {} });
  return {
    url,
    headers: { 'Content-Type': 'application/json' },
    posts: [{ method: 'POST', path: '/api/queues/runs/add', body }],
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

async function open(who, start) {
  const redis = await privateRedis();
  const server = await start(redis.url);
  const stats = new Redis(redis.url);
  const client = httpClient(server);
  return {
    who,
    ...server,
    /** What these requests took, and the processor time, ms, that the server and its Redis had for them. */
    ask: async (order) => {
      const costs = async () => [await server.cpuMs(), (await redisStats(stats)).cpuMs];
      const before = await costs();
      const got = await client.ask(order);
      const [own, ofRedis] = (await costs()).map((ms, index) => ms - before[index]);
      return { ...got, own, ofRedis };
    },
    close: async () => {
      client.close();
      stats.disconnect();
      await server.close();
      await redis.close();
    },
  };
}

/** Rounds as one: their times, the most that the client was late, all that they cost. */
const together = (rounds) => ({
  times: rounds.flatMap(({ times }) => times),
  statuses: rounds.reduce((sum, { statuses }) => {
    for (const [status, times] of statuses) sum.set(status, (sum.get(status) ?? 0) + times);
    return sum;
  }, new Map()),
  lateMs: Math.max(...rounds.map(({ lateMs }) => lateMs)),
  own: rounds.reduce((sum, { own }) => sum + own, 0),
  ofRedis: rounds.reduce((sum, { ofRedis }) => sum + ofRedis, 0),
});

const servers = [await open('docket', docket), await open('bull-board', bullBoard)];
const [ours, peer] = servers;
const said = (name, who, got, wanted, limit, more = {}) => {
  const cost = { own_ms: rounded(got.own / got.times.length, 2), redis_ms: rounded(got.ofRedis / got.times.length, 2) };
  report({ name, who, ...figuresOf(got, wanted), ...cost, ...more, load: rounded(loadavg()[0], 1), limit });
};
try {
  const rounds = new Map(servers.map(({ who }) => [who, []]));
  // What is loaded and compiled late is loaded and compiled.
  for (const { ask, posts } of servers) await ask({ requests: posts, rate, seconds: 4 });
  for (let left = seconds; left > 0; left -= ROUND_SECONDS) {
    for (const { who, ask, posts } of servers) {
      rounds.get(who).push(await ask({ requests: posts, rate, seconds: Math.min(left, ROUND_SECONDS) }));
    }
  }
  const [own, peers] = servers.map(({ who }) => together(rounds.get(who)));
  const times_bull_board = rounded(percentile(own.times, 0.99) / percentile(peers.times, 0.99), 2);
  said(POST, ours.who, own, ours.posted, { times_bull_board: 1.2, own_ms: 1.5, other: 0 }, { times_bull_board });
  said(POST, peer.who, peers, peer.posted, { other: 0 });
  for (const { who, ask, gets } of servers) {
    for (const [name, path, often] of gets) {
      const requests = [{ method: 'GET', path }];
      await ask({ requests, rate: often, seconds: 1 });
      const got = await ask({ requests, rate: often, seconds: Math.max(1, Math.ceil(seconds / 4)) });
      said(name, who, got, 200, { other: 0 });
    }
  }
} finally {
  for (const { close } of servers) await close();
}
