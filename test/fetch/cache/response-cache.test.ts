import { randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { redisResponseCache } from '../../../src/fetch/cache/redis-response-cache.ts';
import { type CachedResponse, cacheKeyOf, type RequestClaim } from '../../../src/fetch/cache/response-cache.ts';
import { reportCall } from '../../../src/plan/requests/call.ts';
import { cases } from '../../support/fuzz.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { memorySharedAnswers, redisSharedAnswers, type SharedAnswersHarness } from '../../support/shared-answers.ts';

const START = 1_800_000_000_000;
const MINUTE = 60_000;
const KEEP_MS = 60 * MINUTE;

const answerOf = (askedBy: string, rows: Record<string, string | number | null>[] = []): CachedResponse => ({
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

const wishOf = (holder: string, maxAgeMs = 15 * MINUTE, waitingMs = 0) => ({ holder, maxAgeMs, waitingMs });

describe.each<[string, () => Promise<SharedAnswersHarness>]>([
  ['in memory', memorySharedAnswers],
  ['in Redis', () => redisSharedAnswers(inject('redisUrl'))],
])('responses cached %s', (_where, open) => {
  let harness: SharedAnswersHarness;
  beforeAll(async () => {
    harness = await open();
  });
  afterAll(() => harness.close());
  const start = () => {
    const clock = manualClock(START);
    const shared = harness.open(clock);
    const claim = async (holder: string, forMs = MINUTE): Promise<RequestClaim> => {
      const found = await shared.claim('q', wishOf(holder), forMs);
      if (found.kind !== 'claimed') throw new Error(`expected a claim, got ${found.kind}`);
      return found.claim;
    };
    return { clock, shared, claim };
  };

  test('are returned unchanged, for their cache key only', async () => {
    const { shared, claim } = start();
    const answer = answerOf('a', [{ bucket: '2026-11-19', share: 0.1, none: null, name: 'Zoë' }]);
    await shared.put('q', await claim('a'), answer, 0, KEEP_MS);
    expect(await shared.lookup('q', wishOf('b'))).toEqual({ kind: 'hit', response: answer });
    expect(await shared.lookup('other', wishOf('b'))).toEqual({ kind: 'miss' });
  });

  test('are hits while younger than maxAgeMs of the reader, counted from the claim', async () => {
    const { clock, shared, claim } = start();
    const own = await claim('a');
    clock.advance(30_000);
    await shared.put('q', own, answerOf('a'), 0, KEEP_MS);
    clock.advance(30_000);
    expect((await shared.lookup('q', wishOf('b', MINUTE))).kind).toBe('hit');
    expect((await shared.lookup('q', wishOf('b', MINUTE - 1))).kind).toBe('miss');
    clock.advance(1);
    expect((await shared.lookup('q', wishOf('b', MINUTE))).kind).toBe('miss');
    expect((await shared.lookup('q', wishOf('b', 2 * MINUTE))).kind).toBe('hit');
  });

  test('expire after their own TTL, also if an older response is put later', async () => {
    const { clock, shared, claim } = start();
    const slow = await claim('a');
    await shared.release('q', slow);
    clock.advance(1);
    await shared.put('q', await claim('b'), answerOf('b'), 0, 1_000);
    await shared.put('q', slow, answerOf('a'), 0, KEEP_MS);
    expect(await shared.lookup('q', wishOf('c'))).toMatchObject({ response: { askedBy: 'b' } });
    clock.advance(1_001);
    expect((await shared.lookup('q', wishOf('c', KEEP_MS))).kind).toBe('miss');
  });

  test('from the service’s cache have the age that it reports', async () => {
    const { clock, shared, claim } = start();
    await shared.put('q', await claim('a'), answerOf('a'), 10 * MINUTE, KEEP_MS);
    clock.advance(1);
    expect((await shared.lookup('q', wishOf('b', 10 * MINUTE + 1))).kind).toBe('hit');
    expect((await shared.lookup('q', wishOf('b', 10 * MINUTE))).kind).toBe('miss');
  });

  test('requested after the reader began to wait are hits, whatever their age', async () => {
    const { clock, shared, claim } = start();
    clock.advance(100);
    await shared.put('q', await claim('a'), answerOf('a'), 60 * MINUTE, KEEP_MS);
    expect((await shared.lookup('q', wishOf('b', 0, 0))).kind).toBe('hit');
    clock.advance(50);
    expect((await shared.lookup('q', wishOf('b', MINUTE, 50))).kind).toBe('hit');
    expect((await shared.lookup('q', wishOf('b', MINUTE, 49))).kind).toBe('miss');
  });

  test('have one request in flight, and other runs learn how long it may take', async () => {
    const { clock, shared, claim } = start();
    const own = await claim('a');
    expect((await shared.claim('q', wishOf('b'), MINUTE)).kind).toBe('in_flight');
    const found = await shared.lookup('q', wishOf('b'));
    expect(found.kind === 'in_flight' && found.forMs > 0 && found.forMs <= MINUTE).toBe(true);
    clock.advance(1);
    await shared.release('q', own);
    expect(await shared.lookup('q', wishOf('b'))).toEqual({ kind: 'miss' });
    await claim('b');
  });

  test('can be requested again by the same call of a resumed run', async () => {
    const { shared, claim } = start();
    await claim('a');
    expect(await shared.lookup('q', wishOf('a'))).toEqual({ kind: 'miss' });
    await claim('a');
    expect((await shared.lookup('q', wishOf('b'))).kind).toBe('in_flight');
  });

  test('of an expired holder neither replace a later one nor release another’s claim', async () => {
    const { clock, shared, claim } = start();
    const dead = await claim('a');
    await shared.release('q', dead);
    clock.advance(MINUTE);
    await shared.put('q', await claim('b'), answerOf('b'), 0, KEEP_MS);
    clock.advance(20 * MINUTE);
    await claim('c');
    await shared.put('q', dead, answerOf('a'), 0, KEEP_MS);
    await shared.release('q', dead);
    expect((await shared.lookup('q', wishOf('d', 10 * MINUTE))).kind).toBe('in_flight');
    expect(await shared.lookup('q', wishOf('d', 60 * MINUTE))).toMatchObject({ response: { askedBy: 'b' } });
  });

  test('are never older than allowed and never requested twice at once, in any order of operations', async () => {
    const holder = fc.constantFrom('a', 'b', 'c');
    const ms = fc.integer({ min: 0, max: 100 });
    const step = fc.oneof(
      fc.record({ do: fc.constant('pass' as const), ms }),
      fc.record({ do: fc.constant('lookup' as const), holder, maxAge: ms, wanted: ms }),
      fc.record({ do: fc.constant('claim' as const), holder, maxAge: ms, wanted: ms }),
      fc.record({ do: fc.constant('put' as const), holder, behind: ms }),
      fc.record({ do: fc.constant('release' as const), holder }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { clock, shared } = start();
        const claims = new Map<string, RequestClaim>();
        const landed = new Map<string, { computed: number; claimedAt: number }>();
        let asking: string | undefined;
        let answers = 0;
        for (const one of steps) {
          const now = clock.now();
          if (one.do === 'pass') clock.advance(one.ms);
          else if (one.do === 'put' || one.do === 'release') {
            const own = claims.get(one.holder);
            if (own === undefined) continue;
            claims.delete(one.holder);
            if (asking === one.holder) asking = undefined;
            if (one.do === 'release') await shared.release('q', own);
            else {
              answers += 1;
              landed.set(`${answers}`, { computed: own.claimedAt - one.behind, claimedAt: own.claimedAt });
              await shared.put('q', own, answerOf(`${answers}`), one.behind, KEEP_MS);
            }
          } else {
            const wish = wishOf(one.holder, one.maxAge, one.wanted);
            const found = await (one.do === 'lookup' ? shared.lookup('q', wish) : shared.claim('q', wish, 3_600_000));
            if (found.kind === 'hit') {
              const about = landed.get(found.response.askedBy);
              // Either young enough, or not older than a response requested since the reader began to wait.
              const since = [...landed.values()].filter(({ claimedAt }) => claimedAt >= now - one.wanted);
              const least = Math.min(now - one.maxAge, ...since.map(({ computed }) => computed));
              expect(about?.computed).toBeGreaterThanOrEqual(least);
            }
            if (found.kind === 'claimed') {
              expect([undefined, one.holder]).toContain(asking);
              asking = one.holder;
              claims.set(one.holder, found.claim);
            }
            if (found.kind === 'in_flight') expect([undefined, one.holder]).not.toContain(asking);
            if (found.kind === 'miss') {
              expect([undefined, one.holder]).toContain(asking);
              const fresh = [...landed.values()].some(({ computed }) => computed >= now - one.maxAge);
              expect(fresh, 'an answer that is fresh enough is found').toBe(false);
            }
          }
        }
      }),
      cases(300),
    );
  });
});

describe('responses in Redis', () => {
  const prefix = `shared-answers-test:${randomUUID()}:`;
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(inject('redisUrl'));
  });
  afterAll(() => redis.quit());
  const open = (name: string) => redisResponseCache(redis, { prefix: `${prefix}${name}:` });
  const claimed = async (shared: ReturnType<typeof open>, holder: string, forMs = MINUTE): Promise<RequestClaim> => {
    for (;;) {
      const found = await shared.claim('q', wishOf(holder), forMs);
      if (found.kind === 'claimed') return found.claim;
    }
  };

  test('are compressed, and expire', async () => {
    const shared = open('packed');
    const rows = Array.from({ length: 1_000 }, (_, index) => ({ bucket: '2026-11-19', value: index }));
    await shared.put('q', await claimed(shared, 'a'), answerOf('a', rows), 0, KEEP_MS);
    const [key = '', ...others] = await redis.keys(`${prefix}packed:shared:*`);
    expect(others).toEqual([]);
    for (const each of await redis.keys(`${prefix}packed:*`)) expect(await redis.pttl(each), each).toBeGreaterThan(0);
    expect(await redis.hstrlen(key, 'packed')).toBeLessThan(JSON.stringify(rows).length / 4);
    expect(await redis.pttl(key)).toBeGreaterThan(59 * MINUTE);
    expect(await redis.pttl(key)).toBeLessThanOrEqual(60 * MINUTE);
  });

  test('of one API key stay within its limit; a response beyond it is requested again', async () => {
    const shared = redisResponseCache(redis, { prefix: `${prefix}room:`, maxKeyBytes: 10_000 });
    const noise = () => answerOf('a', [{ bucket: '2026-11-19', value: randomBytes(2_000).toString('base64') }]);
    const ask = async (question: string, holder = 'a', keepMs = KEEP_MS): Promise<boolean> => {
      const found = await shared.claim(question, wishOf(holder), MINUTE);
      if (found.kind === 'claimed') await shared.put(question, found.claim, noise(), 0, keepMs);
      return (await shared.lookup(question, wishOf('b'))).kind === 'hit';
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
    // Expired responses make room again.
    const account = `${prefix}room:shared-of:{k1}`;
    await redis.zadd(`${account}:expiry`, 1, kept[0] ?? '');
    await redis.del(`${prefix}room:shared:{${kept[0]}}:answer`);
    expect(await ask('k1:another')).toBe(true);
    expect(await ask('k1:too-much')).toBe(false);
  });

  test('that exceed the limit do not change the age of the stored one', async () => {
    const shared = redisResponseCache(redis, { prefix: `${prefix}younger:`, maxKeyBytes: 5_000 });
    const old = { holder: 'a', claimedAt: systemClock.now() - 10 * MINUTE };
    await shared.put('k1:q', old, answerOf('a'), 0, KEEP_MS);
    const large = answerOf('b', [{ bucket: '2026-11-19', value: randomBytes(10_000).toString('base64') }]);
    await shared.put('k1:q', { holder: 'b', claimedAt: systemClock.now() }, large, 0, KEEP_MS);
    const wish = (maxAgeMs: number) => ({ maxAgeMs, waitingMs: MINUTE, holder: 'c' });
    expect(await shared.lookup('k1:q', wish(5 * MINUTE))).toEqual({ kind: 'miss' });
    expect(await shared.lookup('k1:q', wish(15 * MINUTE))).toMatchObject({
      kind: 'hit',
      response: { askedBy: 'a' },
    });
  });

  test('can be claimed by another run after the holder has died', async () => {
    const shared = open('dead');
    await claimed(shared, 'dead', 50);
    // Resolves only after the claim has expired: the clock of Redis cannot be moved.
    expect((await claimed(shared, 'b')).holder).toBe('b');
  });

  test('that cannot be read are misses', async () => {
    const shared = open('damaged');
    await shared.put('q', await claimed(shared, 'a'), answerOf('a'), 0, KEEP_MS);
    const [key = ''] = await redis.keys(`${prefix}damaged:shared:*`);
    await redis.hset(key, 'packed', 'not gzip');
    expect(await shared.lookup('q', wishOf('b'))).toEqual({ kind: 'miss' });
  });

  test('from the future, after a failover to a slower clock, are misses', async () => {
    const shared = open('future');
    await shared.put('q', { holder: 'a', claimedAt: systemClock.now() + MINUTE }, answerOf('a'), 0, KEEP_MS);
    expect(await shared.lookup('q', wishOf('b'))).toEqual({ kind: 'miss' });
  });
});

test('a cache key depends on service, API key, both organizations, body and registry version', () => {
  const by = { tenant: 'acme', service: 'https://api.example', key: 'k1', registryVersion: 7 };
  const call = reportCall(101, { metrics: ['a'], time: { from: '2026-11-01', to: '2026-11-02' } });
  const same = reportCall(101, { time: { to: '2026-11-02', from: '2026-11-01' }, metrics: ['a'] });
  expect(cacheKeyOf(same, by)).toBe(cacheKeyOf(call, by));
  const others = [
    cacheKeyOf(call, { ...by, tenant: 'acme-2' }),
    cacheKeyOf(call, { ...by, key: 'k2' }),
    cacheKeyOf(call, { ...by, service: 'https://staging.example' }),
    cacheKeyOf(call, { ...by, registryVersion: 8 }),
    cacheKeyOf(reportCall(102, call.request), by),
    cacheKeyOf(reportCall('current', call.request), by),
    cacheKeyOf(reportCall(101, { ...call.request, limit: 5 }), by),
  ];
  expect(new Set([cacheKeyOf(call, by), ...others]).size).toBe(others.length + 1);
});

test('a claim in Redis lasts at most a minute, even if a step back of the clock made it longer', async () => {
  const harness = await redisSharedAnswers(inject('redisUrl'));
  onTestFinished(() => harness.close());
  const shared = harness.open(manualClock(START));
  expect((await shared.claim('q', wishOf('a'), 60 * MINUTE)).kind).toBe('claimed');
  const found = await shared.lookup('q', wishOf('b'));
  expect(found.kind === 'in_flight' && found.forMs <= MINUTE).toBe(true);
});
