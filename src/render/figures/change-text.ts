import type { Row } from '../../fetch/dataset.ts';
import { messagesFor } from '../../i18n/messages.ts';
import type { ViewColumn } from './columns.ts';
import { formatValue } from './format-value.ts';
import { type Change, changeOf, type Quantity } from './quantity.ts';

/** The values of a row or of the totals. */
export type Figures = Pick<Row, 'values' | 'compare'>;

/** A change in words with its arrow, independent of colour and without judging whether it is good. */
function changePhrase(
  change: Change,
  before: number | null,
  quantity: Quantity,
  unit: string | null,
  locale: string,
): string {
  const words = messagesFor(locale).mail;
  if (before === null) return words.noPrevious;
  const was = formatValue(before, quantity, locale);
  if (change.direction === null) return words.was(was);
  if (change.direction === 'same') return words.unchanged(was);
  if (change.value === null) return words.changed(change.direction, undefined, was);
  const decimals = quantity.kind === 'amount' ? quantity.decimals : 0;
  const changed: Quantity =
    change.kind === 'difference' ? { kind: change.kind, unit, decimals } : { kind: change.kind };
  const size = formatValue(Math.abs(change.value), changed, locale).replace(/^([<>]?)\+/, '$1');
  return words.changed(change.direction, size, was);
}

/** The change of a metric's figure, in words. */
export function formatChange({ source, quantity }: ViewColumn, { values, compare }: Figures, locale: string): string {
  const before = compare?.[source.name] ?? null;
  const between = changeOf(source.unit, values[source.name] ?? null, before);
  return changePhrase(between, before, quantity, source.unit, locale);
}
