import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { SourcedTarget } from '../../../src/definitions/schema/targets.ts';
import type { Column, Dataset, MetricValues, Row, Table } from '../../../src/fetch/dataset.ts';
import { withDisplayUnits } from '../../../src/fetch/internal/tables/columns/display-units.ts';
import { buildChart } from '../../../src/render/charts/chart.ts';
import { echartsOption } from '../../../src/render/charts/echarts-option.ts';
import { renderEmail } from '../../../src/render/email/render-email.ts';
import { headlineFigures } from '../../../src/render/figures/headline-figures.ts';
import { buildHeadlines } from '../../../src/render/figures/headlines.ts';
import { judgeDataset } from '../../../src/render/figures/judge.ts';
import {
  bucketColumn,
  dataset,
  durationColumn,
  MADE_AT,
  previous,
  row,
  table,
  typeColumn,
  WEEK_BEFORE,
} from '../../support/dataset.ts';
import { cases, least } from '../../support/fuzz.ts';
import { cellsOf, readCsv, readHtmlTables, readWorkbook, tableOn } from '../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../support/render-folder.ts';
import { rowsOf } from '../../support/rows.ts';

const { render } = useRenderFolder();
const SECONDS: Readonly<Record<string, number>> = { minutes: 60, hours: 3_600, days: 86_400 };

const metric = (name: string, label: string): Column => ({ ...durationColumn, name, label });
/** Two statistics of the same duration, and another duration. */
const MEDIAN = metric('profiles.wait_p50', 'Alpha');
const SLOWEST = metric('profiles.wait_p90', 'Beta');
const OTHER = metric('intake.submit_p50', 'Gamma');
const METRICS = [MEDIAN, SLOWEST, OTHER];
const UNITS = fc.constantFrom('minutes' as const, 'hours' as const, 'days' as const);

/** From seconds to a year, or undefined. */
const duration = fc.option(fc.oneof(fc.nat({ max: 600 }), fc.nat({ max: 100_000 }), fc.nat({ max: 30_000_000 })), {
  nil: null,
  freq: 8,
});
const figures: fc.Arbitrary<MetricValues> = fc.record(Object.fromEntries(METRICS.map(({ name }) => [name, duration])));

const sections: fc.Arbitrary<Omit<Table, 'id' | 'title'>> = fc
  .record({
    kind: fc.constantFrom('single', 'daily', 'groups'),
    rows: fc.array(fc.tuple(figures, figures), { minLength: 2, maxLength: 5 }),
    totals: fc.option(fc.tuple(figures, figures), { nil: undefined }),
    compared: fc.boolean(),
  })
  .map(({ kind, rows, totals, compared }) => {
    const labels = { single: [], daily: [bucketColumn], groups: [typeColumn] }[kind] ?? [];
    const shown = kind === 'single' ? rows.slice(0, 1) : rows;
    const {
      id: _,
      title: __,
      ...rest
    } = table({
      id: 'x',
      granularity: kind === 'daily' ? 'day' : null,
      comparisons: compared ? [WEEK_BEFORE] : [],
      columns: [...labels, ...METRICS],
      rows: shown.map(([values, before], index) =>
        row(
          {
            ...(kind === 'daily' ? { bucket: `2026-11-${String(9 + index).padStart(2, '0')}` } : {}),
            ...(kind === 'groups' ? { 'profile.type': `group ${index}` } : {}),
            ...values,
          },
          compared ? { compare: previous(before) } : {},
        ),
      ),
      ...(totals === undefined
        ? {}
        : { totals: { values: totals[0], ...(compared ? { compare: previous(totals[1]) } : {}) } }),
      ...(kind === 'single' ? {} : { chart: kind === 'daily' ? 'line' : 'column' }),
    });
    return rest;
  });

const packs = fc.record({
  sections: fc.array(sections, { minLength: 1, maxLength: 3 }),
  units: fc.record({ [MEDIAN.name]: UNITS, [OTHER.name]: UNITS }, { requiredKeys: [] }),
});

const sizesOf = ({ values, compare }: Pick<Row, 'values' | 'compare'>, names: readonly string[]): number[] =>
  [values, compare?.previous_period?.values].flatMap((of) =>
    names.flatMap((name) => (typeof of?.[name] === 'number' ? [Number(of[name])] : [])),
  );

/** The unit that must be shown, computed independently from the tables. */
function expectedUnit(tables: readonly Table[], units: Readonly<Record<string, string | undefined>>, column: Column) {
  const family = column === OTHER ? [OTHER.name] : [MEDIAN.name, SLOWEST.name];
  const requested = family.map((name) => units[name]).find((unit) => unit !== undefined);
  if (requested !== undefined) return requested;
  const single = (each: Table) => each.columns.every(({ kind }) => kind === 'metric');
  const totals = tables.flatMap((each) => [
    ...(each.totals === undefined ? [] : sizesOf(each.totals, family)),
    ...(single(each) ? rowsOf(each).flatMap((one) => sizesOf(one, family)) : []),
  ]);
  const rows = tables.flatMap((each) => rowsOf(each).flatMap((one) => sizesOf(one, family)));
  const sizes = totals.length > 0 ? totals : rows;
  if (sizes.length === 0) return 'hours';
  const largest = Math.max(...sizes);
  return largest < 7_200 ? 'minutes' : largest < 172_800 ? 'hours' : 'days';
}

