import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { bucketClock } from '../../../src/fetch/rate-limit/bucket-clock.ts';
import type { AcquireResult, BudgetEvent, CallClass } from '../../../src/fetch/rate-limit/budget.ts';
import { budgetScript, redisBudget } from '../../../src/fetch/rate-limit/redis-budget.ts';
import { type LuaScript, luaScript } from '../../../src/redis/script.ts';
import { cases } from '../../support/fuzz.ts';

const [WINDOW_MS, HOLD_MS, KEY] = [1_000, 300, 'k'];
const HOUR_MS = 3_600_000;
/** How far the time of a bucket may run ahead after a step of the wall clock: `CLOCK_TOLERANCE_MS` of `bucketClock`, and rounding. */
const TOLERANCE_MS = 6;

let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
afterAll(() => redis.quit());

/** Several processes on several machines with one Redis. The test controls the time and what each clock shows. */
function aWorld(calls: number) {
  const prefix = `line-time:${randomUUID()}:`;
  const script = luaScript(
    budgetScript().lua.replace("redis.call('TIME')", `redis.call('HMGET', '${prefix}wall', 's', 'us')`),
  );
  /** The script of 0.2.0, which does not know preparations. */
  const released = luaScript(
    readFileSync(new URL('../../recorded/budget-0.2.0.lua', import.meta.url), 'utf8').replace(
      "redis.call('TIME')",
      `redis.call('HMGET', '${prefix}wall', 's', 'us')`,
    ),
  );
  let real = 0;
  let wall = 1_800_000_000_000;
  let lostAt = Number.NEGATIVE_INFINITY;
  let delays = { out: 0, back: 0 };
  /** When the script last ran. */
  let ran = 0;
  // The monotonic clock of each machine started at another instant.
  const machines = [0, 1, 2].map((index) => ({ id: `machine-${index}`, ahead: index * 977_131 }));
  const news: BudgetEvent[] = [];

  const evaluate = async (...args: Parameters<Redis['eval']>) => {
    real += delays.out;
    const now = wall + real;
    await redis.hset(`${prefix}wall`, { s: Math.floor(now / 1000), us: Math.floor((now % 1000) * 1000) });
    ran = real;
    const { lua } = args[0] === released.sha1 ? released : script;
    const reply = await redis.eval(lua, ...(args.slice(1) as [number]));
    real += delays.back;
    return reply;
  };
  const slow = new Proxy(redis, {
    get: (target, name) => (name === 'evalsha' ? evaluate : Reflect.get(target, name)),
  });
  /** A process that has just started and remembers nothing. */
  const processWith = (machine: number, program: LuaScript) => {
    const { id } = machines[machine]!;
    return redisBudget(slow, {
      prefix,
      calls,
      windowMs: WINDOW_MS,
      machine: id,
      bucketClock: bucketClock(),
      script: program,
      clock: {
        now: () => wall + real,
        monotonic: () => real + machines[machine]!.ahead,
        sleep: async () => {},
      },
      dataLoss: { remember: async () => {}, lostWithin: async (ms) => real - lostAt < ms },
      onEvent: (reported) => void news.push(reported),
    });
  };
  return {
    prefix,
    news,
    processOf: (machine: number) => processWith(machine, script),
    releasedOf: (machine: number) => processWith(machine, released),
    get real() {
      return real;
    },
    get wall() {
      return wall + real;
    },
    get ran() {
      return ran;
    },
    delay: (out: number, back: number) => {
      delays = { out, back };
    },
    wait: (ms: number) => {
      real += ms;
    },
    step: (ms: number) => {
      wall += ms;
    },
    /** Suspends the machine, as happens to a virtual one during a migration. */
    suspend: (machine: number, ms: number) => {
      real += ms;
      machines[machine]!.ahead -= ms;
    },
    flush: async () => {
      lostAt = real;
      const keys = await redis.keys(`${prefix}budget:*`);
      if (keys.length > 0) await redis.del(...keys);
    },
    /** Takes a replica that misses everything from now on. Returns how to fail over to it. */
    replica: async () => {
      const keys = await redis.keys(`${prefix}budget:*`);
      const dumps = await Promise.all(keys.map(async (key) => [key, await redis.dumpBuffer(key)] as const));
      return async () => {
        await redis.del(...(await redis.keys(`${prefix}budget:*`)));
        for (const [key, dump] of dumps) if (dump !== null) await redis.restore(key, 0, dump);
      };
    },
  };
}

const tokenOf = (answer: AcquireResult): string => {
  if (!answer.granted) throw new Error('expected a token');
  return answer.token;
};
const ask = (budget: ReturnType<typeof redisBudget>, id: string) =>
  budget.acquire({ key: KEY, id, org: 'acme', priority: 'scheduled', holdMs: HOLD_MS });

