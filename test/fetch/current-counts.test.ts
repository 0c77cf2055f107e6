import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CurrentCountsWindow, withoutCurrentCounts } from '../../src/fetch/current-counts.ts';
import { fetchDataset } from '../../src/fetch/fetch-dataset.ts';
import { incompleteNotes } from '../../src/fetch/notes.ts';
import { compilePlan } from '../../src/plan/compile.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, NOW, openSandbox } from '../support/fetch-harness.ts';
import { manualClock } from '../support/manual-clock.ts';
import { definitionOf, type SectionInput, settingsOf, WEEK } from '../support/reports.ts';
import { rowsOf } from '../support/rows.ts';

const SECTIONS: SectionInput[] = [
  { id: 'days', metrics: ['profiles.created'], granularity: 'day' },
  { id: 'open', title: 'Open', metrics: ['alerts.open', 'rfis.open'], totals: true },
  { id: 'types', metrics: ['alerts.open'], dimensions: ['alert.type'] },
];
const DUE = new Date(NOW).toISOString();

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox.close());

async function start(sections = SECTIONS) {
  const clock = manualClock(NOW);
  const context = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'), { clock });
  const catalog = await context.client.catalog('current', context.signal);
  const plan = compilePlan({ definition: definitionOf(sections), settings: settingsOf(), period: WEEK, catalog });
  const before = sandbox.requests().length;
  const calls = () => sandbox.requests().length - before;
  const fetch = async (counts: CurrentCountsWindow | undefined, requested = plan) =>
    doneOf(await fetchDataset({ ...context, plan: requested, catalog, organization: 'x', counts }));
  return { clock, plan, calls, fetch };
}

test('current counts are shown until their window ends; a later run shows them as undefined and says why', async () => {
  const { fetch } = await start();
  const shown = await fetch({ until: NOW, why: 'late', due: DUE });
  expect(shown.tables.map(({ current, asOf }) => [current, asOf !== null])).toEqual([
    [false, true],
    [true, true],
    [true, true],
  ]);
  expect(rowsOf(shown.tables[1])[0]?.values).toEqual({
    'alerts.open': expect.any(Number),
    'rfis.open': expect.any(Number),
  });
  expect(shown.tables).toEqual((await fetch(undefined)).tables);

  const { fetch: lateFetch } = await start();
  const late = await lateFetch({ until: NOW - 1, why: 'late', due: DUE });
  const [days, open, types] = late.tables;
  expect(days).toEqual(shown.tables[0]);
  const nothing = { 'alerts.open': null, 'rfis.open': null };
  expect(open).toMatchObject({ id: 'open', title: 'Open', current: true, range: null, asOf: null });
  expect(open?.columns).toEqual(shown.tables[1]?.columns);
  expect(rowsOf(open)).toEqual([{ values: nothing, partial: false }]);
  expect(open?.totals).toEqual({ values: nothing });
  // The groups are not known either.
  expect(rowsOf(types)).toEqual([]);
  for (const table of [open, types]) {
    expect(table?.notes).toEqual([
      {
        code: 'undefined',
        message: { id: 'counts_undefined', of: { why: 'late', due: DUE, timezone: 'Europe/Zurich' } },
        incomplete: false,
      },
    ]);
  }
  expect(incompleteNotes(late)).toEqual([]);
});

test('a late attempt shows the current counts that an earlier attempt fetched in time', async () => {
  const { clock, calls, fetch } = await start();
  const counts: CurrentCountsWindow = { until: NOW + 1000, why: 'late', due: DUE };
  const first = await fetch(counts);
  const made = calls();
  clock.advance(3 * 86_400_000);
  expect((await fetch(counts)).tables).toEqual(first.tables);
  expect(calls()).toBe(made);
});

test('a backfill makes no calls for current counts', async () => {
  const { plan, calls, fetch } = await start();
  const counts: CurrentCountsWindow = { until: Number.NEGATIVE_INFINITY, why: 'backfill', due: DUE };
  const { tables, calls: asked } = await fetch(counts, withoutCurrentCounts(plan));
  expect([plan.calls.length, calls(), asked.map(({ sections }) => sections)]).toEqual([3, 1, [['days']]]);
  expect(tables.map(({ notes }) => notes.map(({ message }) => message.id))).toEqual([
    [],
    ['counts_undefined'],
    ['counts_undefined'],
  ]);

  const only = await start(SECTIONS.slice(1));
  expect((await only.fetch(counts, withoutCurrentCounts(only.plan))).tables).toEqual(tables.slice(1));
  expect(only.calls()).toBe(0);
});
