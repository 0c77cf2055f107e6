import type { ComparisonKind, ToDate } from '../../../definitions/schema/comparison.ts';
import type { ComparedFigures, Row, Table, TargetRecord, Value } from '../../../fetch/dataset.ts';
import { iterateRows } from '../../../fetch/rows.ts';
import { DEFAULT_LOCALE, messagesFor } from '../../../i18n/messages.ts';
import { viewColumns } from '../../figures/columns.ts';
import { valueFormatter } from '../../figures/format-value.ts';
import type { Quantity } from '../../figures/quantity.ts';
import { isRawFigure, type RawColumn, rawColumns } from '../../figures/raw-columns.ts';
import { isClipped } from '../../figures/whole-period.ts';
import { writeChunks } from '../format.ts';
import { fieldText, rawText, recordWriter, type Separator } from './csv-fields.ts';
import type { CsvOptions } from './csv-schema.ts';

/** A target in a Table Schema. Numbers are in the metric's raw unit. */
export type SchemaTarget = Omit<TargetRecord, 'metric' | 'owner' | 'note' | 'source'>;

/** A field of a Frictionless Table Schema. `unit`, `comparison` and `targets` are Docket's own additions. */
export interface SchemaField {
  /** The column's header in the file. */
  readonly name: string;
  readonly title: string;
  readonly type: 'string' | 'number' | 'integer' | 'boolean' | 'date' | 'datetime';
  /** The service's name: `count`, `ratio` (0 to 1), `seconds`, or an unknown one. */
  readonly unit?: string;
  /** Set if the figure belongs to another period; which one. Docket's own addition. */
  readonly comparison?: ComparisonKind;
  readonly to_date?: ToDate;
  readonly description?: string;
  readonly constraints?: { readonly enum: readonly string[] };
  /** The targets that its figures were judged by. */
  readonly targets?: readonly SchemaTarget[];
}

/** Excel needs it to recognize UTF-8. */
export const byteOrderMark = ({ bom }: CsvSettings): string => (bom === false ? '' : '\ufeff');
/** How many characters are written at once, so that a long list is never in memory as a whole. */
const CHUNK_LENGTH = 64 * 1024;

/** The options of an output, and the locale of its report. */
export interface CsvSettings extends CsvOptions {
  readonly separator: Separator;
  /** BCP 47, for formatted values. Default: `en-GB`. Raw files do not depend on it. */
  readonly locale?: string | undefined;
}

/** A column of a CSV file. */
export interface CsvColumn {
  /** Not yet quoted. */
  readonly header: string;
  /**
   * Null for columns that describe the row or the totals: why they are not comparable, `Still running`, and statuses.
   */
  readonly view: RawColumn | null;
  /** The column says whether the row's bucket is cut off. */
  readonly clipped?: true;
  /** The column says why this comparison is not possible. */
  readonly unlike?: ComparisonKind;
  /** Its field in the schema, if `view` does not determine it. */
  readonly described?: SchemaField;
  /** The row's field; null if it has no value. */
  readonly field: (row: Row) => string | null;
  /** The field of the service's total; undefined if it has none. */
  readonly total: string | null | undefined;
}

