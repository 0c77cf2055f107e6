import { Redis } from 'ioredis';
import { afterAll, beforeEach, expect, inject, onTestFinished, test } from 'vitest';
import type { CircuitNews } from '../../src/deliver/circuit.ts';
import { type DeliverInput, deliver } from '../../src/deliver/deliver.ts';
import type { Mailer, SendResult } from '../../src/deliver/mailer.ts';
import { memoryLedger } from '../../src/deliver/memory-ledger.ts';
import { redisCircuit } from '../../src/deliver/redis-circuit.ts';
import { definitionWith, folderFor, NO_SECRETS, ORDER, SETTINGS, sealedRun } from '../support/delivery-case.ts';

const redis = new Redis(inject('redisUrl'));
let round = 0;
let prefix = '';
let now = 0;
const news: CircuitNews[] = [];
const clock = { now: () => now, sleep: async () => {} };
/** As each worker has one of its own. */
const worker = () => redisCircuit(redis, { prefix, clock, tell: (one) => news.push(one) });
beforeEach(() => {
  prefix = `test-circuit-${process.pid}-${round++}:`;
  now = 1_800_000_000_000;
  news.length = 0;
});
afterAll(async () => {
  const keys = await redis.keys(`test-circuit-${process.pid}-*`);
  if (keys.length > 0) await redis.del(...keys);
  redis.disconnect();
});
const MINUTE = 60_000;
const HOST = 'mail smtp.example.com:587';

const opened = async () => {
  for (let failure = 0; failure < 3; failure += 1) await worker().failed(HOST, 'ECONNREFUSED');
};

test('a server is left alone by all workers after three failures, and the log hears of it once', async () => {
  await worker().failed(HOST, 'ECONNREFUSED');
  await worker().failed(HOST, 'ECONNREFUSED');
  expect(await worker().ask(HOST)).toBeUndefined();
  await worker().failed(HOST, 'ETIMEDOUT');
  expect(await worker().ask(HOST)).toEqual({ until: now + MINUTE, why: 'ETIMEDOUT' });
  // Of those who were at it when it opened, none makes it longer.
  await worker().failed(HOST, 'late');
  expect(await worker().ask(HOST)).toEqual({ until: now + MINUTE, why: 'ETIMEDOUT' });
  expect(await worker().ask('mail another.example.com:587')).toBeUndefined();
  expect(news).toEqual([{ kind: 'opened', service: HOST, until: now + MINUTE, why: 'ETIMEDOUT' }]);
});

test('failures that lie far apart, or with a success between them, open nothing', async () => {
  for (const pause of [0, 11 * MINUTE, 11 * MINUTE, 11 * MINUTE]) {
    now += pause;
    await worker().failed(HOST, 'ECONNREFUSED');
  }
  await worker().failed(HOST, 'ECONNREFUSED');
  await worker().answered(HOST);
  await worker().failed(HOST, 'ECONNREFUSED');
  expect(await worker().ask(HOST)).toBeUndefined();
  expect(news).toEqual([]);
});

test('after a while one of many tries it, the others wait; its failure doubles the pause, its success ends it', async () => {
  await opened();
  now += MINUTE;
  const answers = await Promise.all(Array.from({ length: 20 }, () => worker().ask(HOST)));
  expect(answers.filter((outage) => outage === undefined)).toHaveLength(1);
  await worker().failed(HOST, 'still');
  expect(await worker().ask(HOST)).toEqual({ until: now + 2 * MINUTE, why: 'still' });
  now += 2 * MINUTE;
  expect(await worker().ask(HOST)).toBeUndefined();
  await worker().answered(HOST);
  expect(await worker().ask(HOST)).toBeUndefined();
  expect(news.map(({ kind }) => kind)).toEqual(['opened', 'closed']);
  expect(news[1]).toMatchObject({ afterMs: 3 * MINUTE });
});

test('a probe that dies keeps the others waiting for a minute, not for ever', async () => {
  await opened();
  now += MINUTE;
  expect(await worker().ask(HOST)).toBeUndefined();
  expect(await worker().ask(HOST)).toMatchObject({ until: now + MINUTE });
  now += MINUTE;
  expect(await worker().ask(HOST)).toBeUndefined();
});

test('a service that asks to be left alone until then is, at once and by all, and is tried by one afterwards', async () => {
  await worker().failed(HOST, 'HTTP 429', now + 5 * MINUTE);
  expect(await worker().ask(HOST)).toEqual({ until: now + 5 * MINUTE, why: 'HTTP 429' });
  // One that was at it meanwhile was told a shorter time: the longer one counts.
  await worker().failed(HOST, 'HTTP 503', now + MINUTE);
  expect(await worker().ask(HOST)).toMatchObject({ until: now + 5 * MINUTE });
  now += 5 * MINUTE;
  const answers = await Promise.all(Array.from({ length: 5 }, () => worker().ask(HOST)));
  expect(answers.filter((outage) => outage === undefined)).toHaveLength(1);
  await worker().failed(HOST, 'ECONNREFUSED');
  expect(await worker().ask(HOST)).toEqual({ until: now + MINUTE, why: 'ECONNREFUSED' });
  now += MINUTE;
  await worker().ask(HOST);
  await worker().answered(HOST);
  expect(await worker().ask(HOST)).toBeUndefined();
  expect(news.map(({ kind }) => kind)).toEqual(['opened', 'closed']);
});

async function aRun(answer: () => SendResult): Promise<{ input: DeliverInput; asked: string[] }> {
  const root = await folderFor(onTestFinished);
  const { archive, sealed } = await sealedRun(root);
  const asked: string[] = [];
  const mailer: Mailer = {
    send: async ({ to }) => {
      asked.push(to);
      return answer();
    },
    close: async () => {},
  };
  const input: DeliverInput = {
    order: ORDER,
    definition: definitionWith([
      { email: { to: ['a@acme.example', 'b@acme.example'] } },
      { directory: { path: 'out' } },
    ]),
    settings: SETTINGS,
    secrets: NO_SECRETS,
    sealed,
    mail: { mailer, from: 'reports@docket.example', service: HOST },
    ledger: memoryLedger(),
    archive,
    circuit: worker(),
    clock,
    signal: new AbortController().signal,
    observe: () => {},
    workingDirectory: root,
  };
  return { input, asked };
}

test('a run that meets a server that is left alone tries it not at all, delivers the rest and says when to come back', async () => {
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
  expect(news.map(({ kind }) => kind)).toEqual(['opened', 'closed']);
});
