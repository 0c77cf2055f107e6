import type { Dataset, Note, Table } from '../fetch/dataset.ts';
import { viewColumns } from './columns.ts';
import { civilDate, DEFAULT_LOCALE, instant, instantText, rangeText, UNDEFINED_TEXT } from './format.ts';

/** Of a table, in words: what it covers, when it was computed, what was filtered. One short line each. */
export function tableFacts(dataset: Pick<Dataset, 'period'>, table: Table, locale: string = DEFAULT_LOCALE): string[] {
  const zone = dataset.period.timezone;
  const asOf = instant(table.asOf);
  const facts: string[] = [];
  if (table.current) {
    facts.push(
      `Current counts${asOf === undefined ? '' : `, as of ${instantText(asOf, zone, locale)}`}: the period does not apply.`,
    );
  } else if (table.range !== null) {
    const compare = table.compareRange === null ? '' : `, compared with ${rangeText(table.compareRange, locale)}`;
    facts.push(`${rangeText(table.range, locale)} (${zone})${compare}`);
    if (asOf !== undefined) facts.push(`Computed by the service on ${instantText(asOf, zone, locale)}.`);
  }
  if (table.filters.length > 0) facts.push(`Only where ${table.filters.join(' and ')}.`);
  return facts;
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

/** The table's own notes, and those that follow from how we show it: what a dash means, running and clipped buckets. */
export function tableNotes(table: Table, _locale: string = DEFAULT_LOCALE): Note[] {
  const own = new Set(table.notes.map((note) => note.code));
  const added: Note[] = [];
  const note = (code: Note['code'], text: string) => added.push({ code, text, incomplete: false });
  const columns = viewColumns(table).filter((column) => column.role !== 'label');
  const undefinedShown = table.rows.some((row) => columns.some((column) => column.read(row) === null));
  if (undefinedShown || columns.some((column) => column.total === null)) {
    note(
      'undefined',
      `“${UNDEFINED_TEXT}” means undefined, such as a rate or a median over nothing, or a change from nothing. It is not zero.`,
    );
  }
  if (!own.has('partial') && table.rows.some((row) => row.partial)) {
    note('partial', 'Rows in italics are still running: their figures will grow.');
  }
  const clipped = clippedNote(table);
  if (clipped !== undefined) note('partial', clipped);
  if (table.totals !== undefined) {
    note('undefined', 'Totals are computed by the service over the whole period; they are not sums of the rows.');
  }
  return [...table.notes, ...added];
}

/** `1 row`, `12 rows`. */
export const counted = (count: number, one: string, many = `${one}s`, locale: string = DEFAULT_LOCALE): string =>
  `${new Intl.NumberFormat(locale).format(count)} ${count === 1 ? one : many}`;