const TARGETS: SourcedTarget[] = METRICS.map(({ name }) => ({
  metric: name,
  better: 'lower',
  target: '30h',
  source: 'report',
}));

/** All durations in a text, as `[number, unit]`. */
const durationsIn = (text: string): (readonly [number, string])[] =>
  [...text.matchAll(/([-−]?[\d,]+(?:\.\d+)?) ?(minutes|hours|days|seconds|min|h|d|s)\b/g)].map(
    ([, digits = '', unit = '']) => [Number(digits.replaceAll(',', '').replace('−', '-')), unit] as const,
  );

/** The largest difference between a figure and its rounded text. */
const ROUNDED = 0.050_001;

/** How many durations in mails and headlines were checked. */
let checked = 0;
function checkTexts(texts: readonly string[], unit: string): void {
  for (const text of texts) {
    for (const [, found] of durationsIn(text)) {
      expect(found, text).toBe(unit);
      checked += 1;
    }
  }
}

function checkText(text: string | undefined, value: unknown, unit: string): void {
  if (typeof value !== 'number') {
    expect(text).toBe('–');
    return;
  }
  const [[shown = Number.NaN, found] = []] = durationsIn(text ?? '');
  expect(found, text).toBe(unit);
  expect(Math.abs(shown - value / (SECONDS[unit] ?? 0)), text).toBeLessThanOrEqual(ROUNDED);
}

