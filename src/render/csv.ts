import type { CsvOptions } from '../define/target.ts';
import type { Row, Table, Value } from '../fetch/dataset.ts';
import { rowsIn } from '../fetch/rows.ts';
import { DEFAULT_LOCALE, wordsOf } from '../words/words.ts';
import { type RawColumn, rawColumns, viewColumns } from './columns.ts';
import { field, neutral, rawField, record } from './csv-text.ts';
import { type Quantity, valueReader } from './format.ts';
import { writePieces } from './write-file.ts';

const BOM = '\ufeff';
/** Characters. Large enough to be quick, small enough that a long list never stands in memory as one string. */
const PIECE = 64 * 1024;

/** How a section's files are written. */
export interface CsvSettings extends CsvOptions {
  /** BCP 47, for formatted values; `en-GB` when absent. Raw files are the same for all readers. */
  readonly locale?: string | undefined;
}

/** A column of a CSV file, ready to be written. */
export interface CsvColumn {
  /** The first field of the column, before it is quoted. */
  readonly header: string;
  /** Null for `Still running`, which is about the row or the totals. */
  readonly view: RawColumn | null;
  /** The row's field, quoted. */
  readonly field: (row: Row) => string;
  /** The field of the service's total, quoted; undefined where there is none. */
  readonly total: string | undefined;
}

const unchanged = (text: string): string => text;

/** A spreadsheet takes a leading hyphen for the begin of a formula; the true minus sign reads the same and is not one. */
const asText = (value: Value, text: string): string => (typeof value === 'number' ? text.replace(/^-/, '−') : text);

const isData = ({ role }: RawColumn): boolean => role !== 'change' && role !== 'week';

/** Of the headers and of the schema: programs read raw files, in one language wherever they come from. */
export const csvLocale = ({ values, locale }: CsvSettings): string =>
  values === 'formatted' ? (locale ?? DEFAULT_LOCALE) : DEFAULT_LOCALE;

/** Lists and current counts have none. */
const hasPeriod = ({ granularity, current, columns }: Table): boolean =>
  granularity !== null || (!current && columns.some(({ kind }) => kind === 'metric'));

/**
 * The columns of a section's CSV file in order. Changes are left out: they follow from the two values beside them, and
 * an analyst computes from those.
 */
export function csvColumns(table: Table, settings: CsvSettings): readonly CsvColumn[] {
  const { values, raw } = settings;
  const locale = csvLocale(settings);
  const guard = raw === true ? unchanged : neutral;
  const formatted = (quantity: Quantity): ((value: Value) => string) => {
    const read = valueReader(quantity, locale);
    return (value) => field(guard(asText(value, read(value))));
  };
  const column = (view: RawColumn, header: string, text: (value: Value) => string): CsvColumn => ({
    header: guard(header),
    view,
    field: (row) => text(view.read(row)),
    total: view.total === undefined ? undefined : text(view.total),
  });
  const asIs = rawField(guard);
  const columns =
    values === 'formatted'
      ? viewColumns(table, locale)
          .filter(isData)
          .map((view) => column(view, view.plainHeader, formatted(view.quantity)))
      : rawColumns(table)
          .filter(isData)
          .map((view) => column(view, view.rawHeader, asIs));
  // Of a table with a period it is always there, so that the file's shape does not depend on the day it was made.
  if (!hasPeriod(table)) return columns;
  const running = values === 'formatted' ? formatted({ kind: 'text' }) : asIs;
  const header = wordsOf(locale).table.schema.running;
  return [...columns, { header, view: null, field: (row) => running(row.partial), total: running(table.running) }];
}

const headerOf = (columns: readonly CsvColumn[], { bom }: CsvSettings): string =>
  (bom === false ? '' : BOM) + record(columns.map(({ header }) => field(header)).join(','));

function* dataPieces(table: Table, columns: readonly CsvColumn[], settings: CsvSettings): Iterable<string> {
  const fields = columns.map((column) => column.field);
  let piece = headerOf(columns, settings);
  for (const row of rowsIn(table.rows)) {
    let line = '';
    let comma = '';
    for (const text of fields) {
      line += comma + text(row);
      comma = ',';
    }
    piece += record(line);
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

/**
 * One section as CSV: UTF-8, with a byte order mark unless `bom` is false (Excel needs it), CRLF (RFC 4180), a header of
 * label and unit. Raw values (ratio 0–1, seconds, ISO dates) with nothing where a figure is undefined, or formatted
 * ones; enum values by label. Unless `raw`, texts that a spreadsheet would run as a formula get an apostrophe in front.
 * `path` must not exist. The totals are not in it: a sum over a column would count them twice. See `writeTotalsCsv`.
 */
export const writeCsv = (
  path: string,
  table: Table,
  columns: readonly CsvColumn[],
  settings: CsvSettings,
  signal: AbortSignal,
): Promise<void> => writePieces(path, dataPieces(table, columns, settings), signal);

/** Of the columns, those of the totals: metrics, their previous period, and whether the range is still running. */
export const totalsColumns = (columns: readonly CsvColumn[]): readonly CsvColumn[] =>
  columns.filter(({ view }) => view === null || view.role === 'value' || view.role === 'previous');

/** The service's own totals of a section: one row of `totalsColumns`. */
export function writeTotalsCsv(
  path: string,
  columns: readonly CsvColumn[],
  settings: CsvSettings,
  signal: AbortSignal,
): Promise<void> {
  const totals = columns.map(({ total }) => total ?? '').join(',');
  return writePieces(path, [headerOf(columns, settings) + record(totals)], signal);
}
