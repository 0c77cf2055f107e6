import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import type { DeliverySpec } from '../../src/definitions/schema/report-definition.ts';
import type { Manifest } from '../../src/deliver/archive/manifest.ts';
import { type LastSentFigures, redisLastSentFigures } from '../../src/deliver/last-sent-figures.ts';
import type { Ledger } from '../../src/deliver/ledger/ledger.ts';
import type { Column, Judgement, Row, Status, Table } from '../../src/fetch/dataset.ts';
import { statusesByFigure } from '../../src/render/figures/current-statuses.ts';
import { hashFigures } from '../../src/render/hash-figures.ts';
import { evaluateConditions } from '../../src/run/delivery-conditions.ts';
import { deliverAndRecordFigures } from '../../src/run/previous-figures.ts';
import { fake } from '../support/fake.ts';

const redis = new Redis(inject('redisUrl'));
const prefix = `test-conditions-${process.pid}:`;
afterAll(async () => {
  const keys = await redis.keys(`${prefix}*`);
  if (keys.length > 0) await redis.del(...keys);
  redis.disconnect();
});

const column = (name: string, kind: Column['kind']): Column => ({
  name,
  label: name,
  kind,
  type: 'integer',
  unit: 'count',
});
const row = (values: Row['values']): Row => ({ values, partial: false });
const previous = (open: number | null): NonNullable<Row['compare']> => ({
  previous_period: { values: { 'alerts.open': open } },
});
const table = (id: string, rows: readonly Row[], more: Partial<Table> = {}): Table => ({
  id,
  title: id,
  granularity: null,
  current: false,
  period: { from: '2026-11-09', to: '2026-11-15', timezone: 'UTC', label: 'x' },
  range: null,
  comparisons: [],
  asOf: '2026-11-16T07:00:00Z',
  running: false,
  columns: [column('team', 'dimension'), column('alerts.open', 'metric')],
  rows,
  filters: [],
  notes: [],
  ...more,
});
const dataset = (...tables: Table[]) => ({ tables });
const QUEUE = dataset(table('queue', [row({ team: 'a', 'alerts.open': 3 }), row({ team: 'b', 'alerts.open': 12 })]));
const to = (send_if: string, recipients = ['a@acme.example']): DeliverySpec => ({
  email: { to: recipients, attach: [] },
  send_if,
});
const report = (...deliveries: DeliverySpec[]) => ({ org: 'acme', report: 'weekly', deliveries });

const decided = async (of: { tables: readonly Table[] }, send_if: string) => {
  const { conditions } = await evaluateConditions(of, report(to(send_if)), undefined);
  return conditions[0];
};

test.each<[string, boolean, string]>([
  ['alerts.open > 10', true, 'alerts.open is 12, which is > 10.'],
  ['alerts.open > 12', false, 'None of 2 figures of alerts.open is > 12.'],
  ['queue:alerts.open = 3', true, 'alerts.open is 3, which is = 3.'],
  ['other:alerts.open = 3', false, 'None of 0 figures of alerts.open is = 3.'],
  ['non_empty', true, 'queue is not empty.'],
  ['changed', true, 'No earlier delivery on record.'],
])('%s is decided, with its reason, from the figures of a table', async (send_if, send, reason) => {
  expect(await decided(QUEUE, send_if)).toEqual({
    target: '0-email',
    recipient: 'a@acme.example',
    send_if,
    send,
    reason,
  });
});

test('a comparison uses the totals of a section that has them, and an undefined figure meets no comparison', async () => {
  const rows = [row({ team: 'a', 'alerts.open': 5 })];
  expect(
    await decided(dataset(table('queue', rows, { totals: { values: { 'alerts.open': 50 } } })), 'alerts.open > 10'),
  ).toMatchObject({ send: true });
  expect(
    await decided(dataset(table('queue', rows, { totals: { values: { 'alerts.open': null } } })), 'alerts.open != 1'),
  ).toMatchObject({ send: false });
});