/** Checks every number in a metric's column, or in its line if the section is transposed, with the unit in the header. */
function checkSheet(path: string, of: Table, column: Column, unit: string): void {
  const { headers, rows, below } = tableOn(path, of.title);
  const header = `${column.label} (${unit})`;
  const before = `${header}, previous period`;
  const figuresOf = (name: 'own' | 'before') =>
    [...rowsOf(of), ...(of.totals === undefined ? [] : [of.totals])].map(
      ({ values, compare }) =>
        (name === 'own' ? values[column.name] : compare?.previous_period?.values[column.name]) ?? null,
    );
  const raw = (value: unknown) => (value === '–' ? null : Number(value) * (SECONDS[unit] ?? Number.NaN));
  const close = (value: unknown) => (typeof value === 'number' ? expect.closeTo(value, 4) : null);
  const transposed = rows.find((line) => line[0]?.v === header);
  if (of.granularity === null && of.columns.every(({ kind }) => kind === 'metric')) {
    expect(transposed, header).toBeDefined();
    expect(raw(transposed?.[1]?.v)).toEqual(close(figuresOf('own')[0]));
    // Target and status are between a judged figure and that of the previous period.
    const at = headers.indexOf('Previous period');
    if (of.comparisons.length > 0) expect(raw(transposed?.[at]?.v)).toEqual(close(figuresOf('before')[0]));
    return;
  }
  for (const [name, title] of [['own', header], ...(of.comparisons.length > 0 ? [['before', before]] : [])] as const) {
    const at = headers.indexOf(title);
    expect(at, title).toBeGreaterThan(-1);
    const all = figuresOf(name as 'own' | 'before');
    const total = below.find((line) => line[0]?.v === 'Total');
    const shown = all.map((_, index) => (index < of.rows.length ? rows[index] : total)?.[at]);
    expect(shown.map((cell) => raw(cell?.v))).toEqual(all.map(close));
    for (const cell of shown) if (cell?.t === 'n') expect(cell.z).toMatch(/^#,##0\.0+$|^"[<>]/);
  }
}

function checkCharts(of: Table, column: Column, unit: string): void {
  const chart = buildChart(of);
  if (chart === undefined) return;
  const { option } = echartsOption(chart, 'en-GB');
  for (const axis of chart.axes) {
    const own = axis.series.filter((each) => each.metric === column.name);
    if (own.length === 0) continue;
    expect(axis.quantity).toEqual({ kind: 'duration', scale: unit });
    expect(axis.title.toLowerCase()).toContain(unit);
    const drawn = option.series as { name: string; data: (number | null)[] }[];
    for (const series of own) {
      const found = drawn.find(({ name }) => name === series.name);
      const raw = found?.data.map((value) => (value === null ? null : value * (SECONDS[unit] ?? Number.NaN)));
      expect(raw).toEqual(series.values.map((value) => (value === null ? null : expect.closeTo(value, 4))));
    }
  }
}

/** The copies of the figures that the workbook's charts draw, with the unit above the name of each series. */
function checkChartData(path: string, of: Table, column: Column, unit: string): void {
  if (of.chart === undefined) return;
  const cells = cellsOf(readWorkbook(path), 'Chart data');
  const start = cells.findIndex((line) => line[0]?.v === of.title);
  const chart = buildChart(of);
  const series = chart?.axes.flatMap((axis) => axis.series) ?? [];
  for (const [index, { metric: id, values }] of series.entries()) {
    if (id !== column.name) continue;
    expect(cells[start]?.[index + 1]?.v).toBe(unit);
    const shown = values.map((_, at) => cells[start + 2 + at]?.[index + 1]?.v);
    expect(shown.map((value) => (value === undefined ? null : Number(value) * (SECONDS[unit] ?? Number.NaN)))).toEqual(
      values.map((value) => (value === null ? null : expect.closeTo(value, 4))),
    );
  }
}

function checkCsv(formatted: string, of: Table, column: Column, unit: string): void {
  const [header = [], ...lines] = readCsv(formatted);
  for (const [index, { values }] of rowsOf(of).entries()) {
    checkText(lines[index]?.[header.indexOf(column.label)], values[column.name], unit);
  }
}

it('a duration is shown in the same unit in all sections and formats of a report', async () => {
  await fc.assert(
    fc.asyncProperty(packs, async ({ sections: drawn, units }) => {
      const tables = withDisplayUnits(
        drawn.map((each, index): Table => ({ ...each, id: `part-${index}`, title: `Part ${index}` })),
        new Map(Object.entries(units).flatMap(([name, unit]) => (unit === undefined ? [] : [[name, unit] as const]))),
      );
      const judged: Dataset = judgeDataset(dataset(tables), TARGETS, {
        sections: tables.map(({ id }) => ({ id })),
      });
      const headlines = buildHeadlines(
        headlineFigures(judged, 'en-GB'),
        METRICS.map(({ name }) => name),
        'en-GB',
      );
      const data = { ...judged, headlines };
      const outputs = [{ format: 'xlsx' }, { format: 'csv', csv: { values: 'formatted' } }];
      const files = await render(data, outputs);
      const raw = await render(data, [{ format: 'csv' }]);
      const { html, text } = await renderEmail(data, [], { run: 'r', madeAt: MADE_AT });
      for (const column of METRICS) {
        const unit = expectedUnit(tables, units, column);
        for (const of of tables) {
          checkSheet(artifactNamed(files, '.xlsx').path, of, column, unit);
          checkCsv(artifactNamed(files, `${of.id}.csv`).path, of, column, unit);
          checkCharts(of, column, unit);
          checkChartData(artifactNamed(files, '.xlsx').path, of, column, unit);
          const [header = [], ...lines] = readCsv(artifactNamed(raw, `${of.id}.csv`).path);
          const at = header.indexOf(`${column.label} (seconds)`);
          expect(lines.map((line) => line[at])).toEqual(
            rowsOf(of).map(({ values }) => String(values[column.name] ?? '')),
          );
        }
        // Tiles, targets and headlines begin with the metric's name.
        const named = [...text.split('\n'), ...headlines].filter((line) => line.trimStart().startsWith(column.label));
        checkTexts(named, unit);
        for (const [header = [], ...lines] of readHtmlTables(html)) {
          const at = header.indexOf(column.label);
          checkTexts(
            lines.flatMap((line) => (at > -1 ? (line[at] ?? []) : line[0] === column.label ? line : [])),
            unit,
          );
        }
      }
    }),
    cases(20),
  );
  expect(checked).toBeGreaterThan(least(200));
});

it('the unit follows the largest total, and the largest row only if there are no totals', () => {
  const shownIn = (tables: readonly Table[], units?: Parameters<typeof withDisplayUnits>[1]) =>
    withDisplayUnits(tables, units).map(({ columns }) => columns.map((column) => column.shownIn));
  const of = (id: string, rows: readonly number[], total?: number) =>
    table({
      id,
      columns: [typeColumn, MEDIAN],
      rows: rows.map((value) => row({ 'profile.type': 'entity', [MEDIAN.name]: value })),
      ...(total === undefined ? {} : { totals: { values: { [MEDIAN.name]: total } } }),
    });
  expect(shownIn([of('a', [400_000], 7_199)])).toEqual([[undefined, 'minutes']]);
  expect(shownIn([of('a', [1], 7_200), of('b', [900_000])])).toEqual([
    [undefined, 'hours'],
    [undefined, 'hours'],
  ]);
  expect(shownIn([of('a', [1], 172_800)])).toEqual([[undefined, 'days']]);
  expect(shownIn([of('a', [172_800])])).toEqual([[undefined, 'days']]);
  expect(shownIn([of('a', [])])).toEqual([[undefined, 'hours']]);
  // A unit in the report also applies to the other statistics of the same duration.
  expect(shownIn([of('a', [1], 1)], new Map([[SLOWEST.name, 'days']]))).toEqual([[undefined, 'days']]);
});
