import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { DocketError } from '../../src/base/error.ts';
import { keepIdentity } from '../../src/base/redis-identity.ts';
import { sharedBudgets } from '../../src/compose/budgets.ts';
import { paidCall } from '../../src/fetch/paid-call.ts';
import { LIMITERS, type LimiterKind, limiter } from '../../src/sandbox/limiter.ts';
import { type FaketimeRedis, faketimeRedis } from '../support/faketime-redis.ts';
import { linesLog } from '../support/queue-bench.ts';

const [CALLS, WINDOW_MS, WORKERS, RUNS, CALLS_A_RUN, DEADLINE_MS] = [30, 2_000, 4, 60, 3, 500];
/** As `paid-call.ts` adds it to the time limit of a call. */
const HOLD_MS = DEADLINE_MS + 5_000;
const BOUND_MS = (Math.ceil((RUNS * CALLS_A_RUN) / CALLS) - 1) * WINDOW_MS;

let redis: FaketimeRedis;
let admin: Redis;
beforeAll(async () => {
  redis = await faketimeRedis();
  admin = new Redis(redis.url);
});
afterAll(async () => {
  admin.disconnect();
  await redis.close();
});

/** A service that counts as `kind` does, by a clock that nobody steps. */
async function service(kind: LimiterKind) {
  const limits = limiter(kind, CALLS, WINDOW_MS);
  const arrivals: number[] = [];
  let throttled = 0;
  const server = createServer(async (_, response) => {
    await pause(Math.random() * 10);
    const now = performance.now();
    arrivals.push(now);
    const refused = limits.take('key', now) > 0;
    if (refused) throttled += 1;
    await pause(Math.random() * 30);
    response.writeHead(refused ? 429 : 200).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    /** 429s, and the most calls in any stretch of a window. */
    figures: () => {
      arrivals.sort((one, other) => one - other);
      const most = arrivals.map((from, index) => arrivals.slice(index).filter((at) => at - from < WINDOW_MS).length);
      return { throttled, most: Math.max(...most) };
    },
    close: () => new Promise((closed) => server.close(closed)),
  };
}

/** 60 runs of four workers, three calls each; `disturb` does its worst as soon as a burst is out. */
async function makeRuns(kind: LimiterKind, disturb: (prefix: string) => Promise<void>) {
  const peer = await service(kind);
  const prefix = `{${randomUUID()}}`;
  await keepIdentity(admin, prefix, randomBytes(16).toString('hex'), { restored: false });
  const stop = new AbortController();
  const log = linesLog();
  const clients = Array.from({ length: WORKERS }, () => new Redis(redis.url));
  const lines = clients.map((client) =>
    sharedBudgets(client, prefix, systemClock, log)('metrics', { calls: CALLS, windowMs: WINDOW_MS }),
  );
  const began = performance.now();
  // A run that waits for an hour is cut off, and missing.
  const patience = setTimeout(() => stop.abort(new Error('too late')), BOUND_MS + 4 * WINDOW_MS + 2 * HOLD_MS);
  let answered = 0;
  let burst = () => {};
  const out = new Promise<void>((resolve) => {
    burst = resolve;
  });
  const runs = Array.from({ length: RUNS }, async (_, run) => {
    for (let call = 0; call < CALLS_A_RUN; call += 1) {
      await paidCall(
        {
          budget: lines[run % WORKERS]!,
          clock: systemClock,
          key: 'key',
          org: `org-${run % 3}`,
          priority: 'scheduled',
          patienceMs: Number.POSITIVE_INFINITY,
          deadlineMs: DEADLINE_MS,
        },
        {
          id: `run-${run}:${call}`,
          attempt: async () => {
            const response = await fetch(peer.url);
            if (response.status === 429) throw new DocketError('api.throttled', 'Too many.', {});
          },
          waiting: () => {},
          signal: stop.signal,
        },
      );
      answered += 1;
      if (answered === CALLS / 2) burst();
    }
  });
  const all = Promise.allSettled(runs);
  await out;
  await disturb(prefix);
  await all;
  clearTimeout(patience);
  const tookMs = performance.now() - began;
  for (const client of clients) client.disconnect();
  await peer.close();
  await redis.setClock(0);
  const { throttled, most } = peer.figures();
  if (process.env.SHOW_FIGURES) console.log({ kind, throttled, most, answered, tookMs: Math.round(tookMs) });
  return { throttled, tooMany: Math.max(0, most - CALLS), missing: RUNS * CALLS_A_RUN - answered, lines: log.lines };
}

const kept = { throttled: 0, tooMany: 0, missing: 0 };

describe.each(LIMITERS)('a service that counts by %s', (kind) => {
  test.each([
    ['an hour ahead', 3_600],
    ['an hour back', -3_600],
  ])('never sees too many, nor too few, when the clock of Redis is set %s', async (_, seconds) => {
    const figures = await makeRuns(kind, () => redis.setClock(seconds));
    expect(figures).toMatchObject(kept);
  });

  test.each([
    ['an hour ahead', 3_600],
    ['an hour back', -3_600],
  ])('nor when it is %s for a moment', async (_, seconds) => {
    const figures = await makeRuns(kind, async (prefix) => {
      await redis.setClock(seconds);
      await admin.hgetall(`${prefix}:metrics:budget:{key}:state`);
      await pause(WINDOW_MS / 10);
      await redis.setClock(0);
    });
    expect(figures).toMatchObject(kept);
  });

  test('nor when it takes ten steps of seven seconds, either way', async () => {
    const figures = await makeRuns(kind, async () => {
      for (const seconds of [7, 14, 7, 0, -7, -14, -21, -14, -7, 0]) {
        await redis.setClock(seconds);
        await pause(WINDOW_MS / 4);
      }
    });
    expect(figures).toMatchObject(kept);
  });

  test('nor when Redis is flushed amid 60 runs: they wait until the calls before are forgotten', async () => {
    const figures = await makeRuns(kind, async () => void (await admin.flushall()));
    expect(figures).toMatchObject(kept);
  });
});
