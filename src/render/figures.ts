import type { Row, Table } from '../fetch/dataset.ts';
import { wordsOf } from '../words/words.ts';
import type { ViewColumn } from './columns.ts';
import { type Change, changeOf } from './compare.ts';
import { type Quantity, valueText } from './format.ts';

/** Of a metric the values of a row or of the totals. */
export type Figures = Pick<Row, 'values' | 'compare'>;

/** A change in words with its arrow: no reader depends on a colour, and none is told whether it is good. */
function changeText(
  change: Change,
  before: number | null,
  quantity: Quantity,
  unit: string | null,
  locale: string,
): string {
  const words = wordsOf(locale).mail;
  if (before === null) return words.noPrevious;
  const was = valueText(before, quantity, locale);
  if (change.direction === null) return words.was(was);
  if (change.direction === 'same') return words.unchanged(was);
  if (change.value === null) return words.changed(change.direction, undefined, was);
  const decimals = quantity.kind === 'amount' ? quantity.decimals : 0;
  const changed: Quantity =
    change.kind === 'difference' ? { kind: change.kind, unit, decimals } : { kind: change.kind };
  const size = valueText(Math.abs(change.value), changed, locale).replace(/^([<>]?)\+/, '$1');
  return words.changed(change.direction, size, was);
}

/** How a metric's figure changed, in words. */
export function figureChange({ source, quantity }: ViewColumn, { values, compare }: Figures, locale: string): string {
  const before = compare?.[source.name] ?? null;
  const between = changeOf(source.unit, values[source.name] ?? null, before);
  return changeText(between, before, quantity, source.unit, locale);
}

/** The columns of the metrics' own values. */
export const valuesOf = (columns: readonly ViewColumn[]): readonly ViewColumn[] =>
  columns.filter(({ role }) => role === 'value');

/** Whether one row stands for the whole section: nothing to group by, nothing by day. */
export const isSingle = ({ rows, columns }: Table): boolean =>
  rows.length === 1 && columns.length > 0 && columns.every(({ kind }) => kind === 'metric');
