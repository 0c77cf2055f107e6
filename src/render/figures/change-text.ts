import type { ComparisonKind } from '../../definitions/schema/comparison.ts';
import type { Better } from '../../definitions/schema/targets.ts';
import type { Row, TableComparison } from '../../fetch/dataset.ts';
import { messagesFor } from '../../i18n/messages.ts';
import type { ViewColumn } from './columns.ts';
import { formatValue } from './format-value.ts';
import { changeIsGood } from './judge.ts';
import { type Change, changeIn, type Quantity } from './quantity.ts';
import { namedComparison } from './raw-columns.ts';

/** The values of a row or of the totals. */
export type Figures = Pick<Row, 'values' | 'compare' | 'toDate'>;

/** A change in words with its arrow, independent of colour and without judging whether it is good. */
function changePhrase(
  change: Change,
  before: { readonly value: number | null; readonly kind: ComparisonKind },
  quantity: Quantity,
  unit: string | null,
  locale: string,
): string {
  const words = messagesFor(locale).mail;
  if (before.value === null) return words.noPrevious(before.kind);
  const was = formatValue(before.value, quantity, locale);
  if (change.direction === null) return words.was(was);
  if (change.direction === 'same') return words.unchanged(was);
  if (change.value === null) return words.changed(change.direction, undefined, was);
  const decimals = quantity.kind === 'amount' ? quantity.decimals : 0;
  const changed: Quantity =
    change.kind === 'difference' ? { kind: change.kind, unit, decimals } : { kind: change.kind };
  const size = formatValue(Math.abs(change.value), changed, locale).replace(/^([<>]?)\+/, '$1');
  return words.changed(change.direction, size, was);
}

/** The change of a metric's figure, in words; where it must not be compared, the other figure alone. */
function formatChange(
  { source, quantity }: ViewColumn,
  { values, compare }: Figures,
  kind: ComparisonKind,
  locale: string,
): string {
  const compared = compare?.[kind];
  const value = compared?.values[source.name] ?? null;
  return changePhrase(changeIn(source, values, compared), { value, kind }, quantity, source.unit, locale);
}

/** Whether a change is for the better; empty where it is neither, or nothing says which direction is better. */
export type Tone = 'better' | 'worse' | '';

function changeTone(
  { source }: ViewColumn,
  { values, compare }: Figures,
  kind: ComparisonKind,
  better: Better | undefined,
): Tone {
  const good = changeIsGood(better, changeIn(source, values, compare?.[kind]).direction);
  return good === undefined ? '' : good ? 'better' : 'worse';
}

export interface ChangeText {
  readonly text: string;
  readonly tone: Tone;
}

/** A change in words, with a word for its colour. */
export function judgedChange(
  view: ViewColumn,
  figures: Figures,
  kind: ComparisonKind,
  better: Better | undefined,
  locale: string,
): ChangeText {
  const { tones } = messagesFor(locale).status;
  const change = formatChange(view, figures, kind, locale);
  const tone = changeTone(view, figures, kind, better);
  return { text: tone === '' ? change : `${change}, ${tones[tone]}`, tone };
}

/** The changes of all comparisons of a table, in words. */
export function changeTexts(
  view: ViewColumn,
  figures: Figures,
  comparisons: readonly TableComparison[],
  better: Better | undefined,
  locale: string,
): ChangeText[] {
  const words = messagesFor(locale).mail;
  return comparisons.map(({ kind }) => {
    const { text, tone } = judgedChange(view, figures, kind, better, locale);
    return { text: namedComparison(kind, comparisons) === undefined ? text : words.changeFrom(text, kind), tone };
  });
}
