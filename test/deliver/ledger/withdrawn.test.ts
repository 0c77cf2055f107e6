import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { deliveryId, type Ledger, type NewDelivery, NOTICE_TARGET } from '../../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../../src/deliver/ledger/redis-ledger.ts';
import { cases } from '../../support/fuzz.ts';
import { memoryLedger } from '../../support/memory-ledger.ts';

const redis = new Redis(inject('redisUrl'), { maxRetriesPerRequest: 1 });
const prefix = `test-withdrawn-${process.pid}:`;
afterAll(async () => {
  const keys = await redis.keys(`${prefix}*`);
  if (keys.length > 0) await redis.del(...keys);
  redis.disconnect();
});

let runs = 0;
const newRun = (): string => (runs++).toString(16).padStart(16, '0').padEnd(32, 'f');
const delivery = (run: string, recipient: string, target = '0-email'): NewDelivery => ({
  id: deliveryId(run, target, recipient),
  run,
  org: 'acme',
  report: 'weekly',
  target,
  recipient,
});
const DECISION = { by: 'ops', reason: 'wrong\npack "A"', at: 50 };
const LEDGERS: readonly [string, () => Ledger][] = [
  ['in memory', memoryLedger],
  ['in Redis', () => redisLedger(redis, { prefix, ttlDays: 30 })],
];

