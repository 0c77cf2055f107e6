import { Redis } from 'ioredis';
import { afterAll, beforeEach, expect, inject, onTestFinished, test } from 'vitest';
import { type CircuitEvent, redisCircuitBreaker } from '../../../src/deliver/circuit/circuit-breaker.ts';
import { type DeliverInput, deliver } from '../../../src/deliver/deliver.ts';
import type { Mailer, SendResult } from '../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { definitionWith, deliverInput, folderFor, sealedRun } from '../../support/delivery-case.ts';

const redis = new Redis(inject('redisUrl'));
let round = 0;
let prefix = '';
let now = 0;
const events: CircuitEvent[] = [];
const clock = { now: () => now, sleep: async () => {} };
/** Each worker has its own circuit breaker. */
const worker = () => redisCircuitBreaker(redis, { prefix, clock, onEvent: (event) => events.push(event) });
beforeEach(() => {
  prefix = `test-circuit-${process.pid}-${round++}:`;
  now = 1_800_000_000_000;
  events.length = 0;
});
afterAll(async () => {
  const keys = await redis.keys(`test-circuit-${process.pid}-*`);
  if (keys.length > 0) await redis.del(...keys);
  redis.disconnect();
});
const MINUTE = 60_000;
const HOST = 'mail smtp.example.com:587';

const opened = async () => {
  for (let failure = 0; failure < 3; failure += 1) await worker().recordFailure(HOST, 'ECONNREFUSED');
};

test('a circuit opens for all workers after three failures, with one event', async () => {
  await worker().recordFailure(HOST, 'ECONNREFUSED');
  await worker().recordFailure(HOST, 'ECONNREFUSED');
  expect(await worker().check(HOST)).toBeUndefined();
  await worker().recordFailure(HOST, 'ETIMEDOUT');
  expect(await worker().check(HOST)).toEqual({ until: now + MINUTE, why: 'ETIMEDOUT' });
  // Attempts that began before it opened do not extend it.
  await worker().recordFailure(HOST, 'late');
  expect(await worker().check(HOST)).toEqual({ until: now + MINUTE, why: 'ETIMEDOUT' });
  expect(await worker().check('mail another.example.com:587')).toBeUndefined();
  expect(events).toEqual([{ kind: 'opened', service: HOST, until: now + MINUTE, why: 'ETIMEDOUT' }]);
});

test('a circuit stays closed after failures far apart, or with a success in between', async () => {
  for (const pause of [0, 11 * MINUTE, 11 * MINUTE, 11 * MINUTE]) {
    now += pause;
    await worker().recordFailure(HOST, 'ECONNREFUSED');
  }
  await worker().recordFailure(HOST, 'ECONNREFUSED');
  await worker().recordSuccess(HOST);
  await worker().recordFailure(HOST, 'ECONNREFUSED');
  expect(await worker().check(HOST)).toBeUndefined();
  expect(events).toEqual([]);
});

test('an open circuit lets one probe through; a failure doubles the pause, a success closes the circuit', async () => {
  await opened();
  now += MINUTE;
  const answers = await Promise.all(Array.from({ length: 20 }, () => worker().check(HOST)));
  expect(answers.filter((outage) => outage === undefined)).toHaveLength(1);
  await worker().recordFailure(HOST, 'still');
  expect(await worker().check(HOST)).toEqual({ until: now + 2 * MINUTE, why: 'still' });
  now += 2 * MINUTE;
  expect(await worker().check(HOST)).toBeUndefined();
  await worker().recordSuccess(HOST);
  expect(await worker().check(HOST)).toBeUndefined();
  expect(events.map(({ kind }) => kind)).toEqual(['opened', 'closed']);
  expect(events[1]).toMatchObject({ afterMs: 3 * MINUTE });
});

test('an attempt on a person’s request after the last failure is a probe, but only once', async () => {
  await opened();
  expect(await worker().check(HOST, now)).toMatchObject({ why: 'ECONNREFUSED' });
  now += 1000;
  const requestedAt = now;
  now += 1000;
  expect(await worker().check(HOST)).toMatchObject({ why: 'ECONNREFUSED' });
  expect(await worker().check(HOST, requestedAt)).toBeUndefined();
  await worker().recordFailure(HOST, 'still');
  expect(await worker().check(HOST, requestedAt)).toEqual({ until: now + 2 * MINUTE, why: 'still' });
  now += 1000;
  expect(await worker().check(HOST, now)).toBeUndefined();
  await worker().recordSuccess(HOST);
  expect(await worker().check(HOST)).toBeUndefined();
});

