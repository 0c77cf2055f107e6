import { isolateBidi } from '../../base/text/bidi.ts';
import type { Dataset, Table } from '../../fetch/dataset.ts';
import { messagesFor } from '../../i18n/messages.ts';
import type { FilterDescription } from '../../i18n/note.ts';
import { describeFilters } from '../table-notes.ts';
import { figureDays, isOfPeriod, ownFilters, type RowPlace, sharedFilters, TOTALS } from './figure-identity.ts';
import { formatBucket, formatDateRange } from './format-date.ts';
import { parseCivilDate } from './quantity.ts';

/** The most filter values that a scope names. If there are more, it gives only their number. */
const MAX_FILTER_VALUES = 3;

function filterText(filter: FilterDescription, locale: string): string {
  const { mail } = messagesFor(locale);
  const values = 'is' in filter ? filter.is : 'isNot' in filter ? filter.isNot : [];
  if ('search' in filter || values.length <= MAX_FILTER_VALUES)
    return describeFilters({ filters: [filter] }, locale).join();
  const text = 'is' in filter ? mail.filterIsAmong : mail.filterIsNotAmong;
  return text(isolateBidi(filter.label), values.length);
}

function groupText({ columns }: Table, group: NonNullable<RowPlace['group']>, locale: string): string[] {
  const column = columns.find(({ name }) => name === group.dimension);
  if (column === undefined) return [];
  const value = column.values?.find((each) => each.value === group.value)?.label ?? group.value;
  return [messagesFor(locale).table.filterIs(isolateBidi(column.label), [isolateBidi(value)])];
}

/**
 * What a figure in a table covers, if that is not the report's scope and period: `Risk is Severe; so far`. May be
 * empty.
 * @param row a row's place; absent: the totals
 * @param shared the filters that need no mention; default: those of all sections
 */
export function figureScope(
  { period, tables }: Pick<Dataset, 'period' | 'tables'>,
  table: Table,
  locale: string,
  row: RowPlace = TOTALS,
  shared: ReadonlySet<string> = sharedFilters(tables),
): string {
  const { mail } = messagesFor(locale);
  const { range, asOf, readings, running } = table;
  const { bucket, group } = row;
  const isOther = range !== null && !isOfPeriod(table, figureDays(table, row), period);
  const day = parseCivilDate(bucket);
  const days =
    !isOther || range === null
      ? []
      : [day === undefined ? formatDateRange(range, locale) : formatBucket(day, table.granularity ?? 'day', locale)];
  const readAt =
    day === undefined
      ? asOf
      : (readings?.find((each) => each.bucket === bucket && each.comparison === null)?.asOf ?? null);
  return [
    ...(table.unsplit ? [messagesFor(locale).table.everything] : []),
    ...ownFilters(table, shared, group).map((filter) => filterText(filter, locale)),
    ...(group === null ? [] : groupText(table, group, locale)),
    ...days,
    ...(table.current ? [mail.now(asOf, period.timezone)] : []),
    ...(readings === undefined || readAt === null ? [] : [mail.read(readAt, period.timezone)]),
    // Buckets are only judged after they have ended.
    ...(running && day === undefined ? [mail.soFar] : []),
  ].join('; ');
}
