import type { FiscalCalendar } from '../../definitions/periods/fiscal-calendar.ts';
import type { Dataset, Table, Value } from '../../fetch/dataset.ts';
import { messagesFor, type Words } from '../../i18n/messages.ts';
import { type ViewColumn, viewColumns } from '../figures/columns.ts';
import { valueFormatter } from '../figures/format-value.ts';
import type { Quantity } from '../figures/quantity.ts';
import type { PackFigure } from './pack.ts';

/** What all parts of a pack share. */
export interface PackContext {
  readonly dataset: Dataset;
  /** BCP 47. */
  readonly locale: string;
  /** The messages of `locale`. */
  readonly words: Words;
  readonly calendar: FiscalCalendar;
  /** Computed once per table, because it scans all rows. */
  readonly columnsOf: (table: Table) => readonly ViewColumn[];
  /** Formats a value with its unit. */
  readonly format: (value: Value, quantity: Quantity) => string;
}

export function createPackContext(
  dataset: Dataset,
  { locale, calendar }: Pick<PackContext, 'locale' | 'calendar'>,
): PackContext {
  const columns = new Map<Table, readonly ViewColumn[]>();
  const formatters = new Map<string, ReturnType<typeof valueFormatter>>();
  return {
    dataset,
    locale,
    words: messagesFor(locale),
    calendar,
    columnsOf: (table) => {
      const found = columns.get(table) ?? viewColumns(table, locale);
      columns.set(table, found);
      return found;
    },
    format: (value, quantity) => {
      const key = JSON.stringify(quantity);
      const formatter = formatters.get(key) ?? valueFormatter(quantity, locale);
      formatters.set(key, formatter);
      return formatter(value);
    },
  };
}

export const packFigure = (
  value: number | null,
  quantity: Quantity,
  { format }: Pick<PackContext, 'format'>,
): PackFigure => ({ value, quantity, text: format(value, quantity) });
