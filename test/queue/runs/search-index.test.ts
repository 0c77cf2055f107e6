import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { DAY_MS } from '../../../src/base/time.ts';
import { deliveryId, type NewDelivery } from '../../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../../src/deliver/ledger/redis-ledger.ts';
import type { DefinitionStore } from '../../../src/queue/definitions/definition-store.ts';
import { redisSearchIndex } from '../../../src/queue/runs/search-index.ts';
import { redisKeys } from '../../../src/redis/keys.ts';
import type { RunOrder } from '../../../src/run/run-record.ts';
import type { Deployment as Services } from '../../../src/services/deployment/deployment.ts';
import { listReceived, recipientTerm } from '../../../src/services/listings/received.ts';
import { NO_ARCHIVED } from '../../support/admin.ts';
import { fake } from '../../support/fake.ts';
import { cases } from '../../support/fuzz.ts';
import { openRowAsBefore, openRunAsBefore } from '../../support/older-writers.ts';
import { anOrder, openQueueHarness, type QueueHarness, randomPrefix } from '../../support/queue-harness.ts';

const KEEP_DAYS = 90;
let queueHarness: QueueHarness;
beforeAll(async () => {
  queueHarness = await openQueueHarness();
});
afterAll(() => queueHarness.close());

/** Runs, ledger and index under their own prefix. */
async function deployment(prefix = randomPrefix()) {
  const harness = await openQueueHarness(undefined, prefix);
  const redis = harness.producer;
  const ledger = redisLedger(redis, { prefix: `${prefix}:`, ttlDays: KEEP_DAYS });
  const index = () => redisSearchIndex(redis, { prefix, keepDays: KEEP_DAYS, log: silentLog });
  const definitions = fake<DefinitionStore>({ get: async () => undefined });
  const stores = fake<Services>({ runs: harness.runs, ledger, definitions, searchIndex: index() });
  const ports = { ...stores, archivedDeliveries: NO_ARCHIVED };
  const received = async (to: string, orgs: readonly string[] | '*' = '*') =>
    (await listReceived({ orgs, to, limit: 500 }, ports)).deliveries.map(({ row }) => row.id).sort();
  return { ...harness, prefix, redis, keys: redisKeys(prefix), ledger, index, received };
}
type Deployment = Awaited<ReturnType<typeof deployment>>;

const rowOf = ({ id: run, org, report }: RunOrder, recipient: string, target = '0-email'): NewDelivery => ({
  id: deliveryId(run, target, recipient.toLowerCase()),
  run,
  org,
  report,
  target,
  recipient,
});

const RECIPIENTS = ['board@acme.example', 'Board@Acme.example', 'keyboard@acme.example', 's3://rep*rts/acme/2026-W46/'];
const DAYS = ['2026-09-28', '2026-10-01', '2026-10-26', '2026-11-02'];

/** A step of a random history. */
type Step =
  | { do: 'run'; org: string; day: string; older: boolean }
  | { do: 'row'; run: number; recipient: string; older: boolean }
  | { do: 'settle' | 'expire'; run: number }
  | { do: 'search' | 'repair' | 'lose recipients' | 'lose days' };
const nth = fc.nat({ max: 20 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('run' as const),
    org: fc.constantFrom('acme', 'acme-eu'),
    day: fc.constantFrom(...DAYS),
    older: fc.boolean(),
  }),
  fc.record({
    do: fc.constant('row' as const),
    run: nth,
    recipient: fc.constantFrom(...RECIPIENTS),
    older: fc.boolean(),
  }),
  fc.record({ do: fc.constantFrom('settle' as const, 'expire' as const), run: nth }),
  fc.record({
    do: fc.constantFrom('search' as const, 'repair' as const, 'lose recipients' as const, 'lose days' as const),
  }),
);

const deleteKeys = async ({ redis }: Deployment, pattern: string) => {
  const found = await redis.keys(pattern.replace(/[{}]/g, '?'));
  if (found.length > 0) await redis.del(...found);
};

