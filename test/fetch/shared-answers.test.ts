import { randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { redisShared } from '../../src/fetch/redis-shared.ts';
import { type Claim, questionOf, type SharedAnswer } from '../../src/fetch/shared-answers.ts';
import { reportCall } from '../../src/plan/call.ts';
import { manualClock } from '../support/manual-clock.ts';
import { memoryBench, redisBench, type SharedBench } from '../support/shared.ts';

const START = 1_800_000_000_000;
const MINUTE = 60_000;
const KEEP_MS = 60 * MINUTE;

const answerOf = (askedBy: string, rows: Record<string, string | number | null>[] = []): SharedAnswer => ({
  body: {
    meta: {
      as_of: '2026-11-20T10:00:00Z',
      cached: false,
      refresh_retry_after: null,
      timezone: 'UTC',
      range: null,
      granularity: null,
      row_count: rows.length,
      truncated: false,
      registry_version: 7,
    },
    columns: [],
    rows,
  },
  correlationId: `c-${askedBy}`,
  at: START,
  askedBy,
});

const wishOf = (holder: string, maxAgeMs = 15 * MINUTE, wantedMs = 0) => ({ holder, maxAgeMs, wantedMs });

describe.each<[string, () => Promise<SharedBench>]>([
  ['in memory', memoryBench],
  ['in Redis', () => redisBench(inject('redisUrl'))],
])('shared answers %s', (_where, open) => {
  let bench: SharedBench;
  beforeAll(async () => {
    bench = await open();
  });
  afterAll(() => bench.close());
  const start = () => {
    const clock = manualClock(START);
    const shared = bench.open(clock);
    const claim = async (holder: string, forMs = MINUTE): Promise<Claim> => {
      const found = await shared.claim('q', wishOf(holder), forMs);
      if (found.kind !== 'claimed') throw new Error(`expected a claim, got ${found.kind}`);
      return found.claim;
    };
    return { clock, shared, claim };
  };

  test('come back as they were, for their question only', async () => {
    const { shared, claim } = start();
    const answer = answerOf('a', [{ bucket: '2026-11-19', share: 0.1, none: null, name: 'Zoë' }]);
    await shared.land('q', await claim('a'), answer, 0, KEEP_MS);
    expect(await shared.look('q', wishOf('b'))).toEqual({ kind: 'answered', answer });
    expect(await shared.look('other', wishOf('b'))).toEqual({ kind: 'nobody' });
  });

  test('are found for as long as the reader allows, counted from the claim', async () => {
    const { clock, shared, claim } = start();
    const own = await claim('a');
    clock.advance(30_000);
    await shared.land('q', own, answerOf('a'), 0, KEEP_MS);
    clock.advance(30_000);
    expect((await shared.look('q', wishOf('b', MINUTE))).kind).toBe('answered');
    expect((await shared.look('q', wishOf('b', MINUTE - 1))).kind).toBe('nobody');
    clock.advance(1);
    expect((await shared.look('q', wishOf('b', MINUTE))).kind).toBe('nobody');
    expect((await shared.look('q', wishOf('b', 2 * MINUTE))).kind).toBe('answered');
  });

  test('stay for as long as their own asker allows, also when an older one lands after them', async () => {
    const { clock, shared, claim } = start();
    const slow = await claim('a');
    await shared.release('q', slow);
    clock.advance(1);
    await shared.land('q', await claim('b'), answerOf('b'), 0, 1_000);
    await shared.land('q', slow, answerOf('a'), 0, KEEP_MS);
    expect(await shared.look('q', wishOf('c'))).toMatchObject({ answer: { askedBy: 'b' } });
    clock.advance(1_001);
    expect((await shared.look('q', wishOf('c', KEEP_MS))).kind).toBe('nobody');
  });

  test('that the service had kept are as old as it says', async () => {
    const { clock, shared, claim } = start();
    await shared.land('q', await claim('a'), answerOf('a'), 10 * MINUTE, KEEP_MS);
    clock.advance(1);
    expect((await shared.look('q', wishOf('b', 10 * MINUTE + 1))).kind).toBe('answered');
    expect((await shared.look('q', wishOf('b', 10 * MINUTE))).kind).toBe('nobody');
  });

  test('that were asked for after they were wanted are as good as one’s own, whatever the service had kept', async () => {
    const { clock, shared, claim } = start();
    clock.advance(100);
    await shared.land('q', await claim('a'), answerOf('a'), 60 * MINUTE, KEEP_MS);
    expect((await shared.look('q', wishOf('b', 0, 0))).kind).toBe('answered');
    clock.advance(50);
    expect((await shared.look('q', wishOf('b', MINUTE, 50))).kind).toBe('answered');
    expect((await shared.look('q', wishOf('b', MINUTE, 49))).kind).toBe('nobody');
  });

  test('are asked for by one at a time; the others are told for how long at most', async () => {
    const { clock, shared, claim } = start();
    const own = await claim('a');
    expect((await shared.claim('q', wishOf('b'), MINUTE)).kind).toBe('asking');
    const found = await shared.look('q', wishOf('b'));
    expect(found.kind === 'asking' && found.forMs > 0 && found.forMs <= MINUTE).toBe(true);
    clock.advance(1);
    await shared.release('q', own);
    expect(await shared.look('q', wishOf('b'))).toEqual({ kind: 'nobody' });
    await claim('b');
  });

  test('are asked for again by the same call of a run that was resumed', async () => {
    const { shared, claim } = start();
    await claim('a');
    expect(await shared.look('q', wishOf('a'))).toEqual({ kind: 'nobody' });
    await claim('a');
    expect((await shared.look('q', wishOf('b'))).kind).toBe('asking');
  });

  test('of a holder that was taken for dead neither replace a later one nor end another’s call', async () => {
    const { clock, shared, claim } = start();
    const dead = await claim('a');
    await shared.release('q', dead);
    clock.advance(MINUTE);
    await shared.land('q', await claim('b'), answerOf('b'), 0, KEEP_MS);
    clock.advance(20 * MINUTE);
    await claim('c');
    await shared.land('q', dead, answerOf('a'), 0, KEEP_MS);
    await shared.release('q', dead);
    expect((await shared.look('q', wishOf('d', 10 * MINUTE))).kind).toBe('asking');
    expect(await shared.look('q', wishOf('d', 60 * MINUTE))).toMatchObject({ answer: { askedBy: 'b' } });
  });

  test('are never older than allowed, and never asked for by two, whatever happens in whatever order', async () => {
    const holder = fc.constantFrom('a', 'b', 'c');
    const ms = fc.integer({ min: 0, max: 100 });
    const step = fc.oneof(
      fc.record({ do: fc.constant('pass' as const), ms }),
      fc.record({ do: fc.constant('look' as const), holder, maxAge: ms, wanted: ms }),
      fc.record({ do: fc.constant('claim' as const), holder, maxAge: ms, wanted: ms }),
      fc.record({ do: fc.constant('land' as const), holder, behind: ms }),
      fc.record({ do: fc.constant('release' as const), holder }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { clock, shared } = start();
        const claims = new Map<string, Claim>();
        const landed = new Map<string, { computed: number; asked: number }>();
        let asking: string | undefined;
        let answers = 0;
        for (const one of steps) {
          const now = clock.now();
          if (one.do === 'pass') clock.advance(one.ms);
          else if (one.do === 'land' || one.do === 'release') {
            const own = claims.get(one.holder);
            if (own === undefined) continue;
            claims.delete(one.holder);
            if (asking === one.holder) asking = undefined;
            if (one.do === 'release') await shared.release('q', own);
            else {
              answers += 1;
              landed.set(`${answers}`, { computed: own.asked - one.behind, asked: own.asked });
              await shared.land('q', own, answerOf(`${answers}`), one.behind, KEEP_MS);
            }
          } else {
            const wish = wishOf(one.holder, one.maxAge, one.wanted);
            const found = await (one.do === 'look' ? shared.look('q', wish) : shared.claim('q', wish, 3_600_000));
            if (found.kind === 'answered') {
              const about = landed.get(found.answer.askedBy);
              // As fresh as allowed, or no older than one that was asked for since it is wanted.
              const since = [...landed.values()].filter(({ asked }) => asked >= now - one.wanted);
              const least = Math.min(now - one.maxAge, ...since.map(({ computed }) => computed));
              expect(about?.computed).toBeGreaterThanOrEqual(least);
            }
            if (found.kind === 'claimed') {
              expect([undefined, one.holder]).toContain(asking);
              asking = one.holder;
              claims.set(one.holder, found.claim);
            }
            if (found.kind === 'asking') expect([undefined, one.holder]).not.toContain(asking);
            if (found.kind === 'nobody') {
              expect([undefined, one.holder]).toContain(asking);
              const fresh = [...landed.values()].some(({ computed }) => computed >= now - one.maxAge);
              expect(fresh, 'an answer that is fresh enough is found').toBe(false);
            }
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('shared answers in Redis', () => {
  const prefix = `shared-answers-test:${randomUUID()}:`;
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(inject('redisUrl'));
  });
  afterAll(() => redis.quit());
  const open = (name: string) => redisShared(redis, { prefix: `${prefix}${name}:` });
  const claimed = async (shared: ReturnType<typeof open>, holder: string, forMs = MINUTE): Promise<Claim> => {
    for (;;) {
      const found = await shared.claim('q', wishOf(holder), forMs);
      if (found.kind === 'claimed') return found.claim;
    }
  };

  test('are packed, and go by themselves', async () => {
    const shared = open('packed');
    const rows = Array.from({ length: 1_000 }, (_, index) => ({ bucket: '2026-11-19', value: index }));
    await shared.land('q', await claimed(shared, 'a'), answerOf('a', rows), 0, KEEP_MS);
    const [key = '', ...others] = await redis.keys(`${prefix}packed:shared:*`);
    expect(others).toEqual([]);
    for (const each of await redis.keys(`${prefix}packed:*`)) expect(await redis.pttl(each), each).toBeGreaterThan(0);
    expect(await redis.hstrlen(key, 'packed')).toBeLessThan(JSON.stringify(rows).length / 4);
    expect(await redis.pttl(key)).toBeGreaterThan(59 * MINUTE);
    expect(await redis.pttl(key)).toBeLessThanOrEqual(60 * MINUTE);
  });

  test('of one API key take no more room than they may; what has none is asked again', async () => {
    const shared = redisShared(redis, { prefix: `${prefix}room:`, maxKeyBytes: 10_000 });
    const noise = () => answerOf('a', [{ bucket: '2026-11-19', value: randomBytes(2_000).toString('base64') }]);
    const ask = async (question: string, holder = 'a', keepMs = KEEP_MS): Promise<boolean> => {
      const found = await shared.claim(question, wishOf(holder), MINUTE);
      if (found.kind === 'claimed') await shared.land(question, found.claim, noise(), 0, keepMs);
      return (await shared.look(question, wishOf('b'))).kind === 'answered';
    };
    const kept: string[] = [];
    for (let number = 0; await ask(`k1:${number}`); number += 1) kept.push(`k1:${number}`);
    expect(kept.length).toBeGreaterThan(1);
    const sizes = await Promise.all(
      (await redis.keys(`${prefix}room:shared:*:answer`)).map((key) => redis.hstrlen(key, 'packed')),
    );
    expect(sizes).toHaveLength(kept.length);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(10_000);
    expect(await ask('k2:0')).toBe(true);
    // What has expired makes room again.
    const account = `${prefix}room:shared-of:{k1}`;
    await redis.zadd(`${account}:expiry`, 1, kept[0] ?? '');
    await redis.del(`${prefix}room:shared:{${kept[0]}}:answer`);
    expect(await ask('k1:another')).toBe(true);
    expect(await ask('k1:too-much')).toBe(false);
  });

  test('that found no room do not make the one that is kept look younger', async () => {
    const shared = redisShared(redis, { prefix: `${prefix}younger:`, maxKeyBytes: 5_000 });
    const old = { holder: 'a', asked: systemClock.now() - 10 * MINUTE };
    await shared.land('k1:q', old, answerOf('a'), 0, KEEP_MS);
    const large = answerOf('b', [{ bucket: '2026-11-19', value: randomBytes(10_000).toString('base64') }]);
    await shared.land('k1:q', { holder: 'b', asked: systemClock.now() }, large, 0, KEEP_MS);
    const wish = (maxAgeMs: number) => ({ maxAgeMs, wantedMs: MINUTE, holder: 'c' });
    expect(await shared.look('k1:q', wish(5 * MINUTE))).toEqual({ kind: 'nobody' });
    expect(await shared.look('k1:q', wish(15 * MINUTE))).toMatchObject({ kind: 'answered', answer: { askedBy: 'a' } });
  });

  test('are another’s to ask for when whoever asked has died', async () => {
    const shared = open('dead');
    await claimed(shared, 'dead', 50);
    // Resolves only once the dead one's time is over; the clock of Redis cannot be moved.
    expect((await claimed(shared, 'b')).holder).toBe('b');
  });

  test('that cannot be read are none', async () => {
    const shared = open('damaged');
    await shared.land('q', await claimed(shared, 'a'), answerOf('a'), 0, KEEP_MS);
    const [key = ''] = await redis.keys(`${prefix}damaged:shared:*`);
    await redis.hset(key, 'packed', 'not gzip');
    expect(await shared.look('q', wishOf('b'))).toEqual({ kind: 'nobody' });
  });

  test('from the future, after a failover to a slower clock, are not believed', async () => {
    const shared = open('future');
    await shared.land('q', { holder: 'a', asked: systemClock.now() + MINUTE }, answerOf('a'), 0, KEEP_MS);
    expect(await shared.look('q', wishOf('b'))).toEqual({ kind: 'nobody' });
  });
});

test('a question is one service’s, one key’s, one organization’s here and there, one body’s and one registry’s', () => {
  const by = { tenant: 'acme', service: 'https://api.example', key: 'k1', registryVersion: 7 };
  const call = reportCall(101, { metrics: ['a'], time: { from: '2026-11-01', to: '2026-11-02' } });
  const same = reportCall(101, { time: { to: '2026-11-02', from: '2026-11-01' }, metrics: ['a'] });
  expect(questionOf(same, by)).toBe(questionOf(call, by));
  const others = [
    questionOf(call, { ...by, tenant: 'acme-2' }),
    questionOf(call, { ...by, key: 'k2' }),
    questionOf(call, { ...by, service: 'https://staging.example' }),
    questionOf(call, { ...by, registryVersion: 8 }),
    questionOf(reportCall(102, call.request), by),
    questionOf(reportCall('current', call.request), by),
    questionOf(reportCall(101, { ...call.request, limit: 5 }), by),
  ];
  expect(new Set([questionOf(call, by), ...others]).size).toBe(others.length + 1);
});

test('a claim in Redis that a step back of its clock made longer ends within a minute', async () => {
  const bench = await redisBench(inject('redisUrl'));
  onTestFinished(() => bench.close());
  const shared = bench.open(manualClock(START));
  expect((await shared.claim('q', wishOf('a'), 60 * MINUTE)).kind).toBe('claimed');
  const found = await shared.look('q', wishOf('b'));
  expect(found.kind === 'asking' && found.forMs <= MINUTE).toBe(true);
});
