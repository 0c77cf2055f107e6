import { isolateBidi } from '../../base/text/bidi.ts';
import type { Dataset, Table } from '../../fetch/dataset.ts';
import { messagesFor } from '../../i18n/messages.ts';
import type { FilterDescription } from '../../i18n/note.ts';
import { describeFilters } from '../table-notes.ts';
import { formatDateRange } from './format-date.ts';

/** Filter values that a scope names; of more it gives the number only. */
const MAX_FILTER_VALUES = 3;

function filterText(filter: FilterDescription, locale: string): string {
  const { mail } = messagesFor(locale);
  const values = 'is' in filter ? filter.is : 'isNot' in filter ? filter.isNot : [];
  if ('search' in filter || values.length <= MAX_FILTER_VALUES)
    return describeFilters({ filters: [filter] }, locale).join();
  const text = 'is' in filter ? mail.filterIsAmong : mail.filterIsNotAmong;
  return text(isolateBidi(filter.label), values.length);
}

/**
 * What a table's totals are of, where that is not everything in the whole period: `Risk is Severe; so far`. May be empty.
 */
export function figureScope({ period }: Pick<Dataset, 'period'>, table: Table, locale: string): string {
  const { mail } = messagesFor(locale);
  const { range, asOf } = table;
  const otherRange = range !== null && (range.from !== period.from || range.to !== period.to);
  return [
    ...table.filters.map((filter) => filterText(filter, locale)),
    ...(otherRange ? [formatDateRange(range, locale)] : []),
    ...(table.current ? [mail.now(asOf, period.timezone)] : []),
    ...(table.readings === undefined || asOf === null ? [] : [mail.read(asOf, period.timezone)]),
    ...(table.running ? [mail.soFar] : []),
  ].join('; ');
}