test.each<[string, Table[], boolean]>([
  ['a list without rows', [table('list', [], { columns: [column('id', 'field')] })], false],
  ['a list with a row', [table('list', [row({ id: 1 })], { columns: [column('id', 'field')] })], true],
  [
    'metrics that are all 0 or undefined',
    [table('q', [row({ 'alerts.open': 0 }), row({ 'alerts.open': null })])],
    false,
  ],
  ['an empty list and a metric', [table('l', [], { columns: [] }), table('q', [row({ 'alerts.open': 1 })])], true],
])('non_empty: %s', async (_, tables, send) => {
  expect(await decided(dataset(...tables), 'non_empty')).toMatchObject({ send });
});

test('a condition on a deprecated metric is judged by the metric that replaced it in the table', async () => {
  const message = {
    id: 'replaced',
    of: { from: { id: 'alerts.pending', label: 'Pending' }, to: { id: 'alerts.open', label: 'Open' } },
  } as const;
  const notes = [{ code: 'deprecated', message, incomplete: false }] as const;
  const followed = dataset(table('queue', [row({ team: 'a', 'alerts.open': 12 })], { notes }));
  expect(await decided(followed, 'alerts.pending > 10')).toMatchObject({ send: true });
  expect(await decided(followed, 'queue:alerts.pending > 12')).toMatchObject({ send: false });
  expect(await decided(QUEUE, 'alerts.pending > 10')).toMatchObject({ send: false });
});

test('the hash of figures ignores their time and titles, and changes with any value, row, total or comparison', async () => {
  const rows = [row({ team: 'a', 'alerts.open': 3 })];
  const base = await hashFigures(dataset(table('q', rows)));
  expect(await hashFigures(dataset(table('q', rows, { asOf: null, title: 'Other' })))).toBe(base);
  const tables = [
    table('p', rows),
    table('q', []),
    table('q', [...rows, ...rows]),
    table('q', [row({ team: 'a', 'alerts.open': 4 })]),
    table('q', [row({ team: 'a', 'alerts.open': null })]),
    table('q', [row({ team: 'a', 'alerts.open': '3' })]),
    table('q', [{ ...row({ team: 'a', 'alerts.open': 3 }), compare: previous(1) }]),
    table('q', [
      { ...row({ team: 'a', 'alerts.open': 3 }), compare: { previous_year: { values: { 'alerts.open': 1 } } } },
    ]),
    table('q', [{ ...row({ team: 'a', 'alerts.open': 3 }), toDate: { 'alerts.open': 1 } }]),
    table('q', rows, { totals: { values: { 'alerts.open': 3 } } }),
  ];
  const others = await Promise.all(tables.map((each) => hashFigures(dataset(each))));
  expect(new Set([base, ...others]).size).toBe(others.length + 1);
});

test('the hash of figures is the one that the previous version computed', async () => {
  const rows = Array.from({ length: 600 }, (_, index): Row => {
    const values = { team: `t${index}`, 'alerts.open': index };
    return index % 2 === 0 ? { values, partial: false } : { values, compare: previous(null), partial: true };
  });
  const tables = [
    table('q', rows, { totals: { values: { 'alerts.open': 9 }, compare: previous(8) } }),
    table('empty', []),
  ];
  // The format of the previous version: one line a row, each passed to the hash separately.
  const hash = createHash('sha256');
  const names = ['team', 'alerts.open'];
  for (const { id, rows, totals } of tables) {
    if ('path' in rows) throw new Error('rows in memory');
    hash.update(`${JSON.stringify([id, names])}\n`);
    for (const { values, compare } of [...rows, ...(totals === undefined ? [] : [totals])]) {
      const of = (from: Readonly<Record<string, unknown>>) => names.map((name) => from[name] ?? null);
      hash.update(`${JSON.stringify([of(values), compare?.previous_period && of(compare.previous_period.values)])}\n`);
    }
    hash.update('\n');
  }
  expect(await hashFigures(dataset(...tables))).toBe(hash.digest('hex'));
});

