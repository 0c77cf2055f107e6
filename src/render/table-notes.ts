import { isolateBidi } from '../base/text/bidi.ts';
import { DAY_MS } from '../base/time.ts';
import type { Dataset, Table } from '../fetch/dataset.ts';
import { formatNote, type Note, type TableNote, tableNotesOnce } from '../fetch/notes.ts';
import { someRow } from '../fetch/rows.ts';
import { DEFAULT_LOCALE, messagesFor, type Words } from '../i18n/messages.ts';
import type { FilterDescription } from '../i18n/note.ts';
import { type ViewColumn, viewColumns } from './figures/columns.ts';
import { formatDateRange, formatZonedInstant } from './figures/format-date.ts';
import { UNDEFINED_TEXT } from './figures/format-value.ts';
import { isNotComparable, parseCivilDate, parseIsoInstant } from './figures/quantity.ts';

/**
 * Facts about a table, one line each: what it covers and when it was computed, its filters, and which figures are sums.
 */
export const tableFacts = (
  dataset: Pick<Dataset, 'period' | 'sums'>,
  table: Table,
  locale: string = DEFAULT_LOCALE,
): readonly string[] => [
  ...coverageFacts(dataset, table, locale),
  ...filterFacts(table, locale),
  ...sumFacts(dataset, table, locale),
];

/** What a table covers and when it was computed; empty for a list. */
export function coverageFacts(dataset: Pick<Dataset, 'period'>, table: Table, locale: string): readonly string[] {
  const words = messagesFor(locale).table;
  const asOf = parseIsoInstant(table.asOf);
  const at = asOf === undefined ? undefined : formatZonedInstant(asOf, dataset.period.timezone, locale);
  if (table.current) return [words.currentCounts(at)];
  if (table.range === null) return [];
  const covers = coverageText(table, table.range, locale);
  if (table.readings === undefined) return [words.computed(covers, at)];
  // If there are several readings, the note says when the latest was taken.
  return [words.read(covers, table.granularity === null ? at : undefined)];
}

/** Whether its values are readings of current counts, whether taken, missed or still due. */
export const isOfReadings = ({ readings }: Pick<Table, 'readings'>): boolean => readings !== undefined;

/** The heading of totals. For readings over time these are the counts of the last day, not sums. */
export const totalHeading = (table: Pick<Table, 'readings' | 'granularity'>, { table: words }: Words): string =>
  table.granularity !== null && isOfReadings(table) ? words.lastDay : words.total;

/**
 * The filters of a table, if it does not cover everything. In the report of one `split` value, a table that covers
 * everything says so.
 */
export function filterFacts(table: Pick<Table, 'filters' | 'unsplit'>, locale: string): readonly string[] {
  const words = messagesFor(locale).table;
  const filters = describeFilters(table, locale);
  return [...(table.unsplit ? [words.ofEverything] : []), ...(filters.length === 0 ? [] : [words.onlyWhere(filters)])];
}

/** Which figures are sums over several calls; empty if the service computed all of them. */
export function sumFacts({ sums }: Pick<Dataset, 'sums'>, table: Table, locale: string): readonly string[] {
  // A Map, because a section may be called "constructor".
  const of = new Map(Object.entries(sums ?? {})).get(table.id);
  if (of === undefined) return [];
  return [messagesFor(locale).table.sumsOfCalls(columnLabels(table, of.cells), columnLabels(table, of.totals))];
}

const columnLabels = ({ columns }: Table, names: readonly string[]): string[] =>
  columns.filter(({ name }) => names.includes(name)).map(({ label }) => isolateBidi(label));

function coverageText({ comparisons, toDate }: Table, range: NonNullable<Table['range']>, locale: string): string {
  const words = messagesFor(locale).table;
  const days = formatDateRange(range, locale);
  // If buckets and totals are compared with different days, the days of the totals are named.
  const others = comparisons.map(({ kind, range: whole, rows = null }) => {
    const other = whole ?? rows;
    return { kind, days: other === null ? null : formatDateRange(other, locale) };
  });
  const covers = others.length === 0 ? days : words.coversCompared(days, others);
  return toDate === undefined ? covers : words.coversToDate(covers, toDate.unit, formatDateRange(toDate.range, locale));
}

