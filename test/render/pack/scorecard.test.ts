import { describe, expect, it } from 'vitest';
import type { Table } from '../../../src/fetch/dataset.ts';
import { formatDateRange } from '../../../src/render/figures/format-date.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import type { Scorecard, ScorecardRow } from '../../../src/render/pack/pack.ts';
import { countColumn, durationColumn, ratioColumn, row } from '../../support/dataset.ts';
import { judged, kpis, metrics, monthTable, october, RANGE, SEPTEMBER, sectionOf, target } from './fixtures.ts';

const scorecardOf = (table: Table, locale = 'en-GB', targets = [] as Parameters<typeof judged>[1]): Scorecard =>
  sectionOf(buildPack(judged(october([table]), targets), { locale }).sections, 'scorecard').scorecard;
const rowsOf = (scorecard: Scorecard): readonly ScorecardRow[] => scorecard.groups.flatMap(({ rows }) => rows);
const rowOf = (scorecard: Scorecard, metric: string): ScorecardRow => {
  const found = rowsOf(scorecard).find(({ column }) => column.name === metric);
  if (found === undefined) throw new Error(`no row of ${metric}`);
  return found;
};

describe('a scorecard', () => {
  it('has a row for each metric with figure, comparison, change and figure to date', () => {
    const scorecard = scorecardOf(kpis());
    expect(scorecard.comparisons).toEqual(['previous_period']);
    expect(scorecard.toDate).toBe('year');
    expect(rowsOf(scorecard).map(({ label, unit }) => [label, unit])).toEqual([
      ['Profiles created', ''],
      ['Approval rate', '%'],
      ['Time to decision (median)', 'hours'],
    ]);
    expect(rowOf(scorecard, countColumn.name)).toMatchObject({
      section: 'kpis',
      figure: { value: 1204, text: '1,204' },
      compared: [
        {
          kind: 'previous_period',
          value: 1000,
          text: '1,000',
          change: { value: 0.204, text: '+20.4%', quantity: { kind: 'relative' } },
          direction: 'up',
          tone: '',
        },
      ],
      toDate: { value: 9001, text: '9,001' },
      running: false,
    });
    expect(rowOf(scorecard, ratioColumn.name).compared[0]?.change).toMatchObject({
      text: '+5.0 pp',
      quantity: { kind: 'points' },
    });
  });

  it('shows a dash when a figure or its change is undefined', () => {
    const [compared] = rowOf(scorecardOf(kpis()), durationColumn.name).compared;
    expect(compared).toMatchObject({
      value: null,
      text: '–',
      change: { value: null, text: '–' },
      direction: null,
      tone: '',
    });
  });

  it('puts metrics without a group first, and drops groups without figures', () => {
    const scorecard = scorecardOf(
      kpis({}, [
        { title: 'Quality', metrics: [ratioColumn.name, 'not.there'] },
        { title: 'Nothing', metrics: ['not.there'] },
        { title: 'Speed', metrics: [durationColumn.name] },
      ]),
    );
    expect(scorecard.groups.map(({ title, rows }) => [title, rows.map(({ column }) => column.name)])).toEqual([
      [null, [countColumn.name]],
      ['Quality', [ratioColumn.name]],
      ['Speed', [durationColumn.name]],
    ]);
  });

  it('shows a metric of two groups in both, under its own label', () => {
    const scorecard = scorecardOf(
      kpis({}, [
        { title: 'One', metrics: [countColumn.name] },
        { title: 'Two', metrics: [countColumn.name] },
      ]),
    );
    const rows = rowsOf(scorecard).filter(({ column }) => column.name === countColumn.name);
    expect(rows.map(({ label }) => label)).toEqual(['Profiles created', 'Profiles created']);
  });

  it('judges figures, and shows them with enough decimals to agree with their status', () => {
    const scorecard = scorecardOf(kpis(), 'en-GB', [
      target({ metric: ratioColumn.name, target: '90%', watch: '85%' }),
      target({ metric: durationColumn.name, better: 'lower', target: '24h' }),
    ]);
    expect(scorecard.hasTargets).toBe(true);
    expect(rowOf(scorecard, ratioColumn.name)).toMatchObject({
      // Not "90.0%", which would be on target.
      figure: { value: 0.8997, text: '89.97%' },
      target: { value: 0.9, text: '90.0%' },
      status: { status: 'watch', text: '◆ watch' },
      compared: [{ tone: 'better' }],
    });
    expect(rowOf(scorecard, durationColumn.name)).toMatchObject({
      figure: { text: '25.0 hours' },
      target: { text: '24.0 hours' },
      status: { status: 'breached' },
    });
    expect(rowOf(scorecard, countColumn.name)).not.toHaveProperty('status');
  });

  it('shows the last figure of a trend with the decimals of its row', () => {
    const values = { [ratioColumn.name]: 0.8996, [durationColumn.name]: 86_401 };
    const table = kpis({
      rows: [row(values)],
      trend: {
        granularity: 'month',
        buckets: ['2026-09-01', '2026-10-01'].map((label) => ({ label, partial: false })),
        values: { [ratioColumn.name]: [0.85, 0.8996], [durationColumn.name]: [80_000, 86_401] },
      },
    });
    const scorecard = scorecardOf(table, 'de-DE', [
      target({ metric: ratioColumn.name, target: '90%', watch: '85%' }),
      target({ metric: durationColumn.name, better: 'lower', target: '24h' }),
    ]);
    for (const [metric, text] of [
      [ratioColumn.name, '89,96 %'],
      [durationColumn.name, '24,0003 Stunden'],
    ] as const) {
      const { figure, trend, trendText } = rowOf(scorecard, metric);
      expect([figure.text, trend.at(-1)?.text].map((each) => each?.replaceAll('\u00a0', ' '))).toEqual([text, text]);
      expect(trendText?.replaceAll('\u00a0', ' ')).toContain(text);
    }
  });

  it('shows the previous figure of a provisional metric, but no change', () => {
    const provisional = { ...ratioColumn, provisional: true };
    const scorecard = scorecardOf(kpis({ columns: [provisional] }), 'en-GB', [
      target({ metric: ratioColumn.name, target: '80%' }),
    ]);
    const [compared] = rowOf(scorecard, ratioColumn.name).compared;
    expect(compared).toMatchObject({ value: 0.85, change: { value: null, text: '–' }, direction: null, tone: '' });
  });

  it('shows no change of figures that are not comparable', () => {
    const table = kpis();
    const [first] = table.rows as readonly ReturnType<typeof row>[];
    const notComparable = {
      ...first!,
      compare: { previous_period: { values: { [countColumn.name]: 1000 }, unlike: 'length' as const } },
    };
    const [compared] = rowOf(scorecardOf({ ...table, rows: [notComparable] }), countColumn.name).compared;
    expect(compared).toMatchObject({ value: 1000, change: { value: null, text: '–' }, direction: null });
  });

  it('has the points of its trend with labels and gaps, and its own period last', () => {
    const scorecard = scorecardOf(kpis());
    expect(scorecard.trend).toBe('month');
    const { trend, trendText } = rowOf(scorecard, countColumn.name);
    expect(trend.map(({ label, value, text, partial }) => [label, value, text, partial])).toEqual([
      ['Jul 2026', 900, '900', false],
      ['Aug 2026', null, '–', false],
      ['Sept 2026', 1000, '1,000', false],
      ['Oct 2026', 1204, '1,204', false],
    ]);
    expect(trendText).toBe('Profiles created: from 900 (Jul 2026) to 1,204 (Oct 2026)');
    expect(rowOf(scorecard, durationColumn.name).trend).toEqual([]);
  });

  it('names months in its headings, and calls other periods “This period”', () => {
    expect(scorecardOf(kpis()).headings).toMatchObject({
      figure: 'Oct 2026',
      compared: [{ figure: 'Sept 2026', change: 'Change' }],
      toDate: 'Year to date',
      trend: 'Last 4 months',
    });
    const week = { from: '2026-10-05', to: '2026-10-11' };
    const other = kpis({
      range: week,
      comparisons: [
        { kind: 'previous_period', range: { from: '2026-09-28', to: '2026-10-04' } },
        { kind: 'previous_year', range: null },
      ],
    });
    expect(scorecardOf(other).headings).toMatchObject({
      figure: 'This period',
      compared: [
        { figure: 'Previous period', change: 'Change (previous period)' },
        { figure: 'Year before', change: 'Change (year before)' },
      ],
    });
    expect(scorecardOf(kpis(), 'de-CH').headings).toMatchObject({
      metric: 'Kennzahl',
      figure: 'Okt. 2026',
      target: 'Ziel',
      trend: 'Letzte 4 Monate',
    });
  });

  it('states once the scope that all of its figures share', () => {
    const filtered = scorecardOf(kpis({ filters: [{ label: 'Risk', is: ['High'] }], running: true }));
    expect(filtered.scope).toBe('Risk is High; so far');
    expect(rowsOf(filtered).map(({ label, scope, running }) => [label, scope, running])).toEqual([
      ['Profiles created', '', true],
      ['Approval rate', '', true],
      ['Time to decision (median)', '', true],
    ]);
  });

  it('shows the totals instead of the row when it has both', () => {
    const table = kpis({ totals: { values: { [countColumn.name]: 7 } } });
    const scorecard = scorecardOf(table);
    expect(rowOf(scorecard, countColumn.name).figure).toMatchObject({ value: 7, text: '7' });
    expect(rowOf(scorecard, ratioColumn.name).figure).toMatchObject({ value: null, text: '–' });
  });

  it('without rows has a row of dashes for each metric, and no comparison, target or trend', () => {
    const table = kpis({ rows: [], comparisons: [] });
    const { toDate: _, trend: __, ...plain } = table;
    const scorecard = scorecardOf(plain);
    expect(rowsOf(scorecard).map(({ figure }) => figure.text)).toEqual(['–', '–', '–']);
    expect(scorecard).toMatchObject({ comparisons: [], hasTargets: false });
    expect(scorecard).not.toHaveProperty('toDate');
    expect(scorecard).not.toHaveProperty('trend');
  });

  it('holds a hundred metrics with labels of 200 characters', () => {
    const columns = metrics(100, (index) => ({ label: `${'x'.repeat(197)}${index}` }));
    const values = Object.fromEntries(columns.map(({ name }, index) => [name, index]));
    const scorecard = scorecardOf(
      monthTable({ id: 'many', columns, rows: [row(values)], layout: { kind: 'scorecard', groups: [] } }),
    );
    expect(rowsOf(scorecard).map(({ figure }) => figure.value)).toEqual(columns.map((_, index) => index));
    expect(new Set(rowsOf(scorecard).map(({ label }) => label)).size).toBe(100);
  });
});

