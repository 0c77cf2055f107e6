import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import {
  type AttemptState,
  DELIVERY_STATES,
  type DeliveryState,
  deliveryId,
  hashTagOfDelivery,
  hashTagOfRun,
  type Ledger,
  type NewDelivery,
  noticeId,
  resolutionText,
} from '../../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../../src/deliver/ledger/redis-ledger.ts';
import { cases } from '../../support/fuzz.ts';
import { memoryLedger } from '../../support/memory-ledger.ts';

const redis = new Redis(inject('redisUrl'), { maxRetriesPerRequest: 1 });
const prefix = `test-ledger-${process.pid}:`;
afterAll(async () => {
  const keys = await redis.keys(`${prefix}*`);
  if (keys.length > 0) await redis.del(...keys);
  redis.disconnect();
});

let runs = 0;
/** A run that no other test uses, because the Redis is shared. */
const newRun = (): string => (runs++).toString(16).padStart(16, '0').padEnd(32, 'f');

function delivery(run: string, recipient = 'lead@acme.example'): NewDelivery {
  const target = '0-email';
  return { id: deliveryId(run, target, recipient), run, org: 'acme', report: 'weekly', target, recipient };
}

/** `of`: for a ledger that shares no rows with the others. */
const LEDGERS: readonly [string, (of?: string) => Ledger][] = [
  ['in memory', memoryLedger],
  ['in Redis', (of = '') => redisLedger(redis, { prefix: `${prefix}${of}`, ttlDays: 30 })],
];

