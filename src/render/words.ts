import { isolate } from '../base/bidi.ts';
import { type Dataset, type Note, noteIn, type Table, type TableNote } from '../fetch/dataset.ts';
import { someRow } from '../fetch/rows.ts';
import type { Filter } from '../words/filter.ts';
import { DEFAULT_LOCALE, type Words, wordsOf } from '../words/words.ts';
import { type ViewColumn, viewColumns } from './columns.ts';
import { civilDate, instant, instantText, rangeText, UNDEFINED_TEXT } from './format.ts';

/** Of a table, in words: what it covers and when it was computed, what was filtered, what was added up. One short line each. */
export const tableFacts = (
  dataset: Pick<Dataset, 'period' | 'sums'>,
  table: Table,
  locale: string = DEFAULT_LOCALE,
): readonly string[] => [
  ...coverFacts(dataset, table, locale),
  ...filterFacts(table, locale),
  ...sumFacts(dataset, table, locale),
];

/** What a table covers and when it was computed; nothing of a list. */
export function coverFacts(dataset: Pick<Dataset, 'period'>, table: Table, locale: string): readonly string[] {
  const words = wordsOf(locale).table;
  const asOf = instant(table.asOf);
  const at = asOf === undefined ? undefined : instantText(asOf, dataset.period.timezone, locale);
  if (table.current) return [words.currentCounts(at)];
  return table.range === null ? [] : [words.computed(covers(table, table.range, locale), at)];
}

/** What a table is narrowed to; nothing where it is of everything. */
export function filterFacts(table: Pick<Table, 'filters'>, locale: string): readonly string[] {
  const filters = filterTexts(table, locale);
  return filters.length === 0 ? [] : [wordsOf(locale).table.onlyWhere(filters)];
}

/** Which figures are sums of several calls; nothing where each is the service's own. */
export function sumFacts({ sums }: Pick<Dataset, 'sums'>, table: Table, locale: string): readonly string[] {
  const of = sums?.[table.id];
  if (of === undefined) return [];
  return [wordsOf(locale).table.sumsOfCalls(labelsOf(table, of.cells), labelsOf(table, of.totals))];
}

const labelsOf = ({ columns }: Table, names: readonly string[]): string[] =>
  columns.filter(({ name }) => names.includes(name)).map(({ label }) => isolate(label));

function covers({ compared, compareRange }: Table, range: NonNullable<Table['range']>, locale: string): string {
  const days = rangeText(range, locale);
  if (!compared) return days;
  const other = compareRange === null ? null : rangeText(compareRange, locale);
  return wordsOf(locale).table.coversCompared(days, other);
}

/** The table's filters, `Risk is High or Severe`. */
export function filterTexts({ filters }: Pick<Table, 'filters'>, locale: string = DEFAULT_LOCALE): string[] {
  const { filterIs, filterIsNot, search } = wordsOf(locale).table;
  return filters.map((filter: Filter) => {
    if ('search' in filter) return search(filter.search);
    const label = isolate(filter.label);
    return 'is' in filter ? filterIs(label, filter.is.map(isolate)) : filterIsNot(label, filter.isNot.map(isolate));
  });
}

const first = (table: Table, which: 'from' | 'to'): Date | undefined => civilDate(table.range?.[which]);
const DAY_MS = 86_400_000;

/** First and last buckets count only the days inside the range (specification §2.8, rule 4). */
function clippedNote(table: Table): TableNote | undefined {
  const { granularity } = table;
  const from = first(table, 'from');
  const to = first(table, 'to');
  if (from === undefined || to === undefined || granularity === null || granularity === 'day') return undefined;
  const next = new Date(to.getTime() + DAY_MS);
  const starts = (date: Date) => (granularity === 'week' ? date.getUTCDay() === 1 : date.getUTCDate() === 1);
  const clipped = { first: !starts(from), last: !starts(next) };
  if (!clipped.first && !clipped.last) return undefined;
  return { code: 'partial', says: { id: 'buckets_clipped', of: { granularity, ...clipped } }, incomplete: false };
}

/** What a reader must know of this table alone: the notes it came with, and whether its ends are cut. */
export function tableNotes(table: Table, locale: string = DEFAULT_LOCALE): Note[] {
  const clipped = clippedNote(table);
  const words = wordsOf(locale);
  return [...table.notes, ...(clipped === undefined ? [] : [clipped])].map((note) => noteIn(words, note));
}

/** A note among other texts: what makes the table incomplete says so first. */
export const markedNote = ({ text, incomplete }: Note, { table }: Words): string =>
  incomplete ? table.incomplete(text) : text;

/**
 * How to read what is shown: what a dash means, what italics mean, where totals come from. Only what this table needs.
 * @param columns the table's own, where they are at hand: to make them reads all rows
 */
export function readingNotes(
  table: Table,
  locale: string = DEFAULT_LOCALE,
  showsTotals: boolean = table.totals !== undefined,
  columns: readonly ViewColumn[] = viewColumns(table, locale),
): string[] {
  const { undefinedMeans, emptyMeans, italicsMean, totalsMean } = wordsOf(locale).table;
  const missing = columns.some(({ role, seen, total }) => role !== 'label' && (total === null || seen.undefined));
  const empty = columns.some(({ role, seen }) => role === 'label' && seen.undefined);
  // Those of a file are a list's, which has no time.
  const running = table.running || (!('path' in table.rows) && someRow(table.rows, (row) => row.partial));
  return [
    ...(missing ? [undefinedMeans(UNDEFINED_TEXT)] : []),
    ...(empty ? [emptyMeans(UNDEFINED_TEXT)] : []),
    ...(running ? [italicsMean] : []),
    ...(showsTotals ? [totalsMean] : []),
  ];
}
