import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLimiter, LIMITER_ALGORITHMS } from '../../src/sandbox/limiter.ts';
import { inProcessSandbox } from '../support/in-process-sandbox.ts';
import { manualClock } from '../support/manual-clock.ts';

const START = Date.parse('2026-04-08T08:30:00Z');
const METRICS = '/api/orgs/current/analytics/metrics/';
const PROFILES = '/api/orgs/103/profiles/';

const statuses = async (ask: () => Promise<{ status: number }>, times: number) => {
  const got: number[] = [];
  for (let nth = 0; nth < times; nth++) got.push((await ask()).status);
  return got;
};
const tally = (got: readonly number[], status: number) => got.filter((one) => one === status).length;

describe('the metrics endpoints (§8)', () => {
  it('answer 30 calls per minute and key, and then 429 with the seconds to wait', async () => {
    const clock = manualClock(START);
    const sandbox = inProcessSandbox({ clock, windowMs: 60_000 });
    const ask = () => sandbox.get(METRICS, 'lakeside');
    expect(tally(await statuses(ask, 20), 200)).toBe(20);
    clock.advance(20_500);
    expect(tally(await statuses(ask, 10), 200)).toBe(10);
    const over = await ask();
    expect(over).toMatchObject({ status: 429, body: { code: 'rate.throttled', correlation_id: expect.any(String) } });
    expect(over.headers.get('Retry-After')).toBe('40');
    clock.advance(39_499);
    expect((await ask()).status).toBe(429);
    clock.advance(1);
    expect(tally(await statuses(ask, 21), 200)).toBe(20);
  });

  it('count the catalog, reports and refused requests together, for each key separately', async () => {
    const sandbox = inProcessSandbox({ clock: manualClock(START), windowMs: 60_000 });
    await statuses(() => sandbox.get(METRICS, 'lakeside'), 10);
    await statuses(() => sandbox.report({ metrics: ['rfis.sent'] }, { org: 103, key: 'lakeside' }), 10);
    await statuses(() => sandbox.report({ metrics: ['no.such'] }, { org: 103, key: 'lakeside' }), 10);
    expect((await sandbox.get(METRICS, 'lakeside')).status).toBe(429);
    expect((await sandbox.get(METRICS, 'blank')).status).toBe(200);
  });

  it('have a separate budget, which lists do not use', async () => {
    const sandbox = inProcessSandbox({ clock: manualClock(START), windowMs: 60_000 });
    expect(tally(await statuses(() => sandbox.get(PROFILES, 'lakeside'), 40), 200)).toBe(40);
    expect(tally(await statuses(() => sandbox.get(METRICS, 'lakeside'), 31), 200)).toBe(30);
    expect((await sandbox.get(PROFILES, 'lakeside')).status).toBe(200);
  });

  it('have a shorter window when one is given', async () => {
    const clock = manualClock(START);
    const sandbox = inProcessSandbox({ clock, windowMs: 2000 });
    expect(tally(await statuses(() => sandbox.get(METRICS, 'blank'), 31), 200)).toBe(30);
    clock.advance(2000);
    expect((await sandbox.get(METRICS, 'blank')).status).toBe(200);
  });
});

describe('the general rate (§8)', () => {
  it('allows 600 reads per minute and user, across the keys of the user', async () => {
    const clock = manualClock(START);
    const sandbox = inProcessSandbox({ clock, windowMs: 60_000 });
    expect(tally(await statuses(() => sandbox.get('/api/orgs/', 'all'), 300), 200)).toBe(300);
    expect(tally(await statuses(() => sandbox.get('/api/orgs/', 'acme'), 301), 200)).toBe(300);
    expect((await sandbox.get('/api/orgs/', 'elsewhere')).status).toBe(200);
    clock.advance(60_000);
    expect((await sandbox.get('/api/orgs/', 'all')).status).toBe(200);
  });

  it('allows 120 writes per minute and user', async () => {
    const sandbox = inProcessSandbox({ clock: manualClock(START), windowMs: 60_000 });
    const got = await statuses(() => sandbox.send('POST', '/api/orgs/101/profiles/', { body: '{}' }), 121);
    expect(got.indexOf(429)).toBe(120);
  });
});

describe.each(LIMITER_ALGORITHMS)('a %s limiter', (kind) => {
  it('lets exactly the allowed calls through at one instant, for each key separately', () => {
    const limit = createLimiter(kind, 5, 1000);
    const waits = Array.from({ length: 8 }, () => limit.acquire('key', START));
    expect(waits.slice(0, 5)).toEqual([0, 0, 0, 0, 0]);
    expect(Math.min(...waits.slice(5))).toBeGreaterThan(0);
    expect(limit.acquire('another', START)).toBe(0);
  });

  it('never lets through more calls than its algorithm allows, and announces the exact wait', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(900), { minLength: 1, maxLength: 300 }), (gaps) => {
        const limit = createLimiter(kind, 5, 1000);
        const granted: number[] = [];
        let now = START;
        for (const gap of gaps) {
          now += gap;
          const wait = limit.acquire('key', now);
          if (wait === 0) {
            granted.push(now);
            continue;
          }
          expect(wait).toBeGreaterThan(0);
          expect(wait).toBeLessThanOrEqual(1000);
          // The call passes at the announced time, and not a millisecond earlier.
          if (wait > 1) expect(limit.acquire('key', now + wait - 1)).toBeGreaterThan(0);
          now += wait;
          expect(limit.acquire('key', now)).toBe(0);
          granted.push(now);
        }
        const most = (span: (at: number) => number) =>
          Math.max(...granted.map((at) => granted.filter((other) => span(other) === span(at)).length));
        const within = (ms: number) =>
          Math.max(...granted.map((at) => granted.filter((other) => other >= at && other < at + ms).length));
        if (kind === 'sliding') expect(within(1000)).toBeLessThanOrEqual(5);
        if (kind === 'fixed') expect(most((at) => Math.floor(at / 1000))).toBeLessThanOrEqual(5);
        if (kind === 'token-bucket') expect(within(1000)).toBeLessThanOrEqual(10);
      }),
      // A gap sequence after which a bucket counted in fractions refused a call at the announced moment.
      { examples: [[[0, 0, 0, 1, 64, 8]]] },
    );
  });
});

it('a fixed window lets two bursts through at its edge, and a sliding window does not', () => {
  const burst = (kind: 'fixed' | 'sliding') => {
    const limit = createLimiter(kind, 5, 1000);
    const edge = Math.ceil(START / 1000) * 1000;
    return [edge - 1, edge]
      .flatMap((at) => Array.from({ length: 5 }, () => limit.acquire('key', at)))
      .filter((w) => w === 0).length;
  };
  expect(burst('fixed')).toBe(10);
  expect(burst('sliding')).toBe(5);
});