describe.each(LEDGERS)('withdrawing a replaced edition, with the ledger %s,', (_, make) => {
  test('closes pending and refused rows at once, and rows being sent once they have a result', async () => {
    const ledger = make();
    const run = newRun();
    const states = ['pending', 'refused', 'sent', 'unknown', 'sending', 'replaced'] as const;
    const rows = states.map((state) => delivery(run, `${state}@acme.example`));
    const late = delivery(run, 'late@acme.example');
    const notice = delivery(run, 'owner@acme.example', NOTICE_TARGET);
    // This run shares the key of its rows with the withdrawn one.
    const other = delivery(`${run.slice(0, 16)}${'e'.repeat(16)}`, 'x@acme.example');
    for (const [index, row] of rows.entries())
      await ledger.open(row, 1, { state: states[index] ?? 'pending', epoch: 3, detail: null });
    await ledger.open(late, 1);
    await ledger.begin(late.id, 2);
    await ledger.open(notice, 1);
    await ledger.open(other, 1);

    expect(await ledger.isWithdrawn(run)).toBe(false);
    const after = await ledger.withdraw(run, DECISION);
    expect(await ledger.isWithdrawn(run)).toBe(true);
    expect(after.map(({ state, epoch }) => [state, epoch])).toEqual([
      ['withdrawn', 4],
      ['withdrawn', 4],
      ['sent', 3],
      ['unknown', 3],
      ['sending', 3],
      ['replaced', 3],
      ['sending', 1],
      ['pending', 0],
    ]);
    const [pending, , , unknown, sending] = rows as [NewDelivery, NewDelivery, NewDelivery, NewDelivery, NewDelivery];
    const made = { to: 'withdrawn', ...DECISION };
    expect(await ledger.find(pending.id)).toMatchObject({
      detail: `Withdrawn by ops: ${DECISION.reason}`,
      decisions: [made],
      at: 50,
    });
    // A worker that has read the row before cannot begin. Neither a decision nor an archive record opens the row.
    expect(await ledger.begin(pending.id, 60)).toBeUndefined();
    expect(await ledger.open(pending, 60, { state: 'pending', epoch: 9, detail: null })).toMatchObject({ epoch: 4 });
    const again = { to: 'pending', by: 'eva', reason: 'r', at: 60 } as const;
    expect(await ledger.resolve(unknown.id, 3, again)).toBeUndefined();
    expect(await ledger.add({ ...delivery(run, 'new@acme.example'), added: true }, again)).toBeUndefined();

    // Messages that are being sent get their result, and none is attempted again.
    expect(await ledger.settle(sending.id, 3, 'pending', '450', 60)).toBe(true);
    expect(await ledger.settle(late.id, 1, 'sent', '250', 60)).toBe(true);
    expect(await ledger.find(sending.id)).toMatchObject({ state: 'withdrawn', epoch: 4, decisions: [made] });
    expect(await ledger.find(late.id)).toMatchObject({ state: 'sent', epoch: 1 });
    // A row that is opened only now, and one that the ledger had lost.
    expect(await ledger.open(delivery(run, 'b@acme.example'), 60)).toMatchObject({ state: 'withdrawn', epoch: 1 });
    expect(
      await ledger.open(delivery(run, 'c@acme.example'), 60, { state: 'refused', epoch: 2, detail: '550' }),
    ).toMatchObject({ state: 'withdrawn', epoch: 3 });
    // Withdrawn again by somebody else: the first decision stays.
    expect(await ledger.withdraw(run, { by: 'eva', reason: 'later', at: 70 })).toEqual(await ledger.list(run));
    expect((await ledger.find(pending.id))?.decisions).toEqual([made]);
    expect(await ledger.settle(unknown.id, 3, 'sent', '250', 80)).toBe(true);

    // The notice to the owner and the other run are not affected.
    expect(await ledger.begin(notice.id, 60)).toBe(1);
    expect(await ledger.begin(other.id, 60)).toBe(1);
  });

  test('lets no attempt begin afterwards, in any order of calls', async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ do: fc.constant('open' as const), archived: fc.boolean() }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('begin' as const) }) },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant('settle' as const),
          epoch: fc.integer({ min: 0, max: 4 }),
          to: fc.constantFrom('pending', 'sent', 'refused', 'unknown' as const),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ do: fc.constant('resend' as const), epoch: fc.integer({ min: 0, max: 4 }) }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('withdraw' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24 }), async (steps) => {
        const ledger = make();
        const row = delivery(newRun(), 'a@acme.example');
        let withdrawn = false;
        let arrived = false;
        for (const requested of steps) {
          const before = await ledger.find(row.id);
          if (requested.do === 'open') {
            const archived = { state: 'pending', epoch: 2, detail: null } as const;
            await ledger.open(row, 1, requested.archived ? archived : undefined);
          } else if (requested.do === 'begin') {
            const epoch = await ledger.begin(row.id, 1);
            if (withdrawn) expect(epoch).toBeUndefined();
          } else if (requested.do === 'settle') {
            const settled = await ledger.settle(row.id, requested.epoch, requested.to, null, 1);
            arrived ||= settled && requested.to === 'sent';
          } else if (requested.do === 'resend') {
            const to = { to: 'pending', by: 'ops', reason: 'r', at: 1 } as const;
            expect(withdrawn && (await ledger.resolve(row.id, requested.epoch, to))).toBeFalsy();
          } else {
            await ledger.withdraw(row.run, DECISION);
            withdrawn = true;
          }
          const after = await ledger.find(row.id);
          if (withdrawn) expect(['pending', 'refused']).not.toContain(after?.state);
          // A withdrawn row is final, and a delivered one is never withdrawn.
          if (before?.state === 'withdrawn') expect(after).toEqual(before);
          if (arrived) expect(after?.state).toBe('sent');
        }
      }),
      cases(120),
    );
  });
});

test('the withdrawal of a run without rows is kept for as long as rows would be', async () => {
  const ledger = redisLedger(redis, { prefix, ttlDays: 30 });
  const run = newRun();
  expect(await ledger.withdraw(run, DECISION)).toEqual([]);
  expect(await redis.ttl(`${prefix}deliveries:{${run.slice(0, 16)}}`)).toBeGreaterThan(29 * 86_400);
  expect(await ledger.open(delivery(run, 'a@acme.example'), 60)).toMatchObject({ state: 'withdrawn' });
});
