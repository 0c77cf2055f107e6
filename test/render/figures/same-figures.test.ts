import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Column, Dataset, Row, Table } from '../../../src/fetch/dataset.ts';
import { renderEmail } from '../../../src/render/email/render-email.ts';
import { viewColumns } from '../../../src/render/figures/columns.ts';
import { formatValue, UNDEFINED_TEXT } from '../../../src/render/figures/format-value.ts';
import { computeChange } from '../../../src/render/figures/quantity.ts';
import { showFigures } from '../../../src/render/figures/shown-change.ts';
import { escapeFormula } from '../../../src/render/formats/csv/csv-fields.ts';
import {
  bucketColumn,
  countColumn,
  dataset,
  durationColumn,
  MADE_AT,
  previous,
  ratioColumn,
  strangeColumn,
  table,
  typeColumn,
  WEEK_BEFORE,
} from '../../support/dataset.ts';
import { cases } from '../../support/fuzz.ts';
import { type cellsOf, readCsv, readHtmlTables, tableOn } from '../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../support/render-folder.ts';
import { rowsOf } from '../../support/rows.ts';

const { render } = useRenderFolder();
const DAY_MS = 86_400_000;
const METRICS = [countColumn, ratioColumn, durationColumn, strangeColumn];

const figure = (column: Column): fc.Arbitrary<number | null> => {
  const values = {
    count: fc.nat({ max: 10_000_000 }),
    ratio: fc.double({ min: 0, max: 1, noNaN: true }),
    seconds: fc.oneof(fc.nat({ max: 40_000_000 }), fc.double({ min: 0, max: 100, noNaN: true })),
  };
  const known =
    column.unit === 'count' || column.unit === 'ratio' || column.unit === 'seconds' ? values[column.unit] : undefined;
  return fc.option(known ?? fc.double({ min: -1e6, max: 1e6, noNaN: true }), { freq: 4 });
};
const figures: fc.Arbitrary<Record<string, number | null>> = fc.record(
  Object.fromEntries(METRICS.map((column) => [column.name, figure(column)])),
);

/** Between one and eight rows by day and type, with or without comparison and totals. */
const tables: fc.Arbitrary<Table> = fc
  .record({
    rows: fc.array(
      fc.record({
        values: figures,
        compare: figures,
        type: fc.constantFrom('individual', 'entity', '=1+1', 'a,"b"\nc'),
        partial: fc.boolean(),
      }),
      { minLength: 1, maxLength: 8 },
    ),
    totals: fc.option(fc.record({ values: figures, compare: figures }), { nil: undefined }),
    compared: fc.boolean(),
  })
  .map(({ rows, totals, compared }) =>
    table({
      id: 'section',
      granularity: 'day',
      comparisons: compared ? [WEEK_BEFORE] : [],
      columns: [bucketColumn, typeColumn, ...METRICS],
      rows: rows.map(
        ({ values, compare, type, partial }, index): Row => ({
          values: {
            bucket: new Date(Date.UTC(2026, 10, 1) + index * DAY_MS).toISOString().slice(0, 10),
            'profile.type': type,
            ...values,
          },
          ...(compared ? { compare: previous(compare) } : {}),
          partial,
        }),
      ),
      ...(totals === undefined
        ? {}
        : {
            totals: compared ? { values: totals.values, compare: previous(totals.compare) } : { values: totals.values },
          }),
    }),
  );

/** The raw values of the dataset, in the order of its columns. */
const expectedRows = (from: Table): (string | number | null)[][] =>
  rowsOf(from).map((row) =>
    from.columns.flatMap((column): (string | number | null)[] => {
      const value = row.values[column.name] ?? null;
      if (typeof value === 'boolean') throw new Error('no booleans here');
      if (column.kind !== 'metric') return [value];
      return from.comparisons.length === 0
        ? [value]
        : [value, row.compare?.previous_period?.values[column.name] ?? null];
    }),
  );
const expectedTotals = (from: Table): (number | null)[] =>
  METRICS.flatMap((column) => {
    const now = from.totals?.values[column.name] ?? null;
    return from.comparisons.length === 0
      ? [now]
      : [now, from.totals?.compare?.previous_period?.values[column.name] ?? null];
  });
const label = (value: string | number | null) =>
  typeColumn.values?.find((known) => known.value === value)?.label ?? value;

/** Converts a cell of the workbook back to the value of the dataset. */
const rawOf = (cell: ReturnType<typeof cellsOf>[number][number], unit: string | null, header: string) => {
  if (cell?.t === 's') return cell.v === UNDEFINED_TEXT ? null : String(cell.v);
  const value = Number(cell?.v);
  const [, shown = ''] = /\((minutes|hours|days)\)/.exec(header) ?? [];
  return unit === 'seconds' ? value * ({ minutes: 60, hours: 3_600, days: 86_400 }[shown] ?? Number.NaN) : value;
};

const close = (value: string | number | null) => (typeof value === 'number' ? expect.closeTo(value, 6) : value);