async function take(own: Deployment, orders: RunOrder[], each: Step): Promise<void> {
  const { redis, prefix, runs, ledger, keys } = own;
  const orderOf = (index: number) => orders[index % Math.max(1, orders.length)];
  if (each.do === 'run') {
    const period = { from: each.day, to: each.day, timezone: 'UTC', label: each.day };
    const order = anOrder({ org: each.org, period, slot: `trigger:${orders.length}`, createdAt: Date.now() });
    orders.push(order);
    if (each.older) await openRunAsBefore(redis, prefix, order, KEEP_DAYS * DAY_MS);
    else await runs.open(order);
  } else if (each.do === 'row') {
    const order = orderOf(each.run);
    if (order === undefined) return;
    const row = rowOf(order, each.recipient);
    if (each.older) await openRowAsBefore(redis, prefix, row, Date.now());
    else await ledger.open(row, Date.now());
  } else if (each.do === 'settle') {
    const [row] = await ledger.list(orderOf(each.run)?.id ?? '0'.repeat(32));
    const epoch = row && (await ledger.begin(row.id, Date.now()));
    if (row && epoch !== undefined) await ledger.settle(row.id, epoch, 'sent', '250', Date.now());
  } else if (each.do === 'expire') {
    const order = orderOf(each.run);
    if (order) await redis.del(`${prefix}:deliveries:{${order.id.slice(0, 16)}}`);
  } else if (each.do === 'search') await own.index().refresh();
  else if (each.do === 'repair') await own.index().repair();
  else if (each.do === 'lose recipients') {
    await redis.del(keys.recipients);
    await deleteKeys(own, `${prefix}:to:*`);
  } else {
    await redis.del(keys.firstDays);
    await deleteKeys(own, `${prefix}:begins:*`);
  }
}