describe('a table of many rows', () => {
  const ROWS = 5_000;
  const many = (value: (index: number) => number) =>
    Array.from({ length: ROWS }, (_, index) => row({ team: 'a', 'alerts.open': value(index) }));
  /** How often other work gets a turn: every few hundred rows. */
  const OFTEN = ROWS / 500;
  test('is not read when no delivery has a condition', async () => {
    const looked = table('q', []);
    const untouched = new Proxy(looked, {
      get: (_, field) => {
        throw new Error(`${String(field)} was read`);
      },
    });
    const deliveries: DeliverySpec[] = [{ email: { to: ['a@acme.example'], attach: [] } }];
    expect(await evaluateConditions(dataset(untouched), report(...deliveries), undefined)).toEqual({ conditions: [] });
  });

  test.each([
    ['changed', () => 1],
    ['alerts.open > 10', () => 1],
    ['non_empty', () => 0],
  ])('lets other work run while it is read for %s', async (send_if, value) => {
    let counted = 0;
    const turn = async () => {
      counted += 1;
    };
    const decidedOn = await evaluateConditions(dataset(table('q', many(value))), report(to(send_if)), undefined, turn);
    expect(decidedOn).toMatchObject({ figures: expect.stringMatching(/^[0-9a-f]{64}$/), conditions: [{ send_if }] });
    expect(counted).toBeGreaterThanOrEqual(OFTEN * (send_if === 'changed' ? 1 : 2));
  });

  test('is not read again when the render thread has already hashed its figures', async () => {
    const unread = async () => expect.unreachable('rows were read');
    const long = dataset(
      table(
        'q',
        many(() => 1),
      ),
    );
    const figures = 'f'.repeat(64);
    expect(await evaluateConditions(long, report(to('changed')), undefined, unread, undefined, figures)).toMatchObject({
      figures,
      conditions: [{ send: true }],
    });
  });

  test('lets the event loop turn while it is hashed', async () => {
    let turned = 0;
    let over = false;
    const count = () => {
      turned += 1;
      if (!over) setImmediate(count);
    };
    setImmediate(count);
    await hashFigures(
      dataset(
        table(
          'q',
          many((index) => index),
        ),
      ),
    );
    over = true;
    expect(turned).toBeGreaterThanOrEqual(OFTEN);
  });

  test('is not read further once the run is stopped', async () => {
    const stop = new Error('stopped');
    let requestCount = 0;
    const turn = async () => {
      requestCount += 1;
      throw stop;
    };
    await expect(
      evaluateConditions(
        dataset(
          table(
            'q',
            many(() => 1),
          ),
        ),
        report(to('changed')),
        undefined,
        turn,
      ),
    ).rejects.toBe(stop);
    expect(requestCount).toBe(1);
  });

  test('is read once for all recipients of a delivery', async () => {
    const count = async (recipients: string[]) => {
      let counted = 0;
      const turn = async () => {
        counted += 1;
      };
      await evaluateConditions(
        dataset(
          table(
            'q',
            many(() => 1),
          ),
        ),
        report(to('alerts.open > 10', recipients)),
        undefined,
        turn,
      );
      return counted;
    };
    const one = await count(['a@acme.example']);
    expect(one).toBeGreaterThan(0);
    expect(await count(['a@acme.example', 'b@acme.example', 'c@acme.example'])).toBe(one);
  });
});

test('changed compares with the figures that this recipient last got of this report, and with nobody else’s', async () => {
  const sent: LastSentFigures = redisLastSentFigures(redis, { prefix });
  const both = report(to('changed', ['a@acme.example', 'B@acme.example']));
  const figures = await hashFigures(QUEUE);
  const place = { org: 'acme', report: 'weekly', target: '0-email', recipient: 'a@acme.example' };
  await sent.recordSent(place, { figures, run: 'r1', at: Date.UTC(2026, 10, 9) });
  const { conditions } = await evaluateConditions(QUEUE, both, sent);
  expect(conditions.map(({ recipient, send, reason }) => [recipient, send, reason])).toEqual([
    ['a@acme.example', false, 'The figures are the same as those of run r1, sent 2026-11-09T00:00:00.000Z.'],
    ['b@acme.example', true, 'No earlier delivery on record.'],
  ]);
  const next = dataset(table('queue', []));
  expect((await evaluateConditions(next, both, sent)).conditions[0]).toMatchObject({
    send: true,
    reason: expect.stringContaining('differ'),
  });
  expect((await evaluateConditions(QUEUE, { ...both, org: 'other' }, sent)).conditions[0]).toMatchObject({
    send: true,
  });
  expect(await redis.ttl(`${prefix}figures:{acme/weekly}`)).toBeGreaterThan(86_400 * 366);
});

