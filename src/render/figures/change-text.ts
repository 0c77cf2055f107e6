import type { ComparisonKind } from '../../definitions/schema/comparison.ts';
import type { Better } from '../../definitions/schema/targets.ts';
import type { Row, TableComparison } from '../../fetch/dataset.ts';
import { messagesFor, type Words } from '../../i18n/messages.ts';
import { changeIsGood } from './better.ts';
import type { ViewColumn } from './columns.ts';
import { absoluteChange, type FewRules, fewText, isFewChange } from './few.ts';
import { UNDEFINED_TEXT } from './format-value.ts';
import { changeIn, numberOrNull } from './quantity.ts';
import { namedComparison } from './raw-columns.ts';
import { type ComparedFigure, type ShownChange, type ShownFigures, showFigures } from './shown-change.ts';

/** The values of a row or of the totals. */
export type Figures = Pick<Row, 'values' | 'compare' | 'toDate' | 'cases' | 'toDateCases'>;

/**
 * What else affects how a figure is shown: the boundaries of its status and the decimals of its column, if it has
 * these.
 */
export interface FigureContext extends Pick<ComparedFigure, 'judged' | 'columnDecimals'> {
  /** The rules for few cases. */
  readonly few: FewRules;
  /** Show changes as differences, because not every row of the column has a percentage. */
  readonly differences?: boolean;
}

/** A metric's figure, and all that it is compared with, as readers see them. */
export function shownFigures(
  { source, quantity }: ViewColumn,
  { values, compare, cases }: Figures,
  { few, differences: _, ...figureContext }: FigureContext,
  locale: string,
): ShownFigures {
  const value = numberOrNull(values[source.name]);
  const shown = showFigures(
    {
      value,
      compared: Object.values(compare ?? {}).map((each) => numberOrNull(each?.values[source.name])),
      quantity,
      unit: source.unit,
      ...figureContext,
    },
    locale,
  );
  return { ...shown, text: withCases(shown.text, fewText(few, source, value, cases)) };
}

const ARROWS = { up: '▲', down: '▼', same: '=' } as const;

/**
 * A change with its arrow, so that readers can tell it without colour.
 * @param direction null if nothing is compared
 */
export const withArrow = (direction: keyof typeof ARROWS | null, text: string): string =>
  direction === null ? text : text === UNDEFINED_TEXT ? ARROWS[direction] : `${ARROWS[direction]} ${text}`;

/** Adds the number of cases: `62.5% (n = 8)` */
export const withCases = (text: string, cases: string | undefined): string =>
  cases === undefined ? text : `${text} ${cases}`;

/**
 * A change in words, with an arrow so that it does not depend on colour. It does not say whether the change is good.
 */
function changePhrase({ direction, size, times, unseen }: ShownChange, was: string, { mail, status }: Words): string {
  if (unseen) return mail.unseen(status.unseen, was);
  if (direction === null) return mail.was(was);
  if (direction === 'same') return mail.unchanged(was);
  return times && size !== undefined ? mail.changedTimes(size, was) : mail.changed(direction, size, was);
}

/** Whether a change is for the better. Empty if it is neither, or if nothing says which direction is better. */
export type Tone = 'better' | 'worse' | '';

export interface ChangeText {
  readonly text: string;
  readonly tone: Tone;
}

/** A change that is shown beside its figures. */
export interface JudgedChange extends ChangeText {
  /** The figure before the change. */
  readonly before: string;
  readonly change: ShownChange;
}

/** A change in words, with a word for its colour. */
export function judgedChange(
  view: ViewColumn,
  figures: Figures,
  kind: ComparisonKind,
  better: Better | undefined,
  figureContext: FigureContext,
  locale: string,
): JudgedChange {
  const words = messagesFor(locale);
  const { source } = view;
  const compared = figures.compare?.[kind];
  const value = numberOrNull(compared?.values[source.name]);
  const few = isFewChange(figureContext.few, source, figures, compared);
  const whole = changeIn(source, figures.values, compared);
  const exact =
    few || figureContext.differences === true
      ? absoluteChange(whole, figures.values[source.name], value, view.quantity)
      : whole;
  const shown = shownFigures(view, figures, figureContext, locale);
  const change = shown.changeFrom(value, exact);
  const before = withCases(shown.textOf(value), fewText(figureContext.few, source, value, compared?.cases));
  const good = few ? undefined : changeIsGood(better, change.direction);
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
  figureContext: FigureContext,
  locale: string,
): ChangeText[] {
  const words = messagesFor(locale).mail;
  return comparisons.map(({ kind }) => {
    const { text, tone } = judgedChange(view, figures, kind, better, figureContext, locale);
    return { text: namedComparison(kind, comparisons) === undefined ? text : words.changeFrom(text, kind), tone };
  });
}
