import { randomBytes, randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { DocketError } from '../../src/base/error.ts';
import { rateLimitedCall } from '../../src/fetch/rate-limit/rate-limited-call.ts';
import { claimIdentity } from '../../src/redis/identity.ts';
import { createLimiter, LIMITER_ALGORITHMS, type LimiterAlgorithm } from '../../src/sandbox/limiter.ts';
import { sharedBudgets } from '../../src/services/budgets/budgets.ts';
import { type FaketimeRedis, faketimeRedis } from '../support/faketime-redis.ts';
import { recordingLog } from '../support/queue-harness.ts';

const [CALLS, WINDOW_MS, WORKERS, RUNS, CALLS_A_RUN, DEADLINE_MS] = [30, 2_000, 4, 60, 3, 500];
/** The same margin that `rate-limited-call.ts` adds to the time limit of a call. */
const HOLD_MS = DEADLINE_MS + 5_000;
const BOUND_MS = (Math.ceil((RUNS * CALLS_A_RUN) / CALLS) - 1) * WINDOW_MS;
/** Twice the longest expected time, for a busy machine. With a wrong clock, a run would wait for an hour. */
const PATIENCE_MS = 2 * (BOUND_MS + 4 * WINDOW_MS + 2 * HOLD_MS);

/** A service with the limiter `kind`, whose clock never changes. */
async function service(kind: LimiterAlgorithm) {
  const limits = createLimiter(kind, CALLS, WINDOW_MS);
  const arrivals: number[] = [];
  let throttled = 0;
  const server = createServer(async (_, response) => {
    await pause(Math.random() * 10);
    const now = performance.now();
    arrivals.push(now);
    const refused = limits.acquire('key', now) > 0;
    if (refused) throttled += 1;
    await pause(Math.random() * 30);
    response.writeHead(refused ? 429 : 200).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    /** The number of 429s, and the most calls within any window. */
    figures: () => {
      arrivals.sort((one, other) => one - other);
      const most = arrivals.map((from, index) => arrivals.slice(index).filter((at) => at - from < WINDOW_MS).length);
      return { throttled, most: Math.max(...most) };
    },
    close: () => new Promise((closed) => server.close(closed)),
  };
}

interface Disturbed {
  readonly redis: FaketimeRedis;
  readonly admin: Redis;
  readonly prefix: string;
}

/** Makes 60 runs with three calls each on four workers with their own Redis. Calls `disturb` after the first burst. */
async function makeRuns(kind: LimiterAlgorithm, disturb: (disturbed: Disturbed) => Promise<void>) {
  const redis = await faketimeRedis();
  const admin = new Redis(redis.url);
  const peer = await service(kind);
  const prefix = `{${randomUUID()}}`;
  const identity = randomBytes(16).toString('hex');
  await claimIdentity(admin, prefix, identity, { restored: false });
  const stop = new AbortController();
  // Every waiting call adds a listener.
  setMaxListeners(0, stop.signal);
  const log = recordingLog();
  const clients = Array.from({ length: WORKERS }, () => new Redis(redis.url));
  const lines = clients.map((client) =>
    // Workers compare the identity at their start, so these do too.
    sharedBudgets(client, prefix, systemClock, log, () => identity)('metrics', { calls: CALLS, windowMs: WINDOW_MS }),
  );
  const began = performance.now();
  // A run that waits for an hour is aborted and counts as missing.
  const patience = setTimeout(() => stop.abort(new Error('too late')), PATIENCE_MS);
  let answered = 0;
  let burst = () => {};
  const out = new Promise<void>((resolve) => {
    burst = resolve;
  });
  const runs = Array.from({ length: RUNS }, async (_, run) => {
    for (let call = 0; call < CALLS_A_RUN; call += 1) {
      await rateLimitedCall(
        {
          budget: lines[run % WORKERS]!,
          clock: systemClock,
          key: 'key',
          org: `org-${run % 3}`,
          priority: 'scheduled',
          maxWaitMs: Number.POSITIVE_INFINITY,
          requestTimeoutMs: DEADLINE_MS,
        },
        {
          id: `run-${run}:${call}`,
          attempt: async () => {
            const response = await fetch(peer.url);
            if (response.status === 429) throw new DocketError('api.throttled', 'Too many.', {});
          },
          onWait: () => {},
          signal: stop.signal,
        },
      );
      answered += 1;
      if (answered === CALLS / 2) burst();
    }
  });
  const all = Promise.allSettled(runs);
  await out;
  await disturb({ redis, admin, prefix });
  await all;
  clearTimeout(patience);
  const tookMs = performance.now() - began;
  for (const client of clients) client.disconnect();
  admin.disconnect();
  await peer.close();
  await redis.close();
  const { throttled, most } = peer.figures();
  if (process.env.SHOW_FIGURES) console.log({ kind, throttled, most, answered, tookMs: Math.round(tookMs) });
  return { throttled, tooMany: Math.max(0, most - CALLS), missing: RUNS * CALLS_A_RUN - answered, lines: log.lines };
}

const kept = { throttled: 0, tooMany: 0, missing: 0 };

// The tests wait for windows most of the time.
describe.concurrent.each(LIMITER_ALGORITHMS)('a service with the limiter %s', (kind) => {
  test.for([
    ['an hour ahead', 3_600],
    ['an hour back', -3_600],
  ] as const)(
    'gets neither too many nor too few calls when the clock of Redis is set %s',
    async ([, seconds], { expect }) => {
      const figures = await makeRuns(kind, ({ redis }) => redis.setClock(seconds));
      expect(figures).toMatchObject(kept);
    },
  );

  test.for([
    ['an hour ahead', 3_600],
    ['an hour back', -3_600],
  ] as const)('gets neither too many nor too few calls if Redis is %s briefly', async ([, seconds], { expect }) => {
    const figures = await makeRuns(kind, async ({ redis, admin, prefix }) => {
      await redis.setClock(seconds);
      await admin.hgetall(`${prefix}:metrics:budget:{key}:state`);
      await pause(WINDOW_MS / 10);
      await redis.setClock(0);
    });
    expect(figures).toMatchObject(kept);
  });

  test('gets neither too many nor too few calls when the clock of Redis steps by seven seconds ten times', async ({
    expect,
  }) => {
    const figures = await makeRuns(kind, async ({ redis }) => {
      for (const seconds of [7, 14, 7, 0, -7, -14, -21, -14, -7, 0]) {
        await redis.setClock(seconds);
        await pause(WINDOW_MS / 4);
      }
    });
    expect(figures).toMatchObject(kept);
  });

  test('gets no more calls than allowed when Redis is flushed during 60 runs, since they wait for the earlier calls’ window', async ({
    expect,
  }) => {
    const figures = await makeRuns(kind, async ({ admin }) => void (await admin.flushall()));
    expect(figures).toMatchObject(kept);
  });
});
