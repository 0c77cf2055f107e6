import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { deliveryId } from '../../../src/deliver/ledger/ledger.ts';
import { onReconnect, repairLedger } from '../../../src/services/deliveries/ledger-repair.ts';
import { ORDER, RUN, sealedRun } from '../../support/delivery-case.ts';
import { testDeployment } from '../../support/test-deployment.ts';

const aRedis = (): Redis => {
  const redis = new Redis(inject('redisUrl'));
  onTestFinished(() => redis.disconnect());
  return redis;
};

test('an ended run gets its delivery states from the archive after the ledger lost its last writes', async () => {
  const deployment = await testDeployment();
  const { runs, ledger, archive } = deployment;
  const { published: sealed } = await sealedRun(deployment.folder, undefined, archive);
  const now = systemClock.now();
  await runs.open({ ...ORDER, trigger: 'schedule', priority: 'scheduled', digest: 'd'.repeat(64), deliver: true });
  await runs.update(RUN, { state: 'done', finishedAt: now });

  const row = (recipient: string) => {
    const [run, org, report, target] = [RUN, ORDER.org, ORDER.report, '0-email'];
    return { id: deliveryId(run, target, recipient), run, org, report, target, recipient };
  };
  const [ended, forgotten, cut, waits] = ['ended', 'forgotten', 'cut', 'waits'].map((name) =>
    row(`${name}@acme.example`),
  );
  for (const each of [ended, forgotten, cut, waits]) if (each !== undefined) await ledger.open(each, now);
  const keep = (delivery = '', ...states: readonly ('sending' | 'sent')[]) =>
    Promise.all(
      states.map((state) => archive.putAttempt(sealed, { delivery, epoch: 1, state, detail: null, at: now })),
    );
  // `ended` lost its end and `forgotten` its beginning as well. `cut` has no recorded end. `waits` was never attempted.
  await ledger.begin(ended?.id ?? '', now);
  await keep(ended?.id, 'sending', 'sent');
  await keep(forgotten?.id, 'sending', 'sent');
  await ledger.begin(cut?.id ?? '', now);
  await keep(cut?.id, 'sending');

  // Newer runs that fill one page of the listing.
  for (const slot of ['later', 'last']) {
    const newer = { ...ORDER, id: randomUUID().replaceAll('-', ''), slot, createdAt: ORDER.createdAt + 1 };
    await runs.open({ ...newer, trigger: 'schedule', priority: 'scheduled', digest: 'd'.repeat(64), deliver: true });
    await runs.update(newer.id, { state: 'done', finishedAt: now });
  }

  const receiptOf = (delivery = '', recipient = '', state: 'sending' | 'pending' | 'sent' = 'sending') => {
    return { delivery, target: '0-email', recipient, state, detail: null, messageId: null };
  };
  await archive.putReceipts(sealed, [
    receiptOf(ended?.id, 'ended@acme.example'),
    receiptOf(forgotten?.id, 'forgotten@acme.example', 'pending'),
    receiptOf(cut?.id, 'cut@acme.example'),
    receiptOf(waits?.id, 'waits@acme.example', 'pending'),
  ]);

  await repairLedger(deployment, 1);
  const receipts = await archive.getReceipts(sealed);
  expect(receipts.map(({ state }) => state)).toEqual(['sent', 'sent', 'unknown', 'pending']);
  const states = Object.fromEntries((await ledger.list(RUN)).map(({ recipient, state }) => [recipient, state]));
  expect(states).toEqual({
    'ended@acme.example': 'sent',
    'forgotten@acme.example': 'sent',
    'cut@acme.example': 'unknown',
    'waits@acme.example': 'pending',
  });
});

test('a step after a Redis outage runs once per outage, and again after it failed', async () => {
  const [redis, other] = [aRedis(), aRedis()];
  redis.on('error', () => {});
  await redis.ping();
  let failing = true;
  let done = 0;
  const step = onReconnect(redis, async () => {
    if (failing) throw new Error('not yet');
    done += 1;
  });
  await step();
  expect(done).toBe(0);
  const closed = once(redis, 'close');
  await other.client('KILL', 'ID', await redis.client('ID'));
  await closed;
  await expect(step()).rejects.toThrow('not yet');
  failing = false;
  await step();
  await step();
  expect(done).toBe(1);
});
