import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createRateLimit } from '../../../src/admin/auth/rate-limit.ts';
import { createWindowCounter } from '../../../src/admin/auth/window-counter.ts';
import { createToken, openAuthApp } from '../../support/authenticated-app.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

describe('the rate of requests', () => {
  const [ann, ben] = [createToken('ann'), createToken('ben')];
  const clock = manualClock(0);
  let redis: Redis;
  let authApp: ReturnType<typeof openAuthApp>;
  beforeAll(() => {
    redis = new Redis(inject('redisUrl'));
    authApp = openAuthApp(
      { redis, prefix: randomPrefix() },
      { entries: () => [ann.entry, ben.entry], clock, change: { limit: createRateLimit(3, clock) } },
    );
  });
  afterAll(() => redis.quit());
  const get = (path: string, headers: Readonly<Record<string, string>> = {}, remoteAddress = '127.0.0.1') =>
    authApp.app.request(
      path,
      { headers: { host: 'localhost', ...headers } },
      { incoming: { socket: { remoteAddress } } },
    );
  const as = ({ token }: typeof ann) => ({ authorization: `Bearer ${token}` });

  it('is limited per token, announces what is left, and starts again after a minute', async () => {
    const left = [];
    for (let n = 0; n < 3; n += 1) left.push((await get('/api/thing', as(ann))).headers.get('ratelimit'));
    expect(left).toEqual(['"requests";r=2;t=60', '"requests";r=1;t=60', '"requests";r=0;t=60']);
    clock.advance(15_000);
    const refused = await get('/api/thing', as(ann));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '45']);
    expect(refused.headers.get('ratelimit-policy')).toBe('"requests";q=3;w=60');
    expect(await refused.json()).toMatchObject({ code: 'request.throttled', status: 429 });
    expect((await get('/api/thing', as(ben))).status).toBe(200);
    clock.advance(45_000);
    expect((await get('/api/thing', as(ann))).status).toBe(200);
  });

  it('is limited by address for clients without a token', async () => {
    const statuses = [];
    for (let n = 0; n < 4; n += 1) statuses.push((await get('/api/thing', {}, '192.0.2.1')).status);
    expect(statuses).toEqual([401, 401, 401, 429]);
    expect((await get('/api/thing', {}, '192.0.2.2')).status).toBe(401);
    // One subscriber can use 2^64 IPv6 addresses.
    for (let n = 0; n < 3; n += 1) await get('/api/thing', {}, `2001:db8::${n}`);
    expect((await get('/api/thing', {}, '2001:db8::ffff')).status).toBe(429);
  });

  it('is not limited for probes', async () => {
    for (let n = 0; n < 10; n += 1) expect((await get('/healthz')).status).toBe(200);
  });

  it('is remembered only for the newest senders', () => {
    const counts = createWindowCounter(() => 0, { most: 5, windowMs: 1_000 });
    for (let n = 0; n < 10_001; n += 1) counts.count(`sender ${n}`);
    expect(counts.count('sender 0').left).toBe(4);
    expect(counts.count('sender 10000').left).toBe(3);
  });
});
