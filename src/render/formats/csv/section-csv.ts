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

/** A target as a Table Schema describes it: numbers in the raw unit of the metric. */
export type SchemaTarget = Omit<TargetRecord, 'metric' | 'owner' | 'note' | 'source'>;

/** A field of a Frictionless Table Schema; `unit` and `targets` are ours. */
export interface SchemaField {
  /** The column's header in the file. */
  readonly name: string;
  readonly title: string;
  readonly type: 'string' | 'number' | 'integer' | 'boolean' | 'date' | 'datetime';
  /** The service's name: `count`, `ratio` (0 to 1), `seconds`, or an unknown one. */
  readonly unit?: string;
  /** What the figure belongs to, other than the period itself; ours. */
  readonly comparison?: ComparisonKind;
  readonly to_date?: ToDate;
  readonly description?: string;
  readonly constraints?: { readonly enum: readonly string[] };
  /** What its figures were judged by. */
  readonly targets?: readonly SchemaTarget[];
}

/** Excel needs it. */
export const byteOrderMark = ({ bom }: CsvSettings): string => (bom === false ? '' : '\ufeff');
/** Characters written at once, so that a long list is never in memory as a whole. */
const CHUNK_LENGTH = 64 * 1024;

/** The options of an output and the locale of its report. */
export interface CsvSettings extends CsvOptions {
  readonly separator: Separator;
  /** BCP 47, for formatted values; `en-GB` when absent. Raw files do not depend on it. */
  readonly locale?: string | undefined;
}

/** A column of a CSV file. */
export interface CsvColumn {
  /** Not yet quoted. */
  readonly header: string;
  /** Null for columns that describe the row or the totals: why they must not be compared, `Still running`, and statuses. */
  readonly view: RawColumn | null;
  /** Says whether the row's bucket is cut off. */
  readonly clipped?: true;
  /** The comparison whose obstacle the column shows. */
  readonly unlike?: ComparisonKind;
  /** Its field in the schema, where that does not follow from `view`. */
  readonly described?: SchemaField;
  /** The row's field; null where it has no value. */
  readonly field: (row: Row) => string | null;
  /** The field of the service's total; undefined without a total. */
  readonly total: string | null | undefined;
}

/**
 * A formatted number as spreadsheets read it: without spaces between thousands (French), which would make it a text, and with
 * the minus sign U+2212 for a leading hyphen, which would start a formula.
 */
export const toReadableNumber = (value: Value, text: string): string =>
  typeof value === 'number' ? text.replace(/^-/, '−').replaceAll(/(?<=\d)[\u00a0\u202f](?=\d)/g, '') : text;

const isDataColumn = ({ role }: RawColumn): boolean => role !== 'change' && role !== 'week';

/** The locale of headers and schema. Raw files are for programs and always English. */
export const csvLocale = ({ values, locale }: Pick<CsvSettings, 'values' | 'locale'>): string =>
  values === 'formatted' ? (locale ?? DEFAULT_LOCALE) : DEFAULT_LOCALE;

/** Windows' settings of these countries have a semicolon, though some of their numbers have a decimal point. */
const SEMICOLON_REGIONS: readonly (string | undefined)[] = ['CH', 'LI'];

/**
 * The settings of an output's files. Without `separator`, raw files have commas, as programs expect, and formatted ones what
 * Excel expects in the locale: where a comma begins the decimals, a semicolon.
 */
export function csvSettings(options: CsvOptions = {}, locale?: string): CsvSettings {
  if (options.separator !== undefined) return { ...options, separator: options.separator, locale };
  if (options.values !== 'formatted') return { ...options, separator: 'comma', locale };
  const used = locale ?? DEFAULT_LOCALE;
  const decimal = new Intl.NumberFormat(used).formatToParts(0.5).find(({ type }) => type === 'decimal')?.value;
  const semicolon = decimal === ',' || SEMICOLON_REGIONS.includes(new Intl.Locale(used).region);
  return { ...options, separator: semicolon ? 'semicolon' : 'comma', locale };
}

/** False for lists and current counts. */
export const hasPeriod = ({ granularity, current, columns }: Table): boolean =>
  granularity !== null || (!current && columns.some(({ kind }) => kind === 'metric'));

/**
 * The columns of a section's CSV file in order, without changes, which follow from the current and the previous value.
 * Formatted values need a scan of all rows.
 */
export function csvColumns(table: Table, settings: CsvSettings): readonly CsvColumn[] {
  const { values } = settings;
  const locale = csvLocale(settings);
  const escapeText = (text: string): string => fieldText(text, settings);
  const formatted = (quantity: Quantity): ((value: Value) => string) => {
    const format = valueFormatter(quantity, locale);
    return (value) => escapeText(toReadableNumber(value, format(value)));
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
  // Every table with a period has the column, so that the file's shape does not depend on the day of the run.
  if (!hasPeriod(table)) return columns;
  const text = values === 'formatted' ? formatted({ kind: 'text' }) : rawField;
  const words = messagesFor(locale).table.schema;
  const unlikeText = (compared: ComparedFigures | undefined): string | null => {
    const reason = compared?.unlike;
    return text(reason === undefined ? null : values === 'formatted' ? words.unlikeReason[reason] : reason);
  };
  const unlike = table.comparisons.map(
    ({ kind }): CsvColumn => ({
      header: words.unlike(kind),
      view: null,
      unlike: kind,
      field: (row) => unlikeText(row.compare?.[kind]),
      total: unlikeText(table.totals?.compare?.[kind]),
    }),
  );
  const running: CsvColumn = {
    header: words.running,
    view: null,
    field: (row) => text(row.partial),
    total: text(table.running),
  };
  const { granularity } = table;
  if (granularity === null || granularity === 'day') return [...columns, running, ...unlike];
  const clipped: CsvColumn = {
    header: words.clipped,
    view: null,
    clipped: true,
    field: ({ values: { bucket } }) => text(typeof bucket === 'string' && isClipped(table, bucket, granularity)),
    // Totals have no bucket.
    total: undefined,
  };
  // The last one, so that the others stay in their place.
  return [...columns, running, ...unlike, clipped];
}

/** A report's `labels` may call a column as Docket calls one of its own, which is then numbered: readers go by name. */
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

/** The header, after the byte order mark. */
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
 * Writes one section as CSV: UTF-8, with a byte order mark unless `bom` is false, CRLF (RFC 4180), fields separated as `separator`
 * says, a header of label and unit. Raw values (ratio 0–1, seconds, ISO dates) with an empty field where a figure is undefined, or
 * formatted ones; enum values by label. Unless `raw`, texts are escaped against formulas. Totals go into a file of their
 * own, because a sum over a column would count them twice. `path` must not exist.
 */
export const writeCsv = (
  path: string,
  table: Table,
  columns: readonly CsvColumn[],
  settings: CsvSettings,
  signal: AbortSignal,
): Promise<void> => writeChunks(path, csvChunks(table, columns, settings), signal);

/** The columns of the totals: metrics, their compared values, and those that describe the whole range. */
export const totalsColumns = (columns: readonly CsvColumn[]): readonly CsvColumn[] =>
  columns.filter(({ view, clipped }) => (view === null ? clipped !== true : isRawFigure(view.role)));

/** Writes the service's totals of a section: one row of `totalsColumns`. */
export function writeTotalsCsv(
  path: string,
  columns: readonly CsvColumn[],
  settings: CsvSettings,
  signal: AbortSignal,
): Promise<void> {
  const totals = recordWriter(settings.separator)(columns.map(({ total }) => total ?? null));
  return writeChunks(path, [headerRecord(columns, settings) + totals], signal);
}