describe('the search indexes', () => {
  test('agree with the ledger and the records, whatever older and newer processes wrote', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const own = await deployment();
        try {
          const orders: RunOrder[] = [];
          for (const each of steps) await take(own, orders, each);
          const rows = (await Promise.all(orders.map(({ id }) => own.ledger.list(id)))).flat();
          for (const [text, orgs] of [
            ['BOARD@', '*'],
            ['board@', ['acme']],
            ['S3://rep*rts', '*'],
            ['example', ['acme-eu', 'acme']],
          ] as const) {
            const inLedger = rows.filter(
              ({ org, recipient }) =>
                (orgs === '*' || orgs.some((each) => each === org)) &&
                recipientTerm(recipient).includes(text.toLowerCase()),
            );
            expect(await own.received(text, orgs), text).toEqual(inLedger.map(({ id }) => id).sort());
          }
          await own.index().refresh();
          const begins = { from: '2026-10-01', to: '2026-10-31' };
          const inRecords = orders.filter(({ period: { from } }) => from >= begins.from && from <= begins.to);
          expect((await own.runs.list({ begins, limit: 100 })).map(({ id }) => id).sort()).toEqual(
            inRecords.map(({ id }) => id).sort(),
          );
          expect((await own.runs.listAndCount({ begins, limit: 1 }, 100)).total).toBe(inRecords.length);
          const reports = new Set(orders.map(({ org, report }) => `${org}/${report}`));
          expect([...(await own.index().reports())].sort()).toEqual([...reports].sort());
        } finally {
          await own.close();
        }
      }),
      cases(120),
    );
  });

  test('find a complete address exactly and regardless of case, and part of an address wherever it occurs', async () => {
    const own = await deployment();
    const order = anOrder();
    await own.runs.open(order);
    const rows = ['board@acme.example', 'keyboard@acme.example'].map((recipient) => rowOf(order, recipient));
    for (const row of rows) await own.ledger.open(row, Date.now());
    expect(await own.received('Board@ACME.example')).toEqual([rows[0]?.id]);
    expect(await own.received('board@acme')).toEqual(rows.map(({ id }) => id).sort());
    expect(await own.received('*')).toEqual([]);
    await own.close();
  });

  test('are rebuilt by the next search after an interrupted rebuild', async () => {
    const own = await deployment();
    const orders = Array.from({ length: 700 }, (_, index) =>
      anOrder({ slot: `trigger:${index}`, createdAt: 1000 + index }),
    );
    for (const order of orders) await openRunAsBefore(own.redis, own.prefix, order, Date.now());
    for (const order of [orders[0], orders[699]].flatMap((each) => each ?? [])) {
      await openRowAsBefore(own.redis, own.prefix, rowOf(order, 'board@acme.example'), Date.now());
    }
    let scripts = 0;
    const dying = new Proxy(own.redis, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (name === 'evalsha') scripts += 1;
        if (name === 'evalsha' && scripts > 2) return () => Promise.reject(new Error('killed'));
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const cut = redisSearchIndex(dying, { prefix: own.prefix, keepDays: KEEP_DAYS, log: silentLog });
    await expect(cut.refresh()).rejects.toThrow();
    expect(await own.received('board@')).toHaveLength(2);
    await own.close();
  });

  test('find a delivery that an older version added to an old run, after the periodic repair', async () => {
    const own = await deployment();
    const old = anOrder({ createdAt: Date.now() - 10_000 });
    await own.runs.open(old);
    await own.runs.update(old.id, { state: 'held' });
    for (let index = 0; index < 200; index += 1) await own.runs.open(anOrder({ slot: `trigger:${index}` }));
    await own.index().refresh();
    const row = rowOf(old, 'late@acme.example');
    await openRowAsBefore(own.redis, own.prefix, row, Date.now());
    expect(await own.index().repair()).toBe(1);
    expect(await own.index().repair()).toBe(0);
    expect(await own.received('late@')).toEqual([row.id]);
    await own.close();
  });

  test('make a search fail soon while another process builds them, and find everything afterwards', async () => {
    const own = await deployment();
    const order = anOrder();
    await openRunAsBefore(own.redis, own.prefix, order, KEEP_DAYS * DAY_MS);
    const row = rowOf(order, 'board@acme.example');
    await openRowAsBefore(own.redis, own.prefix, row, Date.now());
    // Another process is building them.
    await own.redis.set(own.keys.indexing, 'another', 'PX', 60_000);
    const hasty = redisSearchIndex(own.redis, {
      prefix: own.prefix,
      keepDays: KEEP_DAYS,
      log: silentLog,
      maxWaitMs: 1,
    });
    await expect(hasty.refresh()).rejects.toMatchObject({ code: 'search.not_ready', retryable: true });
    await own.redis.del(own.keys.indexing);
    expect(await own.received('board@')).toEqual([row.id]);
    await own.close();
  });

  test('get the same recipient from the script as from the code', async () => {
    const own = await deployment();
    const order = anOrder();
    const part = fc.oneof(
      fc.constantFrom('s3://', '/', '//', '2026-W46', 'É', 'acme', '.', '@', ':', '%'),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 6 }), async (parts) => {
        const recipient = parts.join('');
        await own.redis.del(own.keys.recipients);
        await own.ledger.open(rowOf(order, recipient), Date.now());
        expect(await own.redis.zrange(own.keys.recipients, 0, '-1')).toEqual([`acme/${recipientTerm(recipient)}`]);
      }),
      cases(300),
    );
    expect(recipientTerm('S3://Reports/acme/2026-W46/')).toBe('s3://reports/acme');
    expect(recipientTerm('sftp://host2:2222/in/')).toBe('sftp://host2:2222/in');
    await own.close();
  });

  test('lose an entry with its rows, and a recipient with its last entry', async () => {
    const own = await deployment();
    const now = Date.now();
    const [gone, kept, fresh] = [100, 95, 0].map((days) =>
      anOrder({ createdAt: now - days * DAY_MS, slot: `${days}` }),
    );
    for (const order of [gone, kept, fresh].flatMap((each) => each ?? [])) await own.runs.open(order);
    const name = 'acme/board@acme.example';
    const open = async (order = anOrder()) => {
      const row = rowOf(order, 'board@acme.example');
      await own.ledger.open(row, order.createdAt);
      return order.id;
    };
    const [first, second] = [await open(gone), await open(kept)];
    // Rows of a run that was decided late outlive the run's age limit.
    await own.redis.del(`${own.prefix}:deliveries:{${first.slice(0, 16)}}`);
    await own.redis.zadd(own.keys.recipients, now - 200 * DAY_MS, 'acme/left@acme.example');
    await open(kept);
    expect(await own.redis.zrange(own.keys.deliveredTo(name), 0, '-1'), 'under a legal hold').toEqual([first, second]);
    await own.redis.set(own.keys.unheld, '1');
    const third = await open(fresh);
    expect(await own.redis.zrange(own.keys.deliveredTo(name), 0, '-1')).toEqual([second, third]);
    expect(await own.redis.zrange(own.keys.recipients, 0, '-1')).toEqual([name]);
    const days = (await own.redis.pttl(own.keys.deliveredTo(name))) / DAY_MS;
    expect([days > 179, days <= 180]).toEqual([true, true]);
    await own.close();
  });
});