describe('rows of several sections', () => {
  const plain = (id: string, change: Partial<Table> = {}): Table =>
    monthTable({
      id,
      title: `Title of ${id}`,
      columns: [countColumn],
      rows: [row({ [countColumn.name]: 5 })],
      ...change,
    });

  it('have the comparisons of their own section only', () => {
    const compared = kpis({ id: 'compared', layout: { kind: 'table' }, columns: [ratioColumn] });
    const { summary } = buildPack(october([plain('one'), compared]));
    const rows = rowsOf(summary!.scorecard);
    expect(summary!.scorecard.comparisons).toEqual(['previous_period']);
    expect(rows.map((each) => each.compared[0]?.value)).toEqual([undefined, 0.85]);
    expect(rows.map(({ toDate }) => toDate?.value)).toEqual([undefined, 0.87]);
  });

  it('name their scope in their labels', () => {
    const days = formatDateRange(SEPTEMBER);
    const september = plain('september', { range: SEPTEMBER, columns: [{ ...countColumn, name: 'other' }] });
    const { summary } = buildPack(october([plain('one', { range: RANGE }), september]));
    expect(rowsOf(summary!.scorecard).map(({ label, scope }) => [label, scope])).toEqual([
      ['Profiles created', ''],
      [`Profiles created (${days})`, days],
    ]);
    expect(summary!.scorecard.scope).toBe('');
    expect(summary!.scorecard.headings.figure).toBe('This period');
  });

  it('name their section in their labels when two metrics share a label', () => {
    const namesake = plain('two', { columns: [{ ...countColumn, name: 'other' }] });
    const { summary } = buildPack(october([plain('one'), namesake]));
    expect(rowsOf(summary!.scorecard).map(({ label }) => label)).toEqual([
      'Profiles created (Title of one)',
      'Profiles created (Title of two)',
    ]);
  });
});