describe.each(LEDGERS)('the ledger %s', (_, make) => {
  test('opens a row as pending, and returns an existing row in any state', async () => {
    const ledger = make();
    const row = delivery(newRun());
    expect(await ledger.open(row, 10)).toEqual({
      ...row,
      state: 'pending',
      epoch: 0,
      detail: null,
      at: 10,
      decisions: [],
    });

    const epoch = await ledger.begin(row.id, 20);
    await ledger.settle(row.id, epoch!, 'sent', '250 Ok', 30);
    expect(await ledger.open(row, 40)).toEqual({
      ...row,
      state: 'sent',
      epoch,
      detail: '250 Ok',
      at: 30,
      decisions: [],
    });
  });

  test('lets only one of several callers begin an attempt', async () => {
    const ledger = make();
    const row = delivery(newRun());
    await ledger.open(row, 1);
    const epochs = await Promise.all(Array.from({ length: 20 }, () => ledger.begin(row.id, 2)));
    expect(epochs.filter((epoch) => epoch !== undefined)).toEqual([1]);
  });

  test('neither begins nor settles a row that does not exist', async () => {
    const ledger = make();
    const { id } = delivery(newRun());
    expect(await ledger.begin(id, 1)).toBeUndefined();
    expect(await ledger.settle(id, 0, 'sent', null, 1)).toBe(false);
    expect(await ledger.settle(id, 1, 'unknown', null, 1)).toBe(false);
  });

  test('begins a deferred row with a new epoch, which refuses the earlier writer', async () => {
    const ledger = make();
    const row = delivery(newRun());
    await ledger.open(row, 1);
    expect(await ledger.begin(row.id, 2)).toBe(1);
    expect(await ledger.settle(row.id, 1, 'pending', '450 later', 3)).toBe(true);
    expect(await ledger.open(row, 4)).toMatchObject({ state: 'pending', detail: '450 later', at: 3 });
    expect(await ledger.begin(row.id, 5)).toBe(2);
    for (const to of ['sent', 'refused', 'unknown', 'pending'] as const) {
      expect(await ledger.settle(row.id, 1, to, 'late', 6)).toBe(false);
    }
    expect(await ledger.open(row, 7)).toMatchObject({ state: 'sending', epoch: 2, detail: null });
  });

  test('accepts a late result of an unknown row, but no deferral', async () => {
    const ledger = make();
    const row = delivery(newRun());
    await ledger.open(row, 1);
    await ledger.begin(row.id, 2);
    expect(await ledger.settle(row.id, 1, 'unknown', 'interrupted', 3)).toBe(true);
    expect(await ledger.settle(row.id, 1, 'pending', 'later', 4)).toBe(false);
    expect(await ledger.begin(row.id, 5)).toBeUndefined();
    expect(await ledger.settle(row.id, 1, 'sent', '250 Ok', 6)).toBe(true);
    expect(await ledger.open(row, 7)).toMatchObject({ state: 'sent', detail: '250 Ok', at: 6 });
  });

  test('accepts the same result twice, and keeps the first detail', async () => {
    const ledger = make();
    const row = delivery(newRun());
    await ledger.open(row, 1);
    await ledger.begin(row.id, 2);
    expect(await ledger.settle(row.id, 1, 'sent', '250 Ok', 3)).toBe(true);
    expect(await ledger.settle(row.id, 1, 'sent', 'another', 4)).toBe(true);
    expect(await ledger.settle(row.id, 1, 'refused', '550', 5)).toBe(false);
    expect(await ledger.open(row, 6)).toMatchObject({ state: 'sent', detail: '250 Ok', at: 3 });
  });

  test('lists the rows of one run in the order they were opened', async () => {
    const ledger = make();
    const run = newRun();
    // Two runs can share a key, because it has only the first half of the run's id.
    const neighbour = `${run.slice(0, 16)}${'e'.repeat(16)}`;
    const recipients = Array.from({ length: 12 }, (_unused, index) => `r${(index * 7) % 12}@acme.example`);
    for (const recipient of recipients) await ledger.open(delivery(run, recipient), 1);
    await ledger.open(delivery(neighbour), 1);
    expect((await ledger.list(run)).map(({ recipient }) => recipient)).toEqual(recipients);
    expect(await ledger.list(neighbour)).toHaveLength(1);
    expect(await ledger.list(newRun())).toEqual([]);
  });

  test('takes over an archived state of a later epoch, or a result of the same epoch', async () => {
    const ledger = make();
    const open = (row: NewDelivery, state: DeliveryState, epoch: number) =>
      ledger.open(row, 9, { state, epoch, detail: 'from the archive' });
    const fresh = delivery(newRun());
    expect(await open(fresh, 'unknown', 4)).toMatchObject({ state: 'unknown', epoch: 4, detail: 'from the archive' });
    expect(await ledger.begin(fresh.id, 10)).toBeUndefined();

    const behind = delivery(newRun());
    await ledger.open(behind, 1);
    expect(await open(behind, 'pending', 0)).toMatchObject({ state: 'pending', epoch: 0, detail: null });
    expect(await open(behind, 'sending', 2)).toMatchObject({ state: 'sending', epoch: 2 });
    expect(await open(behind, 'sent', 1)).toMatchObject({ state: 'sending', epoch: 2 });
    expect(await open(behind, 'pending', 2)).toMatchObject({ state: 'pending', epoch: 2 });
    expect(await open(behind, 'sent', 2)).toMatchObject({ state: 'pending', epoch: 2 });
    expect(await ledger.begin(behind.id, 3)).toBe(3);
    await ledger.settle(behind.id, 3, 'unknown', null, 4);
    expect(await open(behind, 'pending', 3)).toMatchObject({ state: 'unknown' });
    expect(await open(behind, 'sent', 3)).toMatchObject({ state: 'sent', epoch: 3 });
    expect(await open(behind, 'unknown', 9)).toMatchObject({ state: 'sent', epoch: 3 });

    for (const state of ['sending', 'unknown'] as const) {
      const begun = delivery(newRun());
      await open(begun, state, 2);
      expect(await open(begun, 'sending', 2)).toMatchObject({ state });
      expect(await open(begun, 'unknown', 2)).toMatchObject({ state });
      expect(await open(begun, 'refused', 2)).toMatchObject({ state: 'refused', epoch: 2 });
    }

    const first = delivery(newRun());
    await open(first, 'sending', 1);
    expect(await open(first, 'pending', 1)).toMatchObject({ state: 'pending', epoch: 1 });
    const odd = delivery(newRun());
    await open(odd, 'sending', 0);
    expect(await ledger.open(odd, 10), 'nothing is known elsewhere').toMatchObject({ state: 'sending', epoch: 0 });
  });

  test('carries out a decision once and records its author and reason', async () => {
    const ledger = make();
    const row = delivery(newRun());
    const decision = { to: 'pending', by: 'ops', reason: 'asked "her"\\n', at: 5 } as const;
    await ledger.open(row, 1);
    await ledger.begin(row.id, 2);
    await ledger.settle(row.id, 1, 'unknown', 'No answer', 3);
    expect((await ledger.listUnknown(10_000)).map(({ id }) => id)).toContain(row.id);
    expect(await ledger.resolve(row.id, 7, decision)).toBeUndefined();
    expect(await ledger.resolve(row.id, 1, decision)).toMatchObject({
      state: 'pending',
      epoch: 2,
      decisions: [decision],
    });
    expect(await ledger.resolve(row.id, 1, decision)).toBeUndefined();
    expect((await ledger.listUnknown(10_000)).map(({ id }) => id)).not.toContain(row.id);
    expect(await ledger.begin(row.id, 6)).toBe(3);
    await ledger.settle(row.id, 3, 'unknown', 'No answer', 7);
    const second = { ...decision, to: 'sent', at: 8 } as const;
    expect(await ledger.resolve(row.id, 3, second)).toMatchObject({ state: 'sent', decisions: [decision, second] });
    expect(await ledger.find(row.id)).toEqual((await ledger.list(row.run))[0]);
    expect(await ledger.find('0'.repeat(32))).toBeUndefined();
  });

  test('resolves only unknown, refused, skipped and pending rows, each to its allowed states', async () => {
    const ledger = make();
    const decided: string[] = [];
    for (const state of DELIVERY_STATES) {
      for (const to of ['sent', 'pending', 'skipped'] as const) {
        const row = delivery(newRun());
        await ledger.open(row, 1, { state, epoch: 3, detail: 'as it was' });
        const decision = { to, by: 'ops', reason: 'asked her', at: 5 };
        const found = await ledger.resolve(row.id, 3, decision);
        const after = await ledger.find(row.id);
        if (found === undefined) {
          expect(after).toMatchObject({ state, epoch: 3, detail: 'as it was', at: 1, decisions: [] });
          continue;
        }
        decided.push(`${state} → ${to}`);
        expect(found).toEqual(after);
        const epoch = to === 'pending' ? 4 : 3;
        expect(found).toEqual({
          ...row,
          state: to,
          epoch,
          detail: resolutionText(decision),
          at: 5,
          decisions: [decision],
        });
      }
    }
    expect(decided).toEqual([
      'pending → skipped',
      'refused → pending',
      'unknown → sent',
      'unknown → pending',
      'skipped → pending',
    ]);
    expect(await ledger.resolve('0'.repeat(32), 0, { to: 'pending', by: 'ops', reason: '', at: 5 })).toBeUndefined();
  });

  test('adds a recipient once, and closes the refused row that it replaces in the same step', async () => {
    const ledger = make();
    const run = newRun();
    const old = delivery(run, 'ana@acmee.example');
    const added = { ...delivery(run, 'ana@acme.example'), added: true } as const;
    await ledger.open(old, 1, { state: 'refused', epoch: 1, detail: '550' });
    const decision = { by: 'ops', reason: 'typing error', at: 5 };
    // The epoch is another one, as if somebody has decided meanwhile.
    expect(await ledger.add(added, decision, { id: old.id, epoch: 2 })).toBeUndefined();
    expect(await ledger.find(added.id)).toBeUndefined();
    const first = await ledger.add(added, decision, { id: old.id, epoch: 1 });
    expect(first).toMatchObject({ added: true, row: { ...added, state: 'pending', epoch: 0 } });
    expect(first?.row.decisions).toEqual([{ to: 'pending', ...decision }]);
    const closed = await ledger.find(old.id);
    expect(closed).toMatchObject({ state: 'replaced', epoch: 2, decisions: [{ to: 'replaced', ...decision }] });
    expect(await ledger.add(added, { ...decision, at: 9 }, { id: old.id, epoch: 2 })).toEqual({
      ...first,
      added: false,
    });
    expect((await ledger.list(run)).map(({ recipient, state }) => [recipient, state])).toEqual([
      ['ana@acmee.example', 'replaced'],
      ['ana@acme.example', 'pending'],
    ]);
    // The replaced row is final: no attempt, decision or older archive record opens it.
    expect(await ledger.begin(old.id, 6)).toBeUndefined();
    expect(await ledger.settle(old.id, 2, 'pending', null, 6)).toBe(false);
    expect(await ledger.resolve(old.id, 2, { to: 'pending', by: 'ops', reason: 'r', at: 6 })).toBeUndefined();
    expect(await ledger.open(old, 6, { state: 'pending', epoch: 9, detail: null })).toEqual(closed);
    expect(await ledger.begin(added.id, 6)).toBe(1);
    for (const state of ['sent', 'unknown', 'sending'] as const) {
      const row = delivery(run, `${state}@acme.example`);
      await ledger.open(row, 1, { state, epoch: 1, detail: null });
      const next = { ...delivery(run, `x-${state}@acme.example`), added: true } as const;
      expect(await ledger.add(next, decision, { id: row.id, epoch: 1 }), state).toBeUndefined();
    }
  });

  test("accepts a late result from the row's own attempt only", async () => {
    const ledger = make();
    for (const to of ['sent', 'refused'] as const) {
      const row = delivery(newRun());
      await ledger.open(row, 1, { state: 'unknown', epoch: 2, detail: null });
      expect(await ledger.settle(row.id, 1, to, 'of an earlier attempt', 3)).toBe(false);
      expect(await ledger.settle(row.id, 2, to, null, 4)).toBe(true);
      expect(await ledger.find(row.id)).toMatchObject({ state: to, detail: null, at: 4 });
    }
  });

  test("refuses an earlier attempt that reports the row's current state", async () => {
    const ledger = make();
    const row = delivery(newRun());
    await ledger.open(row, 1, { state: 'pending', epoch: 2, detail: null });
    expect(await ledger.settle(row.id, 1, 'pending', '450 later', 3)).toBe(false);
    expect(await ledger.settle(row.id, 2, 'pending', '450 later', 3)).toBe(true);
  });

  test('lists unknown rows in pages, oldest first', async () => {
    const ledger = make('waiting:');
    for (const [recipient, at] of [
      ['c@', 30],
      ['a@', 10],
      ['d@', 40],
      ['b@', 20],
      ['e@', 50],
    ] as const) {
      await ledger.open(delivery(newRun(), recipient), at, { state: 'unknown', epoch: 1, detail: null });
    }
    const waiting = async (limit: number) => (await ledger.listUnknown(limit)).map(({ recipient }) => recipient);
    expect(await waiting(10)).toEqual(['a@', 'b@', 'c@', 'd@', 'e@']);
    expect(await waiting(2)).toEqual(['a@', 'b@']);
  });

  test('keeps to its state machine under random concurrent calls', async () => {
    const states = fc.constantFrom('pending', 'sent', 'refused', 'unknown' as const);
    const step = fc.oneof(
      fc.record({ do: fc.constant('begin' as const) }),
      fc.record({ do: fc.constant('settle' as const), epoch: fc.integer({ min: 0, max: 4 }), to: states }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 12 }), async (rounds) => {
        const ledger = make();
        const row = delivery(newRun());
        let before = await ledger.open(row, 0);
        let begun = 0;
        for (const round of rounds) {
          const answers = await Promise.all(
            round.map(async (requested) => ({
              asked: requested,
              answer:
                requested.do === 'begin'
                  ? await ledger.begin(row.id, 1)
                  : await ledger.settle(row.id, requested.epoch, requested.to, requested.to, 1),
            })),
          );
          const after = await ledger.open(row, 2);
          const epochs = answers.flatMap(({ asked, answer }) => (asked.do === 'begin' ? [answer] : []));
          for (const epoch of epochs) {
            // Every attempt has its own epoch, one above the last, so no attempt sends with another's epoch.
            if (epoch !== undefined) expect(epoch).toBe(++begun);
          }
          expect(after.epoch).toBe(begun);
          // A final state never changes.
          if (before.state === 'sent' || before.state === 'refused') {
            expect(after).toEqual(before);
            expect(epochs.every((epoch) => epoch === undefined)).toBe(true);
          }
          if (before.state === 'unknown') {
            expect(['unknown', 'sent', 'refused']).toContain(after.state);
            expect(epochs.every((epoch) => epoch === undefined)).toBe(true);
          }
          const reported = answers.flatMap(({ asked, answer }) =>
            asked.do === 'settle' && answer === true && asked.to !== 'pending' ? [asked.to] : [],
          );
          expect(new Set(reported.filter((to) => to !== 'unknown')).size).toBeLessThanOrEqual(1);
          before = after;
        }
      }),
      cases(150),
    );
  });

  test('never lets two attempts send without a deferral between them', async () => {
    const outcome = fc.constantFrom<AttemptState | 'crash'>('sent', 'refused', 'unknown', 'pending', 'crash');
    await fc.assert(
      fc.asyncProperty(
        fc.array(outcome, { minLength: 1, maxLength: 6 }),
        fc.scheduler(),
        async (outcomes, scheduler) => {
          const ledger = make();
          const row = delivery(newRun());
          const log: string[] = [];
          const work = outcomes.map(async (end, worker) => {
            const turn = (what: string) => scheduler.schedule(Promise.resolve(), `${worker} ${what}`);
            await turn('open');
            const found = await ledger.open(row, 1);
            await turn('reconcile');
            if (found.state === 'sending') await ledger.settle(row.id, found.epoch, 'unknown', null, 2);
            await turn('begin');
            const epoch = await ledger.begin(row.id, 2);
            if (epoch === undefined) return;
            log.push('send');
            await turn('send');
            if (end === 'crash') return;
            if (end === 'pending') log.push('deferred');
            await turn('settle');
            await ledger.settle(row.id, epoch, end, null, 3);
          });
          await scheduler.waitFor(Promise.all(work));
          expect(log.length).toBeGreaterThan(0);
          expect(log.join(' ')).not.toMatch(/send send/);
        },
      ),
      cases(150),
    );
  });
});