/** The label of the totals. */
const totalOf = ({ running }: Table, mark: string) => `Total${running ? mark : ''}`;

async function checkWorkbook(path: string, from: Table): Promise<void> {
  const shownTable = tableOn(path, 'section');
  const views = viewColumns(from);
  const kept = views.flatMap((view, index) => (view.role === 'change' ? [] : [{ view, index }]));
  const read = (line: (typeof shownTable.rows)[number]) =>
    kept.map(({ view, index }) => {
      const cell = line[index];
      if (view.role !== 'bucket') return rawOf(cell, view.source.unit, view.header);
      return new Date((Number(cell?.v) - 25_569) * DAY_MS).toISOString().slice(0, 10);
    });
  expect(shownTable.headers[0]).toBe('Day');
  expect(shownTable.rows.map(read)).toEqual(
    expectedRows(from).map(([bucket, type, ...rest]) => [bucket, label(type ?? null), ...rest.map(close)]),
  );
  if (from.totals === undefined) return;
  const totals = shownTable.below.find((line) => line[0]?.v === totalOf(from, ' · still running'));
  const shown = kept.slice(2).map(({ view, index }) => rawOf(totals?.[index], view.source.unit, view.header));
  expect(shown).toEqual(expectedTotals(from).map(close));
}

const fields = (values: readonly (string | number | null)[]) =>
  values.map((value) => (value === null ? '' : String(typeof value === 'string' ? escapeFormula(value) : value)));

function checkCsv(path: string, totalsPath: string | undefined, from: Table): void {
  const [, ...rows] = readCsv(path);
  expect(rows).toEqual(
    expectedRows(from).map(([bucket, type, ...rest], index) => [
      ...fields([bucket ?? null, label(type ?? null), ...rest]),
      String(rowsOf(from)[index]?.partial),
      ...from.comparisons.map(() => ''),
    ]),
  );
  if (totalsPath !== undefined) checkCsvTotals(totalsPath, from);
}

const checkCsvTotals = (path: string, from: Table) =>
  expect(readCsv(path)[1]).toEqual([
    ...fields(expectedTotals(from)),
    String(from.running),
    ...from.comparisons.map(() => ''),
  ]);

/** How many columns a table in an e-mail can have. With a comparison each metric takes two. */
const MAIL_COLUMNS = { plain: 5, compared: 7 } as const;

async function checkMail(data: Dataset, from: Table): Promise<void> {
  const { html } = await renderEmail(data, [], { run: 'r', madeAt: MADE_AT });
  const columns = viewColumns(from);
  const compared = from.comparisons.length > 0;
  const keys = columns.filter(({ role }) => role === 'bucket' || role === 'label');
  const size = compared ? 2 : 1;
  const metrics = METRICS.slice(0, Math.floor((MAIL_COLUMNS[compared ? 'compared' : 'plain'] - keys.length) / size));
  const figuresOf = ({ values, compare }: Pick<Row, 'values' | 'compare'>): string[] =>
    metrics.flatMap(({ name, unit }) => {
      const value = (values[name] ?? null) as number | null;
      const { quantity } = columns.find((column) => column.role === 'value' && column.source.name === name)!;
      const before = (compare?.previous_period?.values[name] ?? null) as number | null;
      const shown = showFigures({ value, compared: compared ? [before] : [], quantity, unit }, 'en');
      return [shown.text, ...(compared ? [shown.changeFrom(before, computeChange(unit, value, before)).text] : [])];
    });
  const [, ...rows] = readHtmlTables(html)[0] ?? [];
  const expected = rowsOf(from).map((row) => [
    ...keys.map(({ source, quantity }, index) => {
      const value = row.values[source.name] ?? null;
      const text = source === typeColumn ? String(label(value as string)) : formatValue(value, quantity);
      return index === 0 && row.partial ? `${text} (still running)` : text;
    }),
    ...figuresOf(row),
  ]);
  expect(rows.slice(0, from.rows.length)).toEqual(expected);
  if (from.totals === undefined) return;
  expect(rows.at(-1)).toEqual([totalOf(from, ' (still running)'), '', ...figuresOf(from.totals)]);
}

/** A single row, with or without a month, and totals that may differ from it. */
const singles: fc.Arbitrary<Table> = fc
  .record({
    row: fc.record({ values: figures, compare: figures, partial: fc.boolean() }),
    totals: fc.option(fc.record({ values: figures, compare: figures }), { nil: undefined }),
    same: fc.boolean(),
    compared: fc.boolean(),
    month: fc.boolean(),
  })
  .map(({ row: only, totals, same, compared, month }) => {
    const said = totals === undefined || !same ? totals : { values: only.values, compare: only.compare };
    return table({
      id: 'section',
      granularity: month ? 'month' : null,
      range: { from: '2026-11-05', to: '2026-11-12' },
      comparisons: compared ? [WEEK_BEFORE] : [],
      columns: [...(month ? [bucketColumn] : []), ...METRICS],
      rows: [
        {
          values: { ...(month ? { bucket: '2026-11-01' } : {}), ...only.values },
          ...(compared ? { compare: previous(only.compare) } : {}),
          partial: only.partial,
        },
      ],
      ...(said === undefined
        ? {}
        : { totals: compared ? { values: said.values, compare: previous(said.compare) } : { values: said.values } }),
    });
  });