/** The table's filters, e.g. `Risk is High or Severe`. */
export function describeFilters({ filters }: Pick<Table, 'filters'>, locale: string = DEFAULT_LOCALE): string[] {
  const { filterIs, filterIsNot, search } = messagesFor(locale).table;
  return filters.map((filter: FilterDescription) => {
    if ('search' in filter) return search(filter.search);
    const label = isolateBidi(filter.label);
    return 'is' in filter
      ? filterIs(label, filter.is.map(isolateBidi))
      : filterIsNot(label, filter.isNot.map(isolateBidi));
  });
}

const rangeDay = (table: Table, which: 'from' | 'to'): Date | undefined => parseCivilDate(table.range?.[which]);

/** A note that the first and the last bucket count only their days inside the range (specification §2.8, rule 4). */
function clippedBucketsNote(table: Table): TableNote | undefined {
  // A reading belongs to the bucket's last day inside the range, which is noted. It counts no days.
  if (table.readings !== undefined) return undefined;
  const { granularity } = table;
  const from = rangeDay(table, 'from');
  const to = rangeDay(table, 'to');
  if (from === undefined || to === undefined || granularity === null || granularity === 'day') return undefined;
  const next = new Date(to.getTime() + DAY_MS);
  const starts = (date: Date) => (granularity === 'week' ? date.getUTCDay() === 1 : date.getUTCDate() === 1);
  const clipped = { first: !starts(from), last: !starts(next) };
  if (!clipped.first && !clipped.last) return undefined;
  return { code: 'partial', message: { id: 'buckets_clipped', of: { granularity, ...clipped } }, incomplete: false };
}

/** The notes of a table, including one about clipped first and last buckets. */
export function tableNotes(table: Table, locale: string = DEFAULT_LOCALE): Note[] {
  const clipped = clippedBucketsNote(table);
  const words = messagesFor(locale);
  return [...tableNotesOnce(table), ...(clipped === undefined ? [] : [clipped])].map((note) => formatNote(words, note));
}

/** What a data file says about its table, one sentence per line; empty if there is nothing to say. */
export function tableDescription(
  dataset: Pick<Dataset, 'period' | 'sums'>,
  table: Table,
  locale: string = DEFAULT_LOCALE,
): string {
  const words = messagesFor(locale);
  const notes = tableNotes(table, locale).map((note) => incompleteNoteText(note, words));
  return [...tableFacts(dataset, table, locale), ...notes].join('\n');
}

/** More rows than readers compare one by one: all figures of a column get the same decimals. */
const LONG_TABLE = 12;
export const isLong = ({ rows }: Pick<Table, 'rows'>): boolean => rows.length > LONG_TABLE;

/** The text of a note. A note that makes the table incomplete says so first. */
export const incompleteNoteText = ({ text, incomplete }: Note, { table }: Words): string =>
  incomplete ? table.incomplete(text) : text;

/**
 * The legend of a table: the meaning of dashes and italics, and the source of totals. It explains only what this table
 * shows.
 * @param columns the table's; computing the default scans all rows
 */
export function legendNotes(
  table: Table,
  locale: string = DEFAULT_LOCALE,
  showsTotals: boolean = table.totals !== undefined,
  columns: readonly ViewColumn[] = viewColumns(table, locale),
): string[] {
  const { undefinedMeans, emptyMeans, italicsMean, totalsMean, unrounded } = messagesFor(locale).table;
  const missing = columns.some(
    (column) =>
      column.role !== 'label' &&
      (column.contents.undefined || (column.total === null && !isNotComparable(column, table.totals ?? {}))),
  );
  const empty = columns.some(({ role, contents }) => role === 'label' && contents.undefined);
  // Rows in a file belong to a list, which has no buckets.
  const running = table.running || (!('path' in table.rows) && someRow(table.rows, (row) => row.partial));
  return [
    ...(missing ? [undefinedMeans(UNDEFINED_TEXT)] : []),
    ...(empty ? [emptyMeans(UNDEFINED_TEXT)] : []),
    ...(running ? [italicsMean] : []),
    ...(isLong(table) && columns.some(({ role }) => role === 'change') ? [unrounded] : []),
    // Readings of the last day are not totals.
    ...(showsTotals && table.readings === undefined ? [totalsMean] : []),
  ];
}
