import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Table } from '../../../src/fetch/dataset.ts';
import { fetchDataset } from '../../../src/fetch/fetch-dataset.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import { doneOf, fetchingFrom } from '../../support/fetch-harness.ts';
import { type HostileServer, hostileServer } from '../../support/hostile-server.ts';
import { notesIn } from '../../support/notes.ts';
import { definitionOf, settingsOf, WEEK } from '../../support/reports.ts';
import { rowsOf } from '../../support/rows.ts';
import { type Variations, variantService } from '../../support/variant-service.ts';

let server: HostileServer;
beforeEach(async () => {
  server = await hostileServer();
});
afterEach(() => server.close());

const outcomeOf = async (differences: Variations) => {
  server.behave(variantService(differences));
  const context = fetchingFrom(server.url, 'a.b');
  const catalog = await context.client.catalog('current', context.signal);
  const definition = definitionOf([{ id: 'all', metrics: ['profiles.created'], totals: true }], {
    compare: 'previous_period',
  });
  const plan = compilePlan({ definition, settings: settingsOf(), period: WEEK, catalog });
  return fetchDataset({ ...context, plan, organization: 'Acme Payments', catalog });
};
const tableOf = async (differences: Variations): Promise<Table> => {
  const [table] = doneOf(await outcomeOf(differences)).tables;
  if (table === undefined) throw new Error('expected a table');
  return table;
};

describe('a service with another implementation is read if it', () => {
  test.each<[string, Variations]>([
    ['follows the specification exactly', {}],
    ['sends a null bucket that was not requested', { row: { bucket: null } }],
    ['sends null for `partial`', { row: { partial: null } }],
    ['sends links in a row', { row: { links: { self: '/x' } } }],
    ['sends a bucket in a comparison', { compare: { bucket: '2026-11-02' } }],
    ['sends `partial` and a group in a comparison', { compare: { partial: false, 'profile.type': 'entity' } }],
    ['sends a label and a bucket in the totals', { totals: { label: 'Total', bucket: null } }],
    ['has a metric without description and aggregation', { metric: { description: null, aggregation: null } }],
    ['has a metric without a first day', { metric: { data_available: { from: null } } }],
    ['has a metric without granularities', { metric: { granularities: null } }],
    ['has a dimension without values', { dimension: { values: null } }],
    ['has a dimension of booleans', { dimension: { values: [{ value: true, label: 'Yes' }] } }],
    ['has a dimension of numbers', { dimension: { values: [{ value: 1, label: 'One' }] } }],
    ['sends `as_of` without a time zone', { meta: { as_of: new Date().toISOString().slice(0, -1) } }],
    ['sends a field of `meta` in both spellings', { meta: { rows_count: 1, is_truncated: false } }],
  ])('%s', async (_name, differences) => {
    const table = await tableOf(differences);
    expect(table.rows).toEqual([
      {
        values: { 'profiles.created': 4 },
        compare: { previous_period: { values: { 'profiles.created': 2 } } },
        partial: false,
      },
    ]);
    expect(table.totals).toEqual({
      values: { 'profiles.created': 4 },
      compare: { previous_period: { values: { 'profiles.created': 2 } } },
    });
    expect(table.notes).toEqual([]);
  });
});

describe('a requested comparison that is missing', () => {
  const lacking = async (differences: Variations) => {
    const table = await tableOf(differences);
    expect(table.comparisons).toHaveLength(1);
    expect(table.notes.every(({ code, incomplete }) => code === 'missing' && incomplete)).toBe(true);
    return notesIn(table).map(({ text }) => text);
  };
  const RANGE = 'The service does not say which days the previous period covers.';

  test('in the metadata gets a note, and its figures are shown', async () => {
    expect(await lacking({ meta: { compare_range: null } })).toEqual([RANGE]);
    expect(rowsOf(await tableOf({ meta: { compare_range: undefined } }))[0]?.compare).toEqual({
      previous_period: { values: { 'profiles.created': 2 } },
    });
  });

  test('in the rows, or lacks the figure there, gets a note', async () => {
    const text = 'The service did not return the previous period: not known here.';
    expect(await lacking({ row: { compare: undefined } })).toEqual([text]);
    expect(await lacking({ row: { compare: {} } })).toEqual([text]);
  });

  test('in the totals gets a note', async () => {
    const text = 'The service did not return the previous period of the totals: not known here.';
    expect(await lacking({ totals: { compare: undefined } })).toEqual([text]);
    expect(await lacking({ totals: { compare: { bucket: null } } })).toEqual([text]);
  });

  test('everywhere gets a note that names each place', async () => {
    const none = { meta: { compare_range: null }, row: { compare: null }, totals: { compare: null } };
    expect(await lacking(none)).toEqual([
      'The service did not return the previous period, the previous period of the totals: not known here.',
      RANGE,
    ]);
  });
});

describe('the metadata of a response', () => {
  test('marks the table as truncated in either spelling', async () => {
    for (const meta of [
      { truncated: false, is_truncated: true },
      { truncated: true, is_truncated: false },
    ]) {
      expect((await tableOf({ meta })).notes).toMatchObject([{ code: 'truncated', incomplete: true }]);
    }
  });

  test('makes the table incomplete if its two counts of rows disagree', async () => {
    expect(notesIn(await tableOf({ meta: { row_count: 1, rows_count: 9 } }))).toEqual([
      { code: 'missing', text: 'The service announced 9 rows and sent 1.', incomplete: true },
    ]);
  });

  test('makes the table incomplete if it has no range', async () => {
    const table = await tableOf({ meta: { range: null } });
    expect(table.range).toBe(null);
    expect(notesIn(table)).toEqual([
      {
        code: 'missing',
        text: 'Requested: 2026-11-09 to 2026-11-15. The response does not say which days it covers.',
        incomplete: true,
      },
    ]);
  });

  test.each([null, 1_700_000_000_000, 'yesterday', '2026-11-16'])('causes a note if as_of is %j', async (as_of) => {
    const fresh = await tableOf({ meta: { as_of } });
    expect(fresh.asOf).toBe(null);
    expect(fresh.notes).toMatchObject([{ code: 'stale', incomplete: false }]);
    // The age of fresh figures is known anyway; that of cached ones is not.
    expect((await tableOf({ meta: { as_of, cached: true } })).notes).toMatchObject([
      { code: 'stale', incomplete: true },
    ]);
  });
});