/** The expected value of each metric, and with a comparison also its previous value and its change. */
const saidOf = (from: Table, of: Pick<Row, 'values' | 'compare'>): (number | null)[][] =>
  METRICS.map(({ name, unit }) => {
    const now = Number(of.values[name] ?? Number.NaN);
    const value = Number.isNaN(now) ? null : now;
    if (from.comparisons.length === 0) return [value];
    const before = of.compare?.previous_period?.values[name] ?? null;
    return [value, before, computeChange(unit, value, before).value];
  });

/** Reads the figures of each metric in the workbook: those of the row, and those of the totals if they are shown. */
function readSingle(
  path: string,
  from: Table,
): { readonly row: unknown[][]; readonly totals: unknown[][] | undefined } {
  const { headers, rows, below } = tableOn(path, 'section');
  const figuresPer = from.comparisons.length > 0 ? 3 : 1;
  const views = viewColumns(from).filter(({ role }) => role !== 'bucket');
  const read = (line: (typeof rows)[number] | undefined, first: number, metric: number) =>
    Array.from({ length: figuresPer }, (_, at) => {
      const view = views[metric * figuresPer + at];
      const quantity = view?.role === 'change' ? null : (view?.source.unit ?? null);
      return rawOf(line?.[first + at], quantity, views[metric * figuresPer]?.header ?? '');
    });
  if (headers[0] === 'Month') {
    const totals = below.find((line) => line[0]?.v === totalOf(from, ' · still running'));
    const across = (line: typeof totals) => METRICS.map((_, metric) => read(line, 1 + metric * figuresPer, metric));
    return { row: across(rows[0]), totals: totals && across(totals) };
  }
  expect(headers[0]).toBe('Metric');
  const hasTotals = headers.includes(totalOf(from, ' · still running'));
  const down = (first: number) => METRICS.map((_, metric) => read(rows[metric], first, metric));
  return { row: down(1), totals: hasTotals ? down(1 + figuresPer) : undefined };
}

it('the workbook shows every figure of a section with one row, and its totals when they differ', async () => {
  await fc.assert(
    fc.asyncProperty(singles, async (from) => {
      const artifacts = await render(dataset([from]), [{ format: 'xlsx' }, { format: 'csv' }]);
      const shown = readSingle(artifactNamed(artifacts, '.xlsx').path, from);
      const closest = (figuresOf: (number | null)[][]) => figuresOf.map((each) => each.map(close));
      const [only] = rowsOf(from);
      const row = saidOf(from, only!);
      expect(shown.row).toEqual(closest(row));
      // The workbook may leave out totals that equal the row.
      expect(shown.totals ?? shown.row).toEqual(closest(from.totals === undefined ? row : saidOf(from, from.totals)));
      if (from.totals !== undefined) checkCsvTotals(artifactNamed(artifacts, '.totals.csv').path, from);
    }),
    cases(60),
  );
});

it('the workbook compares a bucket with its own previous figure, and the totals with the whole previous period', async () => {
  const from = table({
    id: 'section',
    granularity: 'month',
    range: { from: '2026-11-05', to: '2026-11-12' },
    comparisons: [WEEK_BEFORE],
    columns: [bucketColumn, countColumn],
    rows: [
      {
        values: { bucket: '2026-11-01', [countColumn.name]: 124 },
        compare: previous({ [countColumn.name]: 62 }),
        partial: false,
      },
    ],
    totals: { values: { [countColumn.name]: 124 }, compare: previous({ [countColumn.name]: 130 }) },
  });
  const { path } = artifactNamed(await render(dataset([from]), [{ format: 'xlsx' }]), '.xlsx');
  const { headers, rows, below } = tableOn(path, 'section');
  expect(headers[0]).toBe('Month');
  expect(rows[0]?.slice(1, 4).map((cell) => cell?.v)).toEqual([124, 62, 1]);
  const totals = below.find((line) => line[0]?.v === 'Total');
  expect(totals?.slice(1, 4).map((cell) => cell?.v)).toEqual([124, 130, expect.closeTo(-6 / 130)]);
});

it('workbook, CSV and e-mail show the figures of the dataset', async () => {
  await fc.assert(
    fc.asyncProperty(tables, async (from) => {
      const data = dataset([from]);
      const artifacts = await render(data, [{ format: 'xlsx' }, { format: 'csv' }]);
      await checkWorkbook(artifactNamed(artifacts, '.xlsx').path, from);
      const totals = from.totals === undefined ? undefined : artifactNamed(artifacts, '.totals.csv').path;
      checkCsv(artifactNamed(artifacts, 'section.csv').path, totals, from);
      await checkMail(data, from);
    }),
    cases(40),
  );
});
