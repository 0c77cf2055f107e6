import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ReportRequest, type ReportResponse, reportResponseSchema } from '../../../../src/contract/report.ts';
import type { Period } from '../../../../src/definitions/periods/period.ts';
import { fetchDataset } from '../../../../src/fetch/fetch-dataset.ts';
import type { PartnerAnswer } from '../../../../src/fetch/internal/tables/comparisons/partner-answers.ts';
import { reportTable } from '../../../../src/fetch/internal/tables/report-table.ts';
import { compilePlan } from '../../../../src/plan/compile.ts';
import { viewColumns } from '../../../../src/render/figures/columns.ts';
import type { Sandbox } from '../../../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, openSandbox } from '../../../support/fetch-harness.ts';
import { notesIn } from '../../../support/notes.ts';
import {
  CATALOG,
  type DefinitionInput,
  definitionOf,
  type SectionInput,
  settingsOf,
} from '../../../support/reports.ts';
import { rowsOf } from '../../../support/rows.ts';

const OCTOBER: Period = { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: '2026-10' };
const CREATED = 'profiles.created';
const RATE = 'profiles.approval_rate';

describe('with the figures of the sandbox,', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await openSandbox();
  });
  afterAll(() => sandbox.close());

  const fetched = async (section: SectionInput, more: DefinitionInput, period: Period = OCTOBER) => {
    const context = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'));
    const catalog = await context.client.catalog('current', context.signal);
    const definition = definitionOf([section], more);
    const plan = compilePlan({ definition, settings: settingsOf(), period, catalog });
    const [table] = doneOf(await fetchDataset({ ...context, plan, catalog, organization: 'x' })).tables;
    if (table === undefined) throw new Error('no table');
    // Figures look stale because the clock of the sandbox does not advance.
    const notes = table.notes.filter(({ code }) => code !== 'stale');
    /** The figures of the service for these days alone. */
    const alone = async (from: string, to: string, group: Readonly<Record<string, unknown>> = {}) => {
      const filters = Object.entries(group).map(([dimension, value]) => ({
        dimension,
        op: 'eq' as const,
        values: [String(value)],
      }));
      const metrics = section.metrics ?? [];
      const request: ReportRequest = { metrics, filters, time: { from, to, timezone: period.timezone } };
      const { body } = await context.client.report('current', request, context.signal);
      return Object.fromEntries(metrics.map((id) => [id, body.rows[0]?.[id]]));
    };
    return { table: { ...table, notes }, alone };
  };

  test('weeks and totals have both comparisons, each with its own days and its own reason for no change', async () => {
    const section: SectionInput = { id: 'w', metrics: [CREATED, RATE], granularity: 'week', totals: true };
    const { table, alone } = await fetched(section, { compare: ['previous_period', 'previous_year'] });
    expect(table.comparisons).toEqual([
      { kind: 'previous_period', range: { from: '2026-09-01', to: '2026-09-30' } },
      {
        kind: 'previous_year',
        range: { from: '2025-10-01', to: '2025-10-31' },
        rows: { from: '2025-10-02', to: '2025-11-01' },
      },
    ]);
    const compared = rowsOf(table).map(({ values, compare }) => [
      values.bucket,
      compare?.previous_period?.unlike,
      compare?.previous_year?.unlike,
    ]);
    expect(compared).toEqual([
      ['2026-09-28', 'partial', undefined],
      ['2026-10-05', undefined, undefined],
      ['2026-10-12', undefined, undefined],
      ['2026-10-19', undefined, undefined],
      ['2026-10-26', 'partial', undefined],
    ]);
    const days = [
      ['2025-10-02', '2025-10-05'],
      ['2025-10-06', '2025-10-12'],
      ['2025-10-13', '2025-10-19'],
      ['2025-10-20', '2025-10-26'],
      ['2025-10-27', '2025-11-01'],
    ] as const;
    for (const [index, [from, to]] of days.entries()) {
      expect(rowsOf(table)[index]?.compare?.previous_year?.values).toEqual(await alone(from, to));
    }
    const { previous_period, previous_year } = table.totals?.compare ?? {};
    expect(previous_period?.values).toEqual(await alone('2026-09-01', '2026-09-30'));
    expect(previous_year?.values).toEqual(await alone('2025-10-01', '2025-10-31'));
    expect([previous_period?.unlike, previous_year?.unlike]).toEqual([undefined, undefined]);
    expect(notesIn(table).map(({ text }) => text)).toEqual([
      'No change is shown for the first and the last week, partial here or in the compared days (previous period).',
      'The change from the previous period compares 31 days with 30.',
    ]);
    const changes = viewColumns(table).filter(({ role }) => role === 'change');
    const [first] = rowsOf(table);
    if (first === undefined) throw new Error('no row');
    expect(changes.map(({ comparison, read }) => [comparison, read(first) === null])).toEqual([
      ['previous_period', true],
      ['previous_year', false],
      ['previous_period', true],
      ['previous_year', false],
    ]);
  });

  test('the days of two months show no change, and a note says why', async () => {
    const section: SectionInput = { id: 'd', metrics: [CREATED], granularity: 'day' };
    const { table } = await fetched(section, { compare: 'previous_period' });
    const reasons = rowsOf(table).map(({ compare }) => compare?.previous_period?.unlike);
    expect(reasons).toEqual([...Array.from({ length: 30 }, () => 'weekdays'), 'no_partner']);
    expect(rowsOf(table)[0]?.compare?.previous_period?.values[CREATED]).toEqual(expect.any(Number));
    expect(table.notes.map(({ code }) => code)).toEqual(['unlike']);
    const change = viewColumns(table).find(({ role }) => role === 'change');
    expect(rowsOf(table).map((row) => change?.read(row))).toEqual(rowsOf(table).map(() => null));
  });

  test('comparison and year to date of each group equal the figures of the service for those days', async () => {
    const section = { id: 'g', metrics: [CREATED, RATE], dimensions: ['profile.type'], totals: true };
    const { table, alone } = await fetched(section, { compare: 'previous_year', to_date: 'year' });
    expect(table.toDate).toEqual({ unit: 'year', range: { from: '2026-01-01', to: '2026-10-31' } });
    for (const { values, compare, toDate } of rowsOf(table)) {
      const group = { 'profile.type': values['profile.type'] };
      expect(compare?.previous_year?.values).toEqual(await alone('2025-10-01', '2025-10-31', group));
      expect(compare?.previous_year?.unlike).toBeUndefined();
      expect(toDate).toEqual(await alone('2026-01-01', '2026-10-31', group));
    }
    expect(table.totals?.toDate).toEqual(await alone('2026-01-01', '2026-10-31'));
    expect(viewColumns(table).map(({ header }) => header)).toEqual([
      'Profile type',
      'Profiles created',
      'Profiles created, year before',
      'Profiles created, change (year before) (%)',
      'Profiles created, year to date',
      'Approval rate (%)',
      'Approval rate (%), year before',
      'Approval rate, change (year before) (pp)',
      'Approval rate (%), year to date',
    ]);
    expect(table.notes).toEqual([]);
  });

  test('a single row is compared and shown to date like a total', async () => {
    const { table, alone } = await fetched(
      { id: 's', metrics: [CREATED] },
      { compare: 'previous_year', to_date: 'quarter' },
    );
    const [row] = rowsOf(table);
    expect(row?.compare?.previous_year).toEqual({ values: await alone('2025-10-01', '2025-10-31') });
    expect(row?.toDate).toEqual(await alone('2026-10-01', '2026-10-31'));
    expect(row?.toDate).toEqual({ [CREATED]: row?.values[CREATED] });
  });

  test('cohort metrics show the compared figure but no change', async () => {
    const { table } = await fetched({ id: 'c', metrics: ['cohort.completion_rate'] }, { compare: 'previous_period' });
    const columns = viewColumns(table);
    const [row] = rowsOf(table);
    if (row === undefined) throw new Error('no row');
    expect(columns.map(({ role, read }) => [role, typeof read(row)])).toEqual([
      ['value', 'number'],
      ['previous', 'number'],
      ['change', 'object'],
    ]);
    expect(table.notes.map(({ code }) => code)).toEqual(['not_comparable']);
  });

  test('a period that has not ended shows no change', async () => {
    const period: Period = { from: '2026-11-01', to: '2026-11-30', timezone: 'Europe/Zurich', label: '2026-11' };
    const section: SectionInput = { id: 'm', metrics: [CREATED], granularity: 'week', totals: true };
    const { table } = await fetched(section, { compare: 'previous_year' }, period);
    expect(table.totals?.compare?.previous_year?.unlike).toBe('unfinished');
    // It is Friday, 20 November.
    expect(rowsOf(table).map(({ compare }) => compare?.previous_year?.unlike)).toEqual([
      undefined,
      undefined,
      undefined,
      'unfinished',
      'unfinished',
      'unfinished',
    ]);
  });
});