test('an attempt on a person’s request passes a circuit that 0.2.0 opened', async () => {
  await opened();
  await redis.hdel(`${prefix}circuit:${HOST}`, 'failed');
  expect(await worker().check(HOST)).toMatchObject({ why: 'ECONNREFUSED' });
  expect(await worker().check(HOST, now)).toBeUndefined();
});

test('a probe without a result blocks the others for a minute', async () => {
  await opened();
  now += MINUTE;
  expect(await worker().check(HOST)).toBeUndefined();
  expect(await worker().check(HOST)).toMatchObject({ until: now + MINUTE });
  now += MINUTE;
  expect(await worker().check(HOST)).toBeUndefined();
});

test('Retry-After opens a circuit at once, with one probe afterwards', async () => {
  await worker().recordFailure(HOST, 'HTTP 429', now + 5 * MINUTE);
  expect(await worker().check(HOST)).toEqual({ until: now + 5 * MINUTE, why: 'HTTP 429' });
  // An attempt that ends later got a shorter time. The longer one counts.
  await worker().recordFailure(HOST, 'HTTP 503', now + MINUTE);
  expect(await worker().check(HOST)).toMatchObject({ until: now + 5 * MINUTE });
  now += 5 * MINUTE;
  const answers = await Promise.all(Array.from({ length: 5 }, () => worker().check(HOST)));
  expect(answers.filter((outage) => outage === undefined)).toHaveLength(1);
  await worker().recordFailure(HOST, 'ECONNREFUSED');
  expect(await worker().check(HOST)).toEqual({ until: now + MINUTE, why: 'ECONNREFUSED' });
  now += MINUTE;
  await worker().check(HOST);
  await worker().recordSuccess(HOST);
  expect(await worker().check(HOST)).toBeUndefined();
  expect(events.map(({ kind }) => kind)).toEqual(['opened', 'closed']);
});

async function aRun(answer: () => SendResult): Promise<{ input: DeliverInput; asked: string[] }> {
  const root = await folderFor(onTestFinished);
  const { archive, published } = await sealedRun(root);
  const requested: string[] = [];
  const mailer: Mailer = {
    send: async ({ to }) => {
      requested.push(to);
      return answer();
    },
    close: async () => {},
  };
  const input = deliverInput({
    definition: definitionWith([
      { email: { to: ['a@acme.example', 'b@acme.example'] } },
      { directory: { path: 'out' } },
    ]),
    published,
    mail: { mailer, from: 'reports@docket.example', service: HOST },
    archive,
    circuit: worker(),
    clock,
    workingDirectory: root,
  });
  return { input, asked: requested };
}

test('a run skips a service with an open circuit, delivers the rest and returns the outage', async () => {
  const down = (): SendResult => ({ kind: 'deferred', response: 'ECONNREFUSED', server: true });
  for (let run = 0; run < 3; run += 1) {
    const { input, asked } = await aRun(down);
    expect(await deliver(input)).toMatchObject({ retryable: true, outage: undefined });
    expect(asked).toHaveLength(1);
  }
  const { input, asked } = await aRun(() => ({ kind: 'accepted', response: '250 Ok' }));
  const met = await deliver(input);
  expect(asked).toEqual([]);
  expect(met).toMatchObject({ retryable: true, outage: { until: now + MINUTE } });
  expect(met.receipts.map(({ state }) => state)).toEqual(['pending', 'pending', 'sent']);
  expect(met.receipts[0]?.detail).toContain(`${HOST} has been failing (ECONNREFUSED)`);

  now += MINUTE;
  const again = await deliver(input);
  expect(again.receipts.map(({ state }) => state)).toEqual(['sent', 'sent', 'sent']);
  expect(asked).toEqual(['a@acme.example', 'b@acme.example']);
  expect(events.map(({ kind }) => kind)).toEqual(['opened', 'closed']);
});