/** A negative number or percentage without a word for its unit, with a minus sign of any language. */
const NEGATIVE = /^[\u200e\u061c]?[-−]([\d.,'’]+(?:[\u00a0\u202f]?%)?)$/;

/**
 * The field of a formatted value, in a form in which spreadsheets read numbers. Spaces between thousands (French) are
 * removed, because they would make it a text. So would the minus sign U+2212 (Swedish), so a negative number begins with
 * a hyphen. With a word for its unit it is a text in any case, and a hyphen could start a formula: it keeps U+2212.
 */
export function formattedField(value: Value, text: string, settings: CsvSettings): string {
  if (typeof value !== 'number') return fieldText(text, settings);
  const joined = text.replaceAll(/(?<=\d)[\u00a0\u202f](?=\d)/g, '');
  const [, digits] = NEGATIVE.exec(joined) ?? [];
  return digits === undefined ? fieldText(joined.replace(/^-/, '−'), settings) : `-${digits}`;
}

const isDataColumn = ({ role }: RawColumn): boolean => role !== 'change' && role !== 'week';

/** The locale of headers and schema. Raw files are made for programs and are always in English. */
export const csvLocale = ({ values, locale }: Pick<CsvSettings, 'values' | 'locale'>): string =>
  values === 'formatted' ? (locale ?? DEFAULT_LOCALE) : DEFAULT_LOCALE;

/** In these countries Windows uses a semicolon, although some of their numbers have a decimal point. */
const SEMICOLON_REGIONS: readonly (string | undefined)[] = ['CH', 'LI'];

/**
 * The settings of an output's files. Default for `separator`: a comma in raw files, as programs expect. In formatted
 * files it is what Excel expects in the locale: a semicolon if numbers have a decimal comma.
 */
export function csvSettings(options: CsvOptions = {}, locale?: string): CsvSettings {
  if (options.separator !== undefined) return { ...options, separator: options.separator, locale };
  if (options.values !== 'formatted') return { ...options, separator: 'comma', locale };
  const used = locale ?? DEFAULT_LOCALE;
  const decimal = new Intl.NumberFormat(used).formatToParts(0.5).find(({ type }) => type === 'decimal')?.value;
  const semicolon = decimal === ',' || SEMICOLON_REGIONS.includes(new Intl.Locale(used).region);
  return { ...options, separator: semicolon ? 'semicolon' : 'comma', locale };
}

/** Whether the table covers a period. False for lists and current counts. */
export const hasPeriod = ({ granularity, current, columns }: Table): boolean =>
  granularity !== null || (!current && columns.some(({ kind }) => kind === 'metric'));

/**
 * The columns of a section's CSV file, in order. Changes are left out, because they follow from the current and the
 * previous value. Formatted values need a scan of all rows.
 */
export function csvColumns(table: Table, settings: CsvSettings): readonly CsvColumn[] {
  const { values } = settings;
  const locale = csvLocale(settings);
  const escapeText = (text: string): string => fieldText(text, settings);
  const formatted = (quantity: Quantity): ((value: Value) => string) => {
    const format = valueFormatter(quantity, locale);
    return (value) => formattedField(value, format(value), settings);
  };
  const column = (view: RawColumn, header: string, text: (value: Value) => string | null): CsvColumn => ({
    header: escapeText(header),
    view,
    field: (row) => text(view.read(row)),
    total: view.total === undefined ? undefined : text(view.total),
  });
  const rawField = rawText(escapeText);
  const columns =
    values === 'formatted'
      ? viewColumns(table, locale)
          .filter(isDataColumn)
          .map((view) => column(view, view.plainHeader, formatted(view.quantity)))
      : rawColumns(table)
          .filter(isDataColumn)
          .map((view) => column(view, view.rawHeader, rawField));
  // Every table with a period has these columns, so that the shape of the file does not depend on the day of the run.
  if (!hasPeriod(table)) return columns;
  const text = values === 'formatted' ? formatted({ kind: 'text' }) : rawField;
  const words = messagesFor(locale).table.schema;
  const formatReason = (compared: ComparedFigures | undefined): string | null => {
    const reason = compared?.unlike;
    return text(reason === undefined ? null : values === 'formatted' ? words.unlikeReason[reason] : reason);
  };
  const reasonColumns = table.comparisons.map(
    ({ kind }): CsvColumn => ({
      header: words.unlike(kind),
      view: null,
      unlike: kind,
      field: (row) => formatReason(row.compare?.[kind]),
      total: formatReason(table.totals?.compare?.[kind]),
    }),
  );
  const running: CsvColumn = {
    header: words.running,
    view: null,
    field: (row) => text(row.partial),
    total: text(table.running),
  };
  const { granularity } = table;
  if (granularity === null || granularity === 'day') return [...columns, running, ...reasonColumns];
  const clipped: CsvColumn = {
    header: words.clipped,
    view: null,
    clipped: true,
    field: ({ values: { bucket } }) => text(typeof bucket === 'string' && isClipped(table, bucket, granularity)),
    // Totals have no bucket.
    total: undefined,
  };
  // New columns come last, so that the others keep their position.
  return [...columns, running, ...reasonColumns, clipped];
}

/**
 * Numbers columns whose names repeat, because programs look up columns by name. A report's `labels` may give a column
 * the name of one of Docket's own.
 */
export function withUniqueHeaders(columns: readonly CsvColumn[]): readonly CsvColumn[] {
  const taken = new Set(columns.flatMap(({ view, header }) => (view === null ? [] : header.toLowerCase())));
  return columns.map((column): CsvColumn => {
    if (column.view !== null) return column;
    let { header } = column;
    for (let count = 2; taken.has(header.toLowerCase()); count += 1) header = `${column.header} (${count})`;
    taken.add(header.toLowerCase());
    const { described } = column;
    return { ...column, header, ...(described === undefined ? {} : { described: { ...described, name: header } }) };
  });
}

/** The header record, after the byte order mark. */
const headerRecord = (columns: readonly CsvColumn[], settings: CsvSettings): string =>
  byteOrderMark(settings) + recordWriter(settings.separator)(columns.map(({ header }) => header));

function* csvChunks(table: Table, columns: readonly CsvColumn[], settings: CsvSettings): Iterable<string> {
  const record = recordWriter(settings.separator);
  let chunk = headerRecord(columns, settings);
  for (const row of iterateRows(table.rows)) {
    chunk += record(columns.map(({ field }) => field(row)));
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = '';
  }
  yield chunk;
}

/**
 * Writes one section as CSV: UTF-8, with a byte order mark unless `bom` is false, CRLF (RFC 4180), fields separated by
 * `separator`, a header with labels and units. Values are raw (ratio 0–1, seconds, ISO dates; empty if undefined) or
 * formatted; enum values are shown as labels. Unless `raw`, texts are escaped against formulas. Totals go into a file
 * of their own, because a sum over a column would count them twice. `path` must not exist.
 */
export const writeCsv = (
  path: string,
  table: Table,
  columns: readonly CsvColumn[],
  settings: CsvSettings,
  signal: AbortSignal,
): Promise<void> => writeChunks(path, csvChunks(table, columns, settings), signal);

/** The columns of the totals: metrics, the values they are compared with, and columns that describe the whole range. */
export const totalsColumns = (columns: readonly CsvColumn[]): readonly CsvColumn[] =>
  columns.filter(({ view, clipped }) => (view === null ? clipped !== true : isRawFigure(view.role)));

/** Writes the service's totals of a section: one row with `totalsColumns`. */
export function writeTotalsCsv(
  path: string,
  columns: readonly CsvColumn[],
  settings: CsvSettings,
  signal: AbortSignal,
): Promise<void> {
  const totals = recordWriter(settings.separator)(columns.map(({ total }) => total ?? null));
  return writeChunks(path, [headerRecord(columns, settings) + totals], signal);
}