/* The following tests use handwritten responses. */

const SECTION = definitionOf([{ id: 'types', metrics: [CREATED, RATE], dimensions: ['profile.type'], totals: true }])
  .sections[0];
const AT = Date.parse('2026-11-02T08:00:00Z');

const answerOf = (
  request: ReportRequest,
  rows: object[],
  more: { meta?: object; totals?: object } = {},
): ReportResponse =>
  reportResponseSchema.parse({
    meta: {
      as_of: '2026-11-02T07:59:00Z',
      cached: false,
      timezone: 'Europe/Zurich',
      range: { from: request.time?.from, to: request.time?.to },
      granularity: null,
      row_count: rows.length,
      truncated: false,
      registry_version: 7,
      ...more.meta,
    },
    columns: [CREATED, RATE].map((name) => ({ name, label: name, kind: 'metric', type: 'integer', unit: null })),
    rows,
    totals: more.totals ?? { [CREATED]: 3, [RATE]: 0.5 },
  });
const requestOf = (from: string, to: string): ReportRequest => ({
  metrics: [CREATED, RATE],
  dimensions: ['profile.type'],
  time: { from, to, timezone: 'Europe/Zurich' },
  include: ['totals'],
});
const group = (type: string, created: number, rate: number | null) => ({
  'profile.type': type,
  [CREATED]: created,
  [RATE]: rate,
});

