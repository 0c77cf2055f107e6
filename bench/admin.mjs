// Measures the admin route as people and programs use it: `docket start --role admin` in its own process, with its own
// Redis. The peer is Bull Board, the admin route of bare BullMQ, which has no authentication, no validation and no
// records.
//
//   npm run build && node build/modules.mjs && node bench/admin.mjs [--quick] [--rate 200] [--seconds 20]
//
// POST → 202: each request opens and durably enqueues a new run, for ten organizations in turn (for the peer, a new
// job). A client in its own process sends requests at a fixed rate, however many are still open. Response times count
// from the moment a request leaves; `client_late_ms` shows how late the client itself was. Both servers run all the
// time and are measured in turns of five seconds, so that other load on the machine affects both. `own_ms` is the
// server's processor time per request, `redis_ms` that of its Redis. Limits: a p99 of at most 1.2 times Bull Board's
// (`times_bull_board`), and 1.5 ms of processor time. Afterwards, with all these runs on record, it measures pages of a
// listing and /metrics.
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
    // An admin process makes no calls to the service.
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
    /** How long these requests took, and the processor time in ms that the server and its Redis used for them. */
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

/** Combines rounds: all times, the largest delay of the client, and the total cost. */
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
  // Warms up, so that everything loaded or compiled late is ready.
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