test('changed sends while another run may have delivered other figures, until that run or a later delivery is certain', async () => {
  const sent = redisLastSentFigures(redis, { prefix: `${prefix}doubt:` });
  const place = { org: 'acme', report: 'weekly', target: '0-email', recipient: 'a@acme.example' };
  const figures = await hashFigures(QUEUE);
  const sends = async () => (await evaluateConditions(QUEUE, report(to('changed')), sent)).conditions[0]?.send;
  await sent.recordSent(place, { figures, run: 'r1', at: 100 });
  expect(await sends()).toBe(false);
  await sent.recordStart(place, 'r2', 200);
  expect(await sends()).toBe(true);
  // Another run starts and ends in between. What r2 sends may still arrive after it.
  await sent.recordStart(place, 'r3', 300);
  await sent.recordSent(place, { figures, run: 'r3', at: 310 });
  expect(await sent.last(place)).toEqual({ sent: { figures, run: 'r3', at: 310 }, uncertainRun: 'r2' });
  await sent.recordUncertain(place, 'r2', 320);
  expect(await sends()).toBe(true);
  await sent.recordSent(place, { figures, run: 'r4', at: 330 });
  expect(await sends()).toBe(false);
  // A retry of the first run reports something older than the last delivery.
  await sent.recordStart(place, 'r1', 400);
  await sent.recordSent(place, { figures: 'old', run: 'r1', at: 100 });
  expect(await sent.last(place)).toEqual({ sent: { figures, run: 'r4', at: 330 }, uncertainRun: undefined });
  await sent.recordStart(place, 'r5', 500);
  await sent.recordNotSent(place, 'r5');
  expect(await sends()).toBe(false);
});

const judged = (status: Status, more: Partial<Judgement> = {}): Judgement => ({
  section: 'queue',
  metric: 'alerts.open',
  bucket: null,
  group: null,
  figure: 12,
  status,
  target: 0,
  ...more,
});

test.each<[string, readonly Judgement[], boolean]>([
  ['breached', [judged('breached')], true],
  ['breached', [judged('watch')], false],
  ['breached', [], false],
  ['watch', [judged('watch')], true],
  ['watch', [judged('breached')], true],
  ['watch', [judged('on_target'), judged('undefined', { metric: 'x' })], false],
  // Only the latest bucket counts.
  ['breached', [judged('breached', { bucket: '2026-10-01' }), judged('on_target', { bucket: '2026-11-01' })], false],
])('%s with the judgements %j is met: %s', async (send_if, judgements, send) => {
  const { conditions } = await evaluateConditions({ ...QUEUE, judgements }, report(to(send_if)), undefined);
  expect(conditions[0]?.send).toBe(send);
});