interface Partner {
  rows: object[];
  meta?: object;
  totals?: object;
}

function tableWith(partner: Partner, catalog = CATALOG, kind: PartnerAnswer['kind'] = 'previous_year') {
  if (SECTION === undefined) throw new Error('no section');
  const request = requestOf('2026-10-01', '2026-10-31');
  const range =
    kind === 'to_date' ? { from: '2026-01-01', to: '2026-10-31' } : { from: '2025-10-01', to: '2025-10-31' };
  const other = requestOf(range.from, range.to);
  const response = answerOf(other, partner.rows, partner);
  const answers = [{ request: other, response, at: AT }];
  const partners = (['rows', 'totals'] as const).map(
    (of): PartnerAnswer => ({ kind, of, range, request: other, response, answers }),
  );
  return reportTable({
    section: SECTION,
    request,
    response: answerOf(request, [group('individual', 1, 0.5), group('entity', 2, 0.5)]),
    catalog,
    period: OCTOBER,
    at: AT,
    comparisons: kind === 'to_date' ? [] : ['previous_year'],
    partners,
    toDate: kind === 'to_date' ? 'year' : undefined,
  });
}
const comparedIn = (table: ReturnType<typeof tableWith>) =>
  rowsOf(table).map(({ compare }) => compare?.previous_year?.values);

describe('a group missing on the compared days', () => {
  test('has compared counts of 0 and undefined rates', () => {
    const table = tableWith({ rows: [group('entity', 3, 0.5)] });
    expect(comparedIn(table)).toEqual([
      { [CREATED]: 0, [RATE]: null },
      { [CREATED]: 3, [RATE]: 0.5 },
    ]);
    expect(table.notes).toEqual([]);
  });

  test('has unknown compared figures if the service truncated the response', () => {
    const table = tableWith({ rows: [group('entity', 3, 0.5)], meta: { truncated: true } });
    expect(comparedIn(table)).toEqual([{}, { [CREATED]: 3, [RATE]: 0.5 }]);
    expect(table.notes).toMatchObject([{ code: 'truncated', incomplete: true }]);
  });
});

