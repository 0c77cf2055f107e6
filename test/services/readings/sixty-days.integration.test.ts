import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { Secret } from '../../../src/base/secrets/secret.ts';
import { daysBetween, localDay, readingWindow } from '../../../src/definitions/schedules/reading-window.ts';
import type { OrgSettings } from '../../../src/definitions/schema/org-settings.ts';
import { readingArchive } from '../../../src/deliver/archive/readings/reading-archive.ts';
import type { ArchiveStorage } from '../../../src/deliver/archive/storage/archive-storage.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { redisCatalogCache } from '../../../src/fetch/cache/catalog-cache.ts';
import { createClient } from '../../../src/fetch/client/compliance-client.ts';
import { budgetScript, redisBudget } from '../../../src/fetch/rate-limit/redis-budget.ts';
import { luaScript } from '../../../src/redis/script.ts';
import { createReadingRounds } from '../../../src/services/readings/reading-rounds.ts';
import { folderFor } from '../../support/delivery-case.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';

const [ZONE, AT, MINUTE] = ['Europe/Zurich', '22:30', 60_000];
/** Includes the end of summer time. */
const DAYS = daysBetween('2026-09-20', '2026-11-18');
const QUESTIONS = ['whole', 'by-profile.risk'];
/** Days on which the service is down: from and to, in minutes after the time of the reading. */
const DOWN: Readonly<Record<string, readonly [number, number]>> = {
  '2026-10-01': [-10, 20],
  '2026-10-25': [-10, 61],
  '2026-11-05': [0, 50],
};
const FLUSHED = ['2026-10-10', '2026-11-10'];

const SETTINGS = {
  version: 1,
  id: 'acme',
  org: 1,
  api_key: { env: 'KEY' },
  timezone: ZONE,
  recipients: { domains: [], addresses: [] },
  readings: { at: AT, metrics: ['alerts.open', 'rfis.open'], by: ['profile.risk'] },
} as OrgSettings;

const metric = (id: string, dimensions: string[]) => ({
  id,
  label: id,
  type: 'integer',
  unit: 'count',
  time_field: 'now',
  granularities: [],
  dimensions,
  additive_over_time: false,
});
const CATALOG = {
  registry_version: 7,
  metrics: [metric('alerts.open', ['profile.risk']), metric('rfis.open', [])],
  dimensions: [{ id: 'profile.risk', label: 'Risk', type: 'enum', values: [{ value: 'high', label: 'High' }] }],
  limits: { max_range_days: 366, max_dimensions: 2, max_rows: 5000 },
};

/** Draws the same results every time, from a fixed sequence. */
function drawing(seed: number): (chance: number) => boolean {
  let state = seed;
  return (chance) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648 < chance;
  };
}

/** A count that depends on its day, so that a reading of another day shows. */
const countOf = (day: string): number => Date.parse(day) / 86_400_000;

interface Service {
  readonly url: string;
  readonly calls: { day: string; question: string; answered: boolean }[];
}

