import { DocketError } from '../../../base/error.ts';
import { DURATION_UNITS } from '../../../definitions/schema/values/units.ts';
import type { Column, Dataset, Judgement, Row, Table, Value } from '../../../fetch/dataset.ts';
import { lacksCurrentCounts } from '../../../fetch/notes.ts';
import { firstRows, iterateRows } from '../../../fetch/rows.ts';
import { messagesFor } from '../../../i18n/messages.ts';
import type { Figures } from '../../../render/figures/change-text.ts';
import { formatIsoWeek } from '../../../render/figures/format-date.ts';
import {
  changeIn,
  fieldQuantities,
  parseCivilDate,
  parseIsoInstant,
  type Quantity,
} from '../../../render/figures/quantity.ts';
import { labelReader } from '../../../render/figures/raw-columns.ts';
import { judgementsByMetric, type MetricJudgements } from '../../../render/figures/status-text.ts';
import { findTotals } from '../../../render/figures/total-figures.ts';
import type { BoundTable, CellValue, ColumnTarget, NameTarget } from './bindings.ts';
import { createInstantReader, excelDate } from './excel-dates.ts';
import { type ReportTextOptions, reportDate, reportText } from './report-texts.ts';

export interface ValueOptions extends ReportTextOptions {
  /** BCP 47: the language of statuses and sentences. */
  readonly locale: string;
}

/** The rows of a section as cell values, one for each of the table's columns. */
export interface TableRows {
  readonly length: number;
  /** Can be iterated repeatedly; rows in a file are read in chunks. Null for the author's own columns. */
  readonly rows: Iterable<readonly CellValue[]>;
}

/** What the readers of one table share. */
interface TableContext {
  readonly dataset: Dataset;
  readonly table: Table;
  readonly judgements: ReadonlyMap<string, MetricJudgements>;
  readonly statusNames: Readonly<Record<Judgement['status'], string>>;
}

type ReadRow = (row: Row) => CellValue;

/** @param targets the figures to read: judgements of other metrics are left out */
function tableContext(
  dataset: Dataset,
  section: string,
  targets: readonly (ColumnTarget | null)[],
  locale: string,
): TableContext {
  const table = dataset.tables.find(({ id }) => id === section);
  if (table === undefined)
    throw new DocketError('internal.defect', 'A template is bound to a section that the dataset does not have.', {
      got: section,
    });
  const judged = new Set(
    targets.flatMap((target) =>
      target?.figure?.figure === 'status' || target?.figure?.figure === 'target' ? [target.column] : [],
    ),
  );
  const own = (dataset.judgements ?? []).filter((each) => each.section === section && judged.has(each.metric));
  return {
    dataset,
    table,
    judgements: judgementsByMetric(table, own),
    statusNames: messagesFor(locale).status.names,
  };
}

function requireSource({ table }: TableContext, { column }: ColumnTarget): Column {
  const source = table.columns.find(({ name }) => name === column);
  if (source === undefined)
    throw new DocketError('internal.defect', 'A template is bound to a column that the table does not have.', {
      where: table.id,
      got: column,
    });
  return source;
}

/** Converts a raw value to the unit of its cell. */
const inCellUnit = (value: Value | undefined, { unit }: ColumnTarget): CellValue =>
  typeof value === 'number' && unit !== undefined ? value / DURATION_UNITS[unit] : (value ?? null);

/** A metric's figure in a row or in the totals. @param judgement of the same row or totals */
function readFigure(
  source: Column,
  target: ColumnTarget,
  figures: Figures,
  judgement: Judgement | undefined,
  { dataset, statusNames }: TableContext,
): CellValue {
  const { figure = { figure: 'value' } } = target;
  switch (figure.figure) {
    case 'value':
      return inCellUnit(figures.values[source.name], target);
    case 'previous':
      return inCellUnit(figures.compare?.[figure.comparison]?.values[source.name], target);
    case 'change':
      return changeIn(source, figures.values, figures.compare?.[figure.comparison]).value;
    case 'to_date':
      return inCellUnit(figures.toDate?.[source.name], target);
    case 'target':
      return inCellUnit(judgement === undefined ? null : dataset.targets?.[judgement.target]?.target, target);
    case 'status':
      return judgement === undefined ? null : statusNames[judgement.status];
  }
}