test('status_changed sends once per crossing, compared with what this recipient last got', async () => {
  const sent = redisLastSentFigures(redis, { prefix: `${prefix}status:` });
  const place = { org: 'acme', report: 'weekly', target: '0-email', recipient: 'a@acme.example' };
  let run = 0;
  /** A run that delivers if its condition is met. Returns whether it was. */
  const runWith = async (...judgements: Judgement[]): Promise<boolean | undefined> => {
    run += 1;
    const id = `r${run}`;
    const { conditions, figures } = await evaluateConditions(
      { ...QUEUE, judgements },
      report(to('status_changed')),
      sent,
    );
    if (conditions[0]?.send && figures !== undefined) {
      await sent.recordStart(place, id, run * 100);
      await sent.recordSent(place, { figures, run: id, at: run * 100, statuses: statusesByFigure(judgements) });
    }
    return conditions[0]?.send;
  };
  expect(await runWith(judged('on_target'))).toBe(true);
  expect(await runWith(judged('on_target'))).toBe(false);
  expect(await runWith(judged('breached'))).toBe(true);
  expect(await runWith(judged('breached', { figure: 99 }))).toBe(false);
  expect(await runWith(judged('watch'))).toBe(true);
  expect(await runWith(judged('watch'), judged('on_target', { metric: 'new' }))).toBe(false);
  expect(await runWith(judged('watch'), judged('breached', { metric: 'new' }))).toBe(true);
  // A group without a row counts as recovered: its next breach is another crossing.
  expect(await runWith(judged('watch'))).toBe(true);
  expect(await runWith(judged('watch'))).toBe(false);
  expect(await runWith(judged('watch'), judged('breached', { metric: 'new' }))).toBe(true);
  expect(await runWith(judged('watch'), judged('undefined', { metric: 'new' }))).toBe(true);
  expect(await runWith(judged('watch'))).toBe(false);
  // After a run that may have delivered, or a record without statuses, nobody knows what was sent: the report is sent.
  await sent.recordStart(place, 'lost', 10_000);
  expect(await runWith(judged('watch'))).toBe(true);
  await sent.recordSent(place, { figures: 'f', run: 'old', at: 20_000 });
  expect(await runWith(judged('watch'))).toBe(true);
});

describe('a figure that cannot be right', () => {
  const wrong = judged('undefined', { figure: -5, wrong: true });

  test.each([['breached'], ['watch'], ['status_changed']])('meets %s, and is given as the reason', async (send_if) => {
    const { conditions } = await evaluateConditions({ ...QUEUE, judgements: [wrong] }, report(to(send_if)), undefined);
    expect(conditions[0]).toMatchObject({ send: true, reason: 'A figure cannot be right: alerts.open is -5.' });
  });

  test('meets any comparison of its own section and metric', async () => {
    const rows = [row({ team: 'a', 'alerts.open': -5 })];
    const of = dataset(
      table('queue', rows, { wrong: [{ metric: 'alerts.open', at: { bucket: null, group: ['a'] } }] }),
      table('other', [row({ team: 'a', 'alerts.open': 1 })]),
    );
    expect(await decided(of, 'queue:alerts.open > 10')).toMatchObject({ send: true });
    expect(await decided(of, 'other:alerts.open > 10')).toMatchObject({ send: false });
  });

  /** Delivers runs with these judgements one after the other. Returns the decision for each. */
  async function decisions(name: string, ...runs: (readonly Judgement[])[]): Promise<(boolean | undefined)[]> {
    const sent = redisLastSentFigures(redis, { prefix: `${prefix}${name}:` });
    const found: (boolean | undefined)[] = [];
    for (const [index, judgements] of runs.entries()) {
      const run = `r${index}`;
      const { conditions, figures } = await evaluateConditions(
        { ...QUEUE, judgements },
        report(to('status_changed')),
        sent,
      );
      const rows = [{ target: '0-email', recipient: 'a@acme.example', state: 'sent', at: index + 1, decisions: [] }];
      const manifest = { run, org: 'acme', report: 'weekly', figures, conditions, judgements } as unknown as Manifest;
      const ledger = fake<Ledger>({ list: async () => rows as never });
      await deliverAndRecordFigures(
        manifest,
        { sentFigures: sent, ledger, clock: { now: () => index + 1 } },
        async () => {},
      );
      found.push(conditions[0]?.send);
    }
    return found;
  }

  test('does not count as a recovery: a breached correct figure after it is no second crossing', async () => {
    const breached = [judged('breached')];
    expect(await decisions('again', breached, [wrong], breached, [judged('on_target')])).toEqual([
      true,
      true,
      false,
      true,
    ]);
  });

  test('has no status: the first correct figure that is breached is a crossing', async () => {
    expect(await decisions('first', [wrong], [judged('on_target')], [judged('breached')])).toEqual([true, false, true]);
  });
});
