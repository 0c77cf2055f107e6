import type { ComparisonKind } from '../../definitions/schema/comparison.ts';
import type { Better } from '../../definitions/schema/targets.ts';
import type { Row, TableComparison } from '../../fetch/dataset.ts';
import { messagesFor, type Words } from '../../i18n/messages.ts';
import type { ViewColumn } from './columns.ts';
import { changeIsGood } from './judge.ts';
import { changeIn } from './quantity.ts';
import { namedComparison } from './raw-columns.ts';
import { type ComparedFigure, type ShownChange, type ShownFigures, showFigures } from './shown-change.ts';

/** The values of a row or of the totals. */
export type Figures = Pick<Row, 'values' | 'compare' | 'toDate'>;

/** The boundaries of the figure's status, and the decimals of its column, where it has these. */
export type Beside = Pick<ComparedFigure, 'judged' | 'columnDecimals'>;

/** A metric's figure with all that it is compared with, as readers see them. */
export const shownFigures = (
  { source, quantity }: ViewColumn,
  { values, compare }: Figures,
  beside: Beside,
  locale: string,
): ShownFigures =>
  showFigures(
    {
      value: numberOrNull(values[source.name]),
      compared: Object.values(compare ?? {}).map((each) => numberOrNull(each?.values[source.name])),
      quantity,
      unit: source.unit,
      ...beside,
    },
    locale,
  );

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** A change in words with its arrow, independent of colour and without judging whether it is good. */
function changePhrase({ direction, size, times, unseen }: ShownChange, was: string, { mail, status }: Words): string {
  if (unseen) return mail.unseen(status.unseen, was);
  if (direction === null) return mail.was(was);
  if (direction === 'same') return mail.unchanged(was);
  return times && size !== undefined ? mail.changedTimes(size, was) : mail.changed(direction, size, was);
}

/** Whether a change is for the better; empty where it is neither, or nothing says which direction is better. */
export type Tone = 'better' | 'worse' | '';

export interface ChangeText {
  readonly text: string;
  readonly tone: Tone;
}

/** A change beside the figures that it is of. */
export interface JudgedChange extends ChangeText {
  /** The figure that it is compared with. */
  readonly before: string;
  readonly change: ShownChange;
}

/** A change in words, with a word for its colour. */
export function judgedChange(
  view: ViewColumn,
  figures: Figures,
  kind: ComparisonKind,
  better: Better | undefined,
  beside: Beside,
  locale: string,
): JudgedChange {
  const words = messagesFor(locale);
  const { source } = view;
  const compared = figures.compare?.[kind];
  const value = numberOrNull(compared?.values[source.name]);
  const exact = changeIn(source, figures.values, compared);
  const shown = shownFigures(view, figures, beside, locale);
  const change = shown.changeFrom(value, exact);
  const before = shown.textOf(value);
  const good = changeIsGood(better, change.direction);
  const tone = good === undefined ? '' : good ? 'better' : 'worse';
  const text = value === null ? words.mail.noPrevious(kind) : changePhrase(change, before, words);
  return { text: tone === '' ? text : `${text}, ${words.status.tones[tone]}`, tone, before, change };
}

/** The changes of all comparisons of a table, in words. */
export function changeTexts(
  view: ViewColumn,
  figures: Figures,
  comparisons: readonly TableComparison[],
  better: Better | undefined,
  beside: Beside,
  locale: string,
): ChangeText[] {
  const words = messagesFor(locale).mail;
  return comparisons.map(({ kind }) => {
    const { text, tone } = judgedChange(view, figures, kind, better, beside, locale);
    return { text: namedComparison(kind, comparisons) === undefined ? text : words.changeFrom(text, kind), tone };
  });
}