/**
 * Returns the judgement of a metric in a row. A row without bucket and groups uses the judgement of the totals, if that
 * is about the same value.
 */
function judgementReader(source: Column, { table, judgements }: TableContext): (row: Row) => Judgement | undefined {
  const judged = judgements.get(source.name);
  if (judged === undefined) return () => undefined;
  const { ofRow, ofTotals } = judged;
  const single = table.granularity === null && !table.columns.some(({ kind }) => kind === 'dimension');
  return (row) =>
    ofRow(row) ?? (single && ofTotals?.figure === (row.values[source.name] ?? null) ? ofTotals : undefined);
}

function bucketReader({ name }: Column, { as }: ColumnTarget): ReadRow {
  return ({ values }) => {
    const value = values[name] ?? null;
    const day = parseCivilDate(value);
    if (day === undefined) return value;
    return as === 'week' ? formatIsoWeek(day) : (excelDate(day) ?? value);
  };
}

/** Reads a field of a list as Docket's own workbook does: a number, day, instant or text. */
function fieldReader(column: Column, { as }: ColumnTarget, quantity: Quantity | undefined, timezone: string): ReadRow {
  const read = labelReader(column);
  const inZone = createInstantReader(as === 'utc' ? 'UTC' : timezone);
  return (row) => {
    const value = read(row);
    if (typeof value === 'number') return quantity?.kind === 'text' ? String(value) : value;
    if (typeof value !== 'string') return value;
    if (quantity?.kind === 'day') {
      const day = parseCivilDate(value);
      return (day && excelDate(day)) ?? value;
    }
    if (quantity?.kind !== 'instant') return value;
    const at = parseIsoInstant(value);
    return (at && inZone(at)) ?? value;
  };
}

/**
 * The rows of a bound table. For a list, all rows are scanned first to find out the kind of each field.
 * @param bound result of `bindTemplate` with the dataset's outline
 */
export function tableRows(
  dataset: Dataset,
  { section, columns }: Pick<BoundTable, 'section' | 'columns'>,
  { locale }: Pick<ValueOptions, 'locale'>,
): TableRows {
  const context = tableContext(dataset, section, columns, locale);
  const { table } = context;
  const sources = columns.map((target) => (target === null ? undefined : requireSource(context, target)));
  const quantities = sources.some((source) => source?.kind === 'field') ? fieldQuantities(table) : undefined;
  const readers = columns.map((target, index): ReadRow => {
    const source = sources[index];
    if (target === null || source === undefined) return () => null;
    if (source.kind === 'time') return bucketReader(source, target);
    if (source.kind === 'dimension') return labelReader(source);
    if (source.kind === 'field')
      return fieldReader(source, target, quantities?.get(source.name), table.period.timezone);
    const judged = judgementReader(source, context);
    return (row) => readFigure(source, target, row, judged(row), context);
  });
  return {
    length: table.rows.length,
    rows: { [Symbol.iterator]: () => readRows(table, readers) },
  };
}

function* readRows({ rows }: Table, readers: readonly ReadRow[]): Generator<readonly CellValue[]> {
  for (const row of iterateRows(rows)) yield readers.map((read) => read(row));
}

/** The total of a section's metric; null if it has none. */
function readTotal(dataset: Dataset, section: string, target: ColumnTarget, locale: string): CellValue {
  const context = tableContext(dataset, section, [target], locale);
  const { table } = context;
  const figures = lacksCurrentCounts(table) ? undefined : findTotals(table);
  if (figures === undefined) return null;
  const source = requireSource(context, target);
  const judgement =
    context.judgements.get(source.name)?.ofTotals ??
    (table.totals === undefined ? judgementOfSingleRow(source, context) : undefined);
  return readFigure(source, target, figures, judgement, context);
}

function judgementOfSingleRow(source: Column, context: TableContext): Judgement | undefined {
  const [row] = firstRows(context.table.rows, 1);
  return row === undefined ? undefined : judgementReader(source, context)(row);
}

/** The value for the cell of a defined name. Null leaves the cell empty. */
export function nameValue(dataset: Dataset, target: NameTarget, options: ValueOptions): CellValue {
  switch (target.kind) {
    case 'figure':
      return readTotal(dataset, target.section, target.target, options.locale);
    case 'date':
      return reportDate(dataset, target.of, options);
    default:
      return reportText(dataset, target, options);
  }
}