test("a delivery id is stable, unique and starts with the run's hash tag", () => {
  const run = 'a'.repeat(32);
  const id = deliveryId(run, '0-email', 'lead@acme.example');
  expect(id).toMatch(/^a{16}[0-9a-f]{16}$/);
  expect(deliveryId(run, '0-email', 'lead@acme.example')).toBe(id);
  const others = [
    deliveryId(`${'a'.repeat(31)}b`, '0-email', 'lead@acme.example'),
    deliveryId(run, '1-email', 'lead@acme.example'),
    deliveryId(run, '0-email', 'ops@acme.example'),
  ];
  expect(new Set([id, ...others]).size).toBe(4);
  expect([hashTagOfDelivery(id), hashTagOfRun(run)]).toEqual(['a'.repeat(16), 'a'.repeat(16)]);
  expect(hashTagOfDelivery(deliveryId('run-7', '0-email', 'lead@acme.example'))).toBe(hashTagOfRun('run-7'));
});

test('a notice has the same id for all spellings of the address, and another one while the run is held', () => {
  const run = 'a'.repeat(32);
  const notice = noticeId(run, 'Ops@acme.example', false);
  expect(notice).toBe(deliveryId(run, 'notice', 'ops@acme.example'));
  expect(noticeId(run, 'ops@ACME.example', false)).toBe(notice);
  const held = noticeId(run, 'Ops@acme.example', true);
  expect(held).not.toBe(notice);
  expect(noticeId(run, 'ops@ACME.example', true)).toBe(held);
  expect(noticeId(run, 'lead@acme.example', true)).not.toBe(held);
});

test('the text of a decision has its action, author and reason', () => {
  expect(resolutionText({ to: 'sent', by: 'ops', reason: 'she has it' })).toBe('Declared sent by ops: she has it');
  expect(resolutionText({ to: 'pending', by: 'ops', reason: 'she has not' })).toBe(
    'To be sent again, decided by ops: she has not',
  );
});
