import { Redis } from 'ioredis';
import { afterAll, expect, inject, test } from 'vitest';
import type { DeliverySpec } from '../../src/define/definition.ts';
import { redisSentFigures, type SentFigures } from '../../src/deliver/sent-figures.ts';
import type { Column, Row, Table } from '../../src/fetch/dataset.ts';
import { decide, figuresOf } from '../../src/run/conditions.ts';

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
const table = (id: string, rows: readonly Row[], more: Partial<Table> = {}): Table => ({
  id,
  title: id,
  granularity: null,
  current: false,
  range: null,
  compared: false,
  compareRange: null,
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
  const { conditions } = await decide(of, report(to(send_if)), undefined);
  return conditions[0];
};

test.each<[string, boolean, string]>([
  ['alerts.open > 10', true, 'alerts.open is 12, which is > 10.'],
  ['alerts.open > 12', false, 'None of 2 figures of alerts.open is > 12.'],
  ['queue:alerts.open = 3', true, 'alerts.open is 3, which is = 3.'],
  ['other:alerts.open = 3', false, 'None of 0 figures of alerts.open is = 3.'],
  ['non_empty', true, 'queue is not empty.'],
  ['changed', true, 'No earlier delivery is known here.'],
])('%s of a table with rows', async (send_if, send, reason) => {
  expect(await decided(QUEUE, send_if)).toEqual({
    target: '0-email',
    recipient: 'a@acme.example',
    send_if,
    send,
    reason,
  });
});

test("a section's totals are what is compared where it has them, and an undefined figure meets nothing", async () => {
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

test('figures are the same whenever they were computed and however they are called, and differ by any value, row, total or comparison', () => {
  const rows = [row({ team: 'a', 'alerts.open': 3 })];
  const base = figuresOf(dataset(table('q', rows)));
  expect(figuresOf(dataset(table('q', rows, { asOf: null, title: 'Other' })))).toBe(base);
  const others = [
    table('p', rows),
    table('q', []),
    table('q', [...rows, ...rows]),
    table('q', [row({ team: 'a', 'alerts.open': 4 })]),
    table('q', [row({ team: 'a', 'alerts.open': null })]),
    table('q', [row({ team: 'a', 'alerts.open': '3' })]),
    table('q', [{ ...row({ team: 'a', 'alerts.open': 3 }), compare: { 'alerts.open': 1 } }]),
    table('q', rows, { totals: { values: { 'alerts.open': 3 } } }),
  ].map((each) => figuresOf(dataset(each)));
  expect(new Set([base, ...others]).size).toBe(others.length + 1);
});

test('changed compares with what this recipient of this report got last, and with nobody else', async () => {
  const sent: SentFigures = redisSentFigures(redis, { prefix });
  const both = report(to('changed', ['a@acme.example', 'B@acme.example']));
  const figures = figuresOf(QUEUE);
  const place = { org: 'acme', report: 'weekly', target: '0-email', recipient: 'a@acme.example' };
  await sent.sent(place, { figures, run: 'r1', at: Date.UTC(2026, 10, 9) });
  const { conditions } = await decide(QUEUE, both, sent);
  expect(conditions.map(({ recipient, send, reason }) => [recipient, send, reason])).toEqual([
    ['a@acme.example', false, 'The figures are the same as those of run r1, sent 2026-11-09T00:00:00.000Z.'],
    ['b@acme.example', true, 'No earlier delivery is known here.'],
  ]);
  const next = dataset(table('queue', []));
  expect((await decide(next, both, sent)).conditions[0]).toMatchObject({
    send: true,
    reason: expect.stringContaining('differ'),
  });
  expect((await decide(QUEUE, { ...both, org: 'other' }, sent)).conditions[0]).toMatchObject({ send: true });
  expect(await redis.ttl(`${prefix}figures:{acme/weekly}`)).toBeGreaterThan(86_400 * 366);
});

test('a run that may have delivered others leaves a doubt, which only its own word or a later certain delivery ends', async () => {
  const sent = redisSentFigures(redis, { prefix: `${prefix}doubt:` });
  const place = { org: 'acme', report: 'weekly', target: '0-email', recipient: 'a@acme.example' };
  const figures = figuresOf(QUEUE);
  const sends = async () => (await decide(QUEUE, report(to('changed')), sent)).conditions[0]?.send;
  await sent.sent(place, { figures, run: 'r1', at: 100 });
  expect(await sends()).toBe(false);
  await sent.begin(place, 'r2', 200);
  expect(await sends()).toBe(true);
  // Another run comes and goes meanwhile: what r2 sends may still come after it.
  await sent.begin(place, 'r3', 300);
  await sent.sent(place, { figures, run: 'r3', at: 310 });
  expect(await sent.last(place)).toEqual({ sent: { figures, run: 'r3', at: 310 }, perhaps: 'r2' });
  await sent.unknown(place, 'r2', 320);
  expect(await sends()).toBe(true);
  await sent.sent(place, { figures, run: 'r4', at: 330 });
  expect(await sends()).toBe(false);
  // A retry of the first run tells of what is long past.
  await sent.begin(place, 'r1', 400);
  await sent.sent(place, { figures: 'old', run: 'r1', at: 100 });
  expect(await sent.last(place)).toEqual({ sent: { figures, run: 'r4', at: 330 }, perhaps: undefined });
  await sent.begin(place, 'r5', 500);
  await sent.unsent(place, 'r5');
  expect(await sends()).toBe(false);
});
