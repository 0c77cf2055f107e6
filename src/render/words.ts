import type { Dataset, Note, Table } from '../fetch/dataset.ts';
import { someRow } from '../fetch/rows.ts';
import { type ViewColumn, viewColumns } from './columns.ts';
import { civilDate, DEFAULT_LOCALE, instant, instantText, rangeText, UNDEFINED_TEXT } from './format.ts';

/** Of a table, in words: what it covers and when it was computed, then what was filtered. One short line each. */
export function tableFacts(dataset: Pick<Dataset, 'period'>, table: Table, locale: string = DEFAULT_LOCALE): string[] {
  const zone = dataset.period.timezone;
  const asOf = instant(table.asOf);
  const computed = asOf === undefined ? undefined : instantText(asOf, zone, locale);
  const facts: string[] = [];
  if (table.current) {
    facts.push(
      `Current counts${computed === undefined ? '' : `, as of ${computed}`}. The period does not apply to them.`,
    );
  } else if (table.range !== null) {
    facts.push(
      `${rangeText(table.range, locale)}${comparedWith(table, locale)}${computed === undefined ? '' : `. Computed ${computed}`}.`,
    );
  }
  if (table.filters.length > 0) facts.push(`Only where ${table.filters.join(' and ')}.`);
  return facts;
}

function comparedWith({ compared, compareRange }: Table, locale: string): string {
  if (!compared) return '';
  return `, compared with ${compareRange === null ? 'the previous period (its days are not known)' : rangeText(compareRange, locale)}`;
}

const first = (table: Table, which: 'from' | 'to'): Date | undefined => civilDate(table.range?.[which]);
const DAY_MS = 86_400_000;

/** First and last buckets count only the days inside the range (specification §2.8, rule 4). */
function clippedNote(table: Table): string | undefined {
  const from = first(table, 'from');
  const to = first(table, 'to');
  if (from === undefined || to === undefined || table.granularity === null || table.granularity === 'day')
    return undefined;
  const next = new Date(to.getTime() + DAY_MS);
  const starts = (date: Date) => (table.granularity === 'week' ? date.getUTCDay() === 1 : date.getUTCDate() === 1);
  const clipped = [...(starts(from) ? [] : ['first']), ...(starts(next) ? [] : ['last'])];
  if (clipped.length === 0) return undefined;
  const which =
    clipped.length === 2
      ? `first and the last ${table.granularity} count`
      : `${clipped[0]} ${table.granularity} counts`;
  return `The ${which} only the days inside the period.`;
}

/** What a reader must know of this table alone: the notes it came with, and whether its ends are cut. */
export function tableNotes(table: Table): Note[] {
  const clipped = clippedNote(table);
  return [
    ...table.notes,
    ...(clipped === undefined ? [] : [{ code: 'partial' as const, text: clipped, incomplete: false }]),
  ];
}

/**
 * How to read what is shown: what a dash means, what italics mean, where totals come from. Only what this table needs.
 * @param columns the table's own, where they are at hand: to make them reads all rows
 */
export function readingNotes(
  table: Table,
  showsTotals: boolean = table.totals !== undefined,
  columns: readonly ViewColumn[] = viewColumns(table),
): string[] {
  const missing = columns.some(({ role, seen, total }) => role !== 'label' && (total === null || seen.undefined));
  const empty = columns.some(({ role, seen }) => role === 'label' && seen.undefined);
  // Those of a file are a list's, which has no time.
  const running = !('path' in table.rows) && someRow(table.rows, (row) => row.partial);
  return [
    ...(missing
      ? [
          `“${UNDEFINED_TEXT}” means undefined, such as a rate or a median over nothing, or a change from nothing. It is not zero.`,
        ]
      : []),
    ...(empty ? [`“${UNDEFINED_TEXT}” in a name or a field means that it has no value.`] : []),
    ...(running ? ['Rows in italics are of a time that is still running: their figures will grow.'] : []),
    ...(!showsTotals
      ? []
      : ['Totals are computed by the service over the whole period; they are not sums of the rows.']),
  ];
}

/** `1 row`, `12 rows`. */
export const counted = (count: number, one: string, many = `${one}s`, locale: string = DEFAULT_LOCALE): string =>
  `${new Intl.NumberFormat(locale).format(count)} ${count === 1 ? one : many}`;