describe('the time of a bucket', () => {
  test('no window has too many calls and the queue never stops, despite clock steps, delays, restarts and data loss', async () => {
    const worker = fc.nat(4);
    const step = fc.oneof(
      { weight: 12, arbitrary: fc.record({ kind: fc.constant('ask' as const), worker, who: fc.nat(3) }) },
      { weight: 10, arbitrary: fc.record({ kind: fc.constant('reply' as const), worker, which: fc.nat(20) }) },
      { weight: 8, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(600) }) },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('step' as const),
          ms: fc.oneof(fc.nat(300), fc.constantFrom(7_000, HOUR_MS)),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('delay' as const), out: fc.nat(150), back: fc.nat(150) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('start' as const), worker, machine: fc.nat(2) }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('suspend' as const), machine: fc.nat(2), ms: fc.nat(3_000) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('flush' as const) }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('look' as const), machine: fc.nat(2) }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 2 }),
        // Steps in both directions between two calls, on a suspended machine, may cost a part of a window.
        fc.constantFrom(-1, 1),
        fc.array(step, { minLength: 40, maxLength: 120 }),
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        async (calls, way, steps, random) => {
          const world = aWorld(calls);
          const workers = [0, 0, 1, 1, 2].map(world.processOf);
          const arrivals: number[] = [];
          let flying: { token: string; dispatched: number; until: number }[] = [];
          const arrive = (from: number, to: number) => void arrivals.push(from + random.next().value * (to - from));
          const expire = () => {
            for (const { dispatched, until } of flying.filter((call) => call.until < world.real))
              arrive(dispatched, until);
            flying = flying.filter(({ until }) => until >= world.real);
          };
          for (const action of steps) {
            expire();
            if (action.kind === 'ask') {
              const answer = await ask(workers[action.worker]!, `w${action.who}`);
              const until = world.ran + HOLD_MS;
              // A worker that gets its token too late does not call.
              if (answer.granted && world.real <= until) {
                flying.push({ token: answer.token, dispatched: world.real, until });
              }
            } else if (action.kind === 'reply') {
              const call = flying[action.which % Math.max(1, flying.length)];
              if (call === undefined) continue;
              flying = flying.filter((other) => other !== call);
              arrive(call.dispatched, world.real);
              await workers[action.worker]!.complete(KEY, call.token);
            } else if (action.kind === 'wait') world.wait(action.ms);
            else if (action.kind === 'step') world.step(way * action.ms);
            else if (action.kind === 'delay') world.delay(action.out, action.back);
            else if (action.kind === 'start') workers[action.worker] = world.processOf(action.machine);
            else if (action.kind === 'suspend') world.suspend(action.machine, action.ms);
            else if (action.kind === 'look') await world.processOf(action.machine).inspect(KEY);
            else await world.flush();
          }
          world.delay(1, 1);
          world.wait(10_000);
          expire();
          arrivals.sort((a, b) => a - b);
          for (let index = 0; index + calls < arrivals.length; index += 1) {
            expect(arrivals[index + calls]! - arrivals[index]!).toBeGreaterThan(WINDOW_MS);
          }
          // A new process gets a token in spite of absent waiters and lost data.
          const last = world.processOf(0);
          const from = world.real;
          let answer = await ask(last, 'last');
          for (; !answer.granted && world.real - from < 60_000; answer = await ask(last, 'last')) world.wait(50);
          expect(answer.granted).toBe(true);
          expect(world.real - from).toBeLessThan(15 * WINDOW_MS);
        },
      ),
      cases(150),
    );
  });

  test.each([-HOUR_MS, HOUR_MS])('is not affected by a wall clock step of %i ms', async (ms) => {
    const world = aWorld(1);
    const budget = world.processOf(0);
    await budget.complete(KEY, tokenOf(await ask(budget, 'a')));
    world.step(ms);
    expect(await ask(budget, 'b')).toMatchObject({ granted: false, at: 1_800_000_000_000 + ms + WINDOW_MS + 1 });
    world.wait(WINDOW_MS);
    expect((await ask(budget, 'b')).granted).toBe(false);
    world.wait(1);
    expect((await ask(budget, 'b')).granted).toBe(true);
  });

  test('an idle process gets no token that another process holds', async () => {
    const world = aWorld(1);
    const [idle, other] = [world.processOf(0), world.processOf(1)];
    await idle.complete(KEY, tokenOf(await ask(idle, 'a')));
    world.wait(600_000);
    let answer = await ask(other, 'b');
    for (; !answer.granted; answer = await ask(other, 'b')) world.wait(100);
    await other.complete(KEY, answer.token);
    expect((await ask(idle, 'c')).granted).toBe(false);
  });

  test('a new process uses the clock offset of its machine', async () => {
    const world = aWorld(1);
    const before = world.processOf(0);
    await before.complete(KEY, tokenOf(await ask(before, 'a')));
    world.wait(WINDOW_MS + 1);
    expect((await ask(world.processOf(0), 'b')).granted).toBe(true);
  });

  test('a new process gets no token early because the wall clock was stepped meanwhile', async () => {
    const world = aWorld(1);
    const before = world.processOf(0);
    await before.complete(KEY, tokenOf(await ask(before, 'a')));
    world.step(HOUR_MS);
    expect((await ask(world.processOf(0), 'b')).granted).toBe(false);
    expect((await ask(world.processOf(1), 'b')).granted).toBe(false);
  });

  test('a bucket that Redis lost counts as all tokens held', async () => {
    const world = aWorld(2);
    const budget = world.processOf(0);
    await budget.complete(KEY, tokenOf(await ask(budget, 'a')));
    await world.flush();
    expect(await ask(budget, 'b')).toMatchObject({ granted: false, tokens: 0 });
    expect(world.news).toEqual([{ kind: 'lost', key: KEY, org: 'acme', forMs: HOLD_MS + WINDOW_MS + 1 }]);
    world.wait(HOLD_MS + WINDOW_MS);
    expect((await ask(budget, 'b')).granted).toBe(false);
    world.wait(1);
    expect([(await ask(budget, 'b')).granted, (await ask(budget, 'c')).granted]).toEqual([true, true]);
    expect(world.news).toHaveLength(1);
  });

  test('late operations after a loss do not create a bucket', async () => {
    const world = aWorld(1);
    const budget = world.processOf(0);
    const token = tokenOf(await ask(budget, 'a'));
    await world.flush();
    await budget.complete(KEY, token);
    await budget.cancel(KEY, 'a');
    expect(await budget.inspect(KEY)).toMatchObject({ tokens: 1, inFlight: 0, waiting: 0 });
    expect(await redis.keys(`${world.prefix}budget:*`)).toEqual([]);
    expect((await ask(budget, 'b')).granted).toBe(false);
  });

  test('a bucket recreated by a process that did not detect the loss is corrected by one that does', async () => {
    const world = aWorld(2);
    const old = world.processOf(0);
    await ask(old, 'a');
    await world.flush();
    world.wait(2 * (HOLD_MS + WINDOW_MS));
    const fresh = world.processOf(1);
    expect((await ask(fresh, 'b')).granted).toBe(true);
    expect((await ask(old, 'c')).granted).toBe(false);
    expect(world.news).toHaveLength(1);
  });

  test('a Redis restored to an earlier state counts as all tokens held', async () => {
    const world = aWorld(2);
    const budget = world.processOf(0);
    await ask(budget, 'a');
    const failOver = await world.replica();
    world.wait(10);
    const token = tokenOf(await ask(budget, 'b'));
    await failOver();
    // The loss is found by `complete`, which reports nothing. The next acquire still reports it.
    await budget.complete(KEY, token);
    expect((await ask(budget, 'c')).granted).toBe(false);
    expect(world.news).toMatchObject([{ kind: 'lost' }]);
    world.wait(HOLD_MS + WINDOW_MS + 1);
    expect((await ask(budget, 'c')).granted).toBe(true);
  });

  test('inspecting without a clock changes no result of other callers', async () => {
    const [worker, machine] = [fc.nat(2), fc.nat(2)];
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('ask' as const), worker, who: fc.nat(3) }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('reply' as const), worker, which: fc.nat(20) }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(1_500) }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('step' as const), ms: fc.constantFrom(-7_000, 300, HOUR_MS) }),
      },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('look' as const), machine }) },
    );
    type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;
    const answersTo = async (steps: readonly Step[]) => {
      const world = aWorld(2);
      const workers = [0, 0, 1].map(world.processOf);
      const answers: unknown[] = [];
      const tokens: string[] = [];
      for (const action of steps) {
        if (action.kind === 'ask') {
          const answer = await ask(workers[action.worker]!, `w${action.who}`);
          if (answer.granted) tokens.push(answer.token);
          answers.push({ ...answer, token: undefined });
        } else if (action.kind === 'reply' && tokens.length > 0) {
          await workers[action.worker]!.complete(KEY, tokens[action.which % tokens.length]!);
        } else if (action.kind === 'wait') world.wait(action.ms);
        else if (action.kind === 'step') world.step(action.ms);
        else if (action.kind === 'look') await world.processOf(action.machine).inspect(KEY);
      }
      return answers;
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
        expect(await answersTo(steps)).toEqual(await answersTo(steps.filter(({ kind }) => kind !== 'look')));
      }),
      cases(60),
    );
  });

  test('inspecting between calls shows the true state and does not block them', async () => {
    const world = aWorld(1);
    const budget = world.processOf(0);
    for (let call = 0; call < 10; call += 1) {
      const token = tokenOf(await ask(budget, `c${call}`));
      expect(await world.processOf(1).inspect(KEY)).toMatchObject({ tokens: 0, inFlight: 1 });
      await budget.complete(KEY, token);
      world.wait(WINDOW_MS - 100);
      expect(await world.processOf(1).inspect(KEY)).toMatchObject({ tokens: 0, inFlight: 0 });
      world.wait(101);
      expect(await world.processOf(1).inspect(KEY)).toMatchObject({ tokens: 1, inFlight: 0 });
    }
  });

  test('no window has too many calls when 0.2.0 and this version, with preparations, share a key', async () => {
    const worker = fc.nat(2);
    const classes = fc.constantFrom('on_demand' as const, 'scheduled' as const, 'backfill' as const);
    const step = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({ kind: fc.constant('ask' as const), worker, who: fc.nat(5), priority: classes }),
      },
      { weight: 5, arbitrary: fc.record({ kind: fc.constant('prepare' as const), worker: fc.nat(1), who: fc.nat(5) }) },
      { weight: 6, arbitrary: fc.record({ kind: fc.constant('reply' as const), worker, which: fc.nat(20) }) },
      {
        weight: 6,
        arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.oneof(fc.nat(600), fc.nat(5_000)) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('start' as const), worker }) },
    );
    let prepared = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 90 }), async (steps) => {
        const world = aWorld(6);
        // The last worker runs 0.2.0.
        const open = (index: number) => (index === 2 ? world.releasedOf(1) : world.processOf(index));
        const workers = [0, 1, 2].map(open);
        const calls: { readonly token: string; readonly dispatched: number; arrived?: number }[] = [];
        const acquire = async (index: number, id: string, priority: CallClass) => {
          const answer = await workers[index]!.acquire({ key: KEY, id, org: 'acme', priority, holdMs: HOLD_MS });
          if (answer.granted) calls.push({ token: answer.token, dispatched: world.real });
          return answer.granted;
        };
        for (const action of steps) {
          if (action.kind === 'ask') await acquire(action.worker, `w${action.who}`, action.priority);
          else if (action.kind === 'prepare') {
            if (await acquire(action.worker, `p${action.who}`, 'preparation')) prepared += 1;
          } else if (action.kind === 'reply') {
            const out = calls.filter((call) => call.arrived === undefined && world.real - call.dispatched <= HOLD_MS);
            const call = out[action.which % Math.max(1, out.length)];
            if (call === undefined) continue;
            call.arrived = world.real;
            await workers[action.worker]?.complete(KEY, call.token);
          } else if (action.kind === 'start') workers[action.worker] = open(action.worker);
          else world.wait(action.ms);
        }
        const latest = ({ dispatched, arrived = dispatched + HOLD_MS }: (typeof calls)[number]) => arrived;
        for (const first of calls) {
          const near = calls.filter(
            (call) => call.dispatched <= latest(first) + WINDOW_MS - TOLERANCE_MS && latest(call) >= latest(first),
          );
          expect(near.length).toBeLessThanOrEqual(6);
        }
      }),
      cases(60),
    );
    expect(prepared).toBeGreaterThan(0);
  });

  test('0.2.0 counts preparations as calls, and this version sees the waiters of 0.2.0', async () => {
    const world = aWorld(3);
    const [budget, released] = [world.processOf(0), world.releasedOf(1)];
    const prepare = (id: string) =>
      budget.acquire({ key: KEY, id, org: 'acme', priority: 'preparation', holdMs: HOLD_MS });
    expect((await prepare('a')).granted).toBe(true);
    expect(await ask(released, 'b')).toMatchObject({ granted: true, tokens: 1 });
    expect(await ask(released, 'c')).toMatchObject({ granted: true, tokens: 0 });
    expect((await ask(released, 'd')).granted).toBe(false);
    world.wait(HOLD_MS + WINDOW_MS + 1);
    // Both versions know that `d` waits.
    expect(await prepare('e')).toMatchObject({ granted: false, ahead: 1 });
    expect((await ask(released, 'd')).granted).toBe(true);
    expect((await prepare('e')).granted).toBe(true);
  });
});