test('compared figures of days without data are undefined, never 0', () => {
  const catalog = {
    ...CATALOG,
    metrics: CATALOG.metrics.map((metric) =>
      metric.id === CREATED ? { ...metric, data_available: { from: '2025-10-02' } } : metric,
    ),
  };
  const table = tableWith({ rows: [group('individual', 0, 0.25), group('entity', 3, 0.5)] }, catalog);
  expect(comparedIn(table)).toEqual([
    { [CREATED]: null, [RATE]: 0.25 },
    { [CREATED]: null, [RATE]: 0.5 },
  ]);
  expect(table.totals?.compare?.previous_year?.values).toEqual({ [CREATED]: null, [RATE]: 0.5 });
  expect(table.notes.map(({ message }) => message.id)).toEqual(['not_compared_before']);
});

test('a note names figures that are missing on the compared days', () => {
  const { [RATE]: _, ...withoutRate } = group('entity', 3, 0.5);
  const table = tableWith({ rows: [group('individual', 0, 0.25), withoutRate], totals: { [CREATED]: 3 } });
  expect(notesIn(table)).toEqual([
    {
      code: 'missing',
      text: `The service did not return the year before (${RATE}), the year before of the totals (${RATE}): not known here.`,
      incomplete: true,
    },
  ]);
});

describe('a table whose service sends other days than requested', () => {
  const rows = [group('individual', 1, 0.25), group('entity', 2, 0.5)];

  test.each([
    ['the days of the section', { from: '2026-10-01', to: '2026-10-31' }],
    ['other whole months', { from: '2025-12-01', to: '2025-12-31' }],
    ['as many days, starting on the same weekday', { from: '2025-09-04', to: '2025-10-04' }],
  ])('has no comparison with the year before: %s', (_, range) => {
    const table = tableWith({ rows, meta: { range } });
    const nothing = { values: {}, unlike: 'no_partner' };
    expect(rowsOf(table).map(({ compare }) => compare?.previous_year)).toEqual([nothing, nothing]);
    expect(table.totals?.compare?.previous_year).toEqual(nothing);
    expect(table.comparisons).toEqual([{ kind: 'previous_year', range: null }]);
    expect(table.notes.map(({ code, incomplete }) => [code, incomplete])).toEqual([
      ['missing', true],
      ['unlike', false],
    ]);
  });

  test('has no figures to date', () => {
    const table = tableWith({ rows, meta: { range: { from: '2026-10-01', to: '2026-10-31' } } }, CATALOG, 'to_date');
    expect(table.toDate).toEqual({ unit: 'year', range: { from: '2026-01-01', to: '2026-10-31' } });
    expect(rowsOf(table).map(({ toDate }) => toDate)).toEqual([undefined, undefined]);
    expect(table.totals?.toDate).toBeUndefined();
    expect(table.notes.map(({ code, incomplete }) => [code, incomplete])).toEqual([['missing', true]]);
  });

  test('has no comparison of a whole year with the year before', () => {
    const [section] = definitionOf([{ id: 'y', metrics: [CREATED, RATE], totals: true }]).sections;
    if (section === undefined) throw new Error('no section');
    const time = { from: '2025-01-01', to: '2025-12-31', timezone: 'Europe/Zurich' };
    const request: ReportRequest = {
      metrics: [CREATED, RATE],
      time: { ...time, compare: 'previous_period' },
      include: ['totals'],
    };
    const figures = { [CREATED]: 2, [RATE]: 0.5, compare: { [CREATED]: 1, [RATE]: 0.25 } };
    const tableOf = (compare_range: object) =>
      reportTable({
        section,
        request,
        response: answerOf(request, [figures], { totals: figures, meta: { compare_range } }),
        catalog: CATALOG,
        period: { ...time, label: '2025' },
        at: AT,
        comparisons: ['previous_period', 'previous_year'],
      });
    const kept = tableOf({ from: '2024-01-01', to: '2024-12-31' });
    expect(kept.totals?.compare?.previous_year).toEqual({ values: { [CREATED]: 1, [RATE]: 0.25 } });
    const other = tableOf({ from: '2023-01-01', to: '2023-12-31' });
    expect(other.comparisons).toEqual([
      { kind: 'previous_period', range: { from: '2023-01-01', to: '2023-12-31' } },
      { kind: 'previous_year', range: null },
    ]);
    expect(other.totals?.compare?.previous_year).toEqual({ values: {}, unlike: 'no_partner' });
    expect(rowsOf(other)[0]?.compare?.previous_year).toEqual({ values: {}, unlike: 'no_partner' });
    expect(other.notes.map(({ code }) => code)).toContain('compare_range_mismatch');
  });
});