async function aService(clock: ManualClock, draw: (chance: number) => boolean): Promise<Service> {
  const calls: Service['calls'] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const day = localDay(clock.now(), ZONE);
      const [from, to] = DOWN[day] ?? [0, 0];
      const minute = (clock.now() - (readingWindow(day, AT, ZONE)?.at ?? 0)) / MINUTE;
      if (minute >= from && minute < to) return void response.destroy();
      const answer = (body: unknown) => {
        response.writeHead(200, { 'content-type': 'application/json', 'x-correlation-id': randomUUID() });
        response.end(JSON.stringify(body));
      };
      if (request.method === 'GET') return answer(CATALOG);
      const { metrics, dimensions = [] } = JSON.parse(Buffer.concat(chunks).toString());
      const lost = draw(0.15);
      calls.push({ day, question: dimensions.length === 0 ? 'whole' : `by-${dimensions[0]}`, answered: !lost });
      if (lost) return void response.destroy();
      const values = Object.fromEntries(metrics.map((id: string) => [id, countOf(day)]));
      answer({
        meta: {
          as_of: new Date(clock.now()).toISOString(),
          cached: false,
          timezone: ZONE,
          row_count: 1,
          truncated: false,
          registry_version: 7,
        },
        columns: [],
        rows: [{ ...values, ...(dimensions.length === 0 ? {} : { [dimensions[0]]: 'high' }) }],
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

/** The workers' budget. Its Redis uses the time of the test. */
function budgetByClock(redis: Redis, prefix: string, clock: ManualClock) {
  const wall = `wall:${prefix}`;
  const script = luaScript(
    budgetScript().lua.replace("redis.call('TIME')", `redis.call('HMGET', '${wall}', 's', 'us')`),
  );
  const evaluate = async (...args: Parameters<Redis['eval']>) => {
    const now = clock.now();
    await redis.hset(wall, { s: Math.floor(now / 1000), us: (now % 1000) * 1000 });
    return redis.eval(script.lua, ...(args.slice(1) as [number]));
  };
  const timed = new Proxy(redis, {
    get: (target, name) => (name === 'evalsha' ? evaluate : Reflect.get(target, name)),
  });
  return redisBudget(timed, { prefix, calls: 30, windowMs: MINUTE, clock, script });
}

/** A process that does nothing more once it is killed. */
function aProcess(draw: (chance: number) => boolean, storage: ArchiveStorage) {
  const life = { dead: false };
  let tellDeath = () => {};
  const death = new Promise<void>((resolve) => (tellDeath = resolve));
  const step = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    const dies = draw(0.012);
    const before = draw(0.5);
    const kill = (): Promise<never> => {
      life.dead = true;
      tellDeath();
      return new Promise(() => {});
    };
    if (life.dead || (dies && before)) return kill();
    const value = await work();
    return life.dead || dies ? kill() : value;
  };
  const { metadata } = storage;
  const mortal = {
    ...metadata,
    get: (name: string) => step(() => metadata.get(name)),
    list: (folder: string) => step(() => metadata.list(folder)),
    putIfAbsent: (name: string, bytes: string) => step(() => metadata.putIfAbsent(name, bytes)),
  };
  return { life, death, step, archive: readingArchive({ ...storage, metadata: mortal }) };
}

test('readings are complete over 60 days of kills, restarts, lost replies and an emptied Redis, except while the service is down', async () => {
  const draw = drawing(20_261_123);
  const clock = manualClock(Date.parse('2026-09-20T00:00:00Z'));
  const service = await aService(clock, draw);
  const storage = directoryStorage(await folderFor(onTestFinished));
  const url = new URL(inject('redisUrl'));
  const redis = new Redis(url.href);
  const prefix = `readings:${randomUUID()}:`;
  onTestFinished(() => void redis.quit());
  const budget = budgetByClock(redis, prefix, clock);
  const catalogs = redisCatalogCache(redis, { prefix, clock });
  const received = new Set<string>();
  let [kills, restarts] = [0, 0];

  const start = () => {
    const process = aProcess(draw, storage);
    const client = createClient({ baseUrl: service.url, key: new Secret('k.secret'), clock });
    onTestFinished(() => client.close());
    const mortalClient: typeof client = {
      ...client,
      report: async (...args) => {
        const day = localDay(clock.now(), ZONE);
        const answer = await process.step(() => client.report(...args));
        received.add(`${day} ${args[1].dimensions === undefined ? 'whole' : `by-${args[1].dimensions[0]}`}`);
        return answer;
      },
    };
    const round = createReadingRounds({
      archive: process.archive,
      orgs: () => new Map([['acme', SETTINGS]]),
      buildRequestPorts: async () => ({ client: mortalClient, key: 'fingerprint', budget, catalogs, clock }),
      clock,
      log: silentLog,
      signal: new AbortController().signal,
    });
    return { ...process, round };
  };
  const processes = [start(), start()];

  for (const day of DAYS) {
    const window = readingWindow(day, AT, ZONE);
    if (window === undefined) throw new Error(day);
    if (FLUSHED.includes(day)) {
      const keys = await redis.keys(`${prefix}*`);
      expect(keys.length).toBeGreaterThan(0);
      await redis.del(...keys);
    }
    for (let minute = -1; minute <= 61; minute += 1) {
      clock.set(Math.max(clock.now(), window.at + minute * MINUTE));
      for (const [index, process] of processes.entries()) {
        // A killed process starts again some minutes later. Sometimes a process restarts, as for a release.
        if (process.life.dead ? draw(0.3) : draw(0.002)) {
          if (!process.life.dead) restarts += 1;
          processes[index] = start();
        }
      }
      let busy = true;
      const rounds = Promise.all(
        processes.map(async (process) => {
          if (process.life.dead) return;
          await Promise.race([process.round(), process.death]);
          if (process.life.dead) kills += 1;
        }),
      ).finally(() => {
        busy = false;
      });
      // A loop that polls for another process needs this clock to advance.
      while (busy) {
        await Promise.race([rounds, setTimeout(1)]);
        if (busy) clock.advance(25);
      }
    }
  }

  const archive = readingArchive(storage);
  const states = await archive.list('acme');
  const stored = states.filter((state) => state.stored);
  const gaps = DAYS.flatMap((day) =>
    QUESTIONS.filter((question) => !stored.some((one) => one.day === day && one.question === question)).map(
      (question) => `${day} ${question}`,
    ),
  );
  // Once the service was down for a whole hour, and once for so long that no response may have arrived.
  const expected = QUESTIONS.map((question) => `2026-10-25 ${question}`);
  expect(gaps).toEqual(expect.arrayContaining(expected));
  expect(gaps.filter((gap) => received.has(gap))).toEqual([]);
  expect(gaps.filter((gap) => !expected.includes(gap) && !gap.startsWith('2026-11-05'))).toEqual([]);
  for (const ref of stored) {
    const reading = await archive.get(ref);
    const window = readingWindow(ref.day, AT, ZONE);
    expect(reading?.rows.flatMap(({ values }) => Object.values(values))).toEqual(
      ref.question === 'whole' ? [countOf(ref.day), countOf(ref.day)] : [countOf(ref.day)],
    );
    expect(Date.parse(reading?.as_of ?? '')).toBeGreaterThanOrEqual(window?.at ?? Number.NaN);
    expect(Date.parse(reading?.as_of ?? '')).toBeLessThan(window?.until ?? Number.NaN);
  }
  const lost = service.calls.filter(({ answered }) => !answered).length;
  const unreceived = service.calls.length - lost - stored.length;
  expect([kills, restarts, lost].every((count) => count > 3)).toBe(true);
  // A response that was not stored went to a process that was then killed.
  expect(unreceived).toBeGreaterThanOrEqual(0);
  expect(unreceived).toBeLessThanOrEqual(kills);
});
