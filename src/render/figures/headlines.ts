import { DateTime } from 'luxon';
import { isolateBidi } from '../../base/text/bidi.ts';
import type { ComparisonKind } from '../../definitions/schema/comparison.ts';
import { MAX_HEADLINES } from '../../definitions/schema/targets.ts';
import type { Status } from '../../fetch/dataset.ts';
import { messagesFor, type Words } from '../../i18n/messages.ts';
import { byPlace, type FigurePlace } from './figure-identity.ts';
import { type Boundaries, formatTarget } from './format-value.ts';
import { computeChange, type Quantity } from './quantity.ts';
import { type ShownFigures, showFigures } from './shown-change.ts';
import { type ShownStatus, statusWord } from './status-text.ts';
import { rangeText, type UsualRange } from './usual-range.ts';

/** What a figure is compared with. */
export interface HeadlineComparison {
  readonly kind: ComparisonKind;
  readonly value: number | null;
  /** The compared days; null if unknown. */
  readonly days: { readonly from: string; readonly to: string } | null;
  /** The change would be misleading, so no sentence mentions it. */
  readonly unlike: boolean;
  /** One of the two figures has few cases, so the change is not news. */
  readonly few?: boolean;
}

/** A figure that may become a sentence: a total, or a judged row. */
export interface HeadlineFigure {
  /** The first section that shows it. */
  readonly section: string;
  /** The title of that section. */
  readonly title: string;
  /** From `figureKey`. */
  readonly key: string;
  readonly place: FigurePlace;
  readonly metric: string;
  readonly label: string;
  /** What it covers, if that is not the report's scope and period; may be empty. */
  readonly scope: string;
  readonly value: number | null;
  readonly unit: string | null;
  readonly quantity: Quantity;
  readonly judged?: ShownStatus & Boundaries;
  /** Absent if its history gives no range. */
  readonly usual?: UsualRange;
  /** The first comparison of each section that shows it. */
  readonly comparisons: readonly HeadlineComparison[];
}

type TimeBefore = Parameters<Words['status']['change']>[3];

/** A name for the compared days. */
function timeBefore(kind: ComparisonKind, { from, to }: NonNullable<HeadlineComparison['days']>): TimeBefore {
  if (kind === 'previous_year') return 'year_before';
  // Civil dates are computed in UTC, where every day exists and has 24 hours.
  const first = DateTime.fromISO(from, { zone: 'utc' });
  const after = DateTime.fromISO(to, { zone: 'utc' }).plus({ days: 1 });
  const days = Math.round(after.diff(first, 'days').days);
  if (first.day === after.day && first.day === 1) {
    const months = (after.year - first.year) * 12 + after.month - first.month;
    if (months === 1) return { unit: 'month' };
    if (months === 3 && first.month % 3 === 1) return { unit: 'quarter' };
    if (months === 12 && first.month === 1) return { unit: 'year' };
    return { months };
  }
  if (days === 1) return { unit: 'day' };
  return days === 7 ? { unit: 'week' } : { days };
}

/** A change of a figure that is comparable. */
interface KnownChange {
  readonly before: number;
  /** Relative to the figure before; infinite if that is zero. */
  readonly relative: number;
  readonly kind: ComparisonKind;
  readonly days: NonNullable<HeadlineComparison['days']>;
  readonly few: boolean;
}

const collectChanges = ({ value, comparisons }: HeadlineFigure): KnownChange[] =>
  comparisons.flatMap(({ value: before, days, kind, unlike, few = false }) => {
    if (value === null || unlike || before === null || days === null) return [];
    const relative = value === before ? 0 : Math.abs(value - before) / Math.abs(before);
    return [{ before, relative, kind, days, few }];
  });

/** The largest of a figure's changes; 0 without one. */
const relativeChange = (figure: HeadlineFigure): number =>
  Math.max(0, ...collectChanges(figure).map(({ relative, few }) => (few ? 0 : relative)));

const formatFigures = ({ value, unit, quantity, judged, comparisons }: HeadlineFigure, locale: string): ShownFigures =>
  showFigures({ value, compared: comparisons.map((each) => each.value), quantity, unit, judged }, locale);

/** The change in words; undefined if the shown figures have no difference of a known size. */
function changeText(
  figure: HeadlineFigure & { readonly value: number },
  { before, kind, days }: KnownChange,
  locale: string,
): string | undefined {
  const { value, unit } = figure;
  const shown = formatFigures(figure, locale);
  const change = shown.changeFrom(before, computeChange(unit, value, before));
  const size = shown.differenceFrom(before) ?? '';
  const direction = change.unseen ? 'unseen' : (change.direction ?? 'same');
  if (size === '' && (direction === 'up' || direction === 'down')) return undefined;
  return changeWords(unit, direction, size, { kind, days }, locale);
}

/** E.g. `8 more than the week before` */
export const changeWords = (
  unit: string | null,
  direction: Parameters<Words['status']['change']>[1],
  size: string,
  { kind, days }: Pick<KnownChange, 'kind' | 'days'>,
  locale: string,
): string =>
  messagesFor(locale).status.change(
    unit === 'count' ? 'count' : unit === 'seconds' ? 'duration' : 'other',
    direction,
    size,
    timeBefore(kind, days),
  );

/** The figure as a sentence; undefined if it has no value. */
export function headlineText(figure: HeadlineFigure, locale: string): string | undefined {
  const { label, scope, value, quantity, judged } = figure;
  if (value === null) return undefined;
  const words = messagesFor(locale);
  const name = scope === '' ? isolateBidi(label) : words.mail.named(isolateBidi(label), [scope]);
  const changes = [
    ...new Set(collectChanges(figure).flatMap((change) => changeText({ ...figure, value }, change, locale) ?? [])),
  ];
  const shown = formatFigures(figure, locale);
  const parts = [
    shown.text,
    ...(judged === undefined
      ? []
      : [words.status.judged(formatTarget(judged.target, quantity, locale, [value]), statusWord(judged, words))]),
  ];
  const { usual } = figure;
  const said = [...changes, ...(usual?.is === 'unusual' ? [rangeText(usual, quantity, locale)] : [])];
  return words.status.headline(name, parts, said.length === 0 ? undefined : said.join(', '));
}

const UNUSUAL = 2;
const LEAST = 3;
const SEVERITY = { breached: 0, watch: 1, on_target: LEAST, undefined: LEAST } as const satisfies Record<
  Status,
  number
>;
const computeSeverity = ({ judged, usual }: HeadlineFigure): number => {
  const severity = judged === undefined || judged.few !== undefined ? LEAST : SEVERITY[judged.status];
  return severity === LEAST && usual?.is === 'unusual' ? UNUSUAL : severity;
};

/**
 * Sorts figures: those of the report's period and scope first (breached, on watch, unusual, then the largest relative
 * change), then the others, in the order of the sections.
 */
export function byImportance(figures: readonly HeadlineFigure[]): HeadlineFigure[] {
  const changes = new Map(figures.map((figure) => [figure, relativeChange(figure)]));
  const relative = (figure: HeadlineFigure): number => changes.get(figure) ?? 0;
  return [...figures].sort((a, b) => {
    const first = byPlace(a.place, b.place) || computeSeverity(a) - computeSeverity(b);
    if (first !== 0 || computeSeverity(a) < 2) return first;
    const [x, y] = [relative(a), relative(b)];
    return x === y ? 0 : y > x ? 1 : -1;
  });
}

/** Whether a figure is breached or on watch, with enough cases. */
export const isBehind = (figure: HeadlineFigure): boolean => computeSeverity(figure) < UNUSUAL;

/**
 * Whether a figure becomes a headline by itself: it is breached or on watch, or it is the report's own and unusual, or
 * it has a change of known size.
 */
export const isNews = (figure: HeadlineFigure): boolean => {
  const relative = relativeChange(figure);
  if (isBehind(figure)) return true;
  return figure.place === 'own' && (computeSeverity(figure) === UNUSUAL || (relative > 0 && Number.isFinite(relative)));
};

/**
 * Whether a figure may be a headline. A figure for fewer days than the report's period says nothing about the period.
 */
export const mayBeHeadline = ({ place, value }: Pick<HeadlineFigure, 'place' | 'value'>): boolean =>
  place !== 'shorter' && value !== null;

/**
 * Writes at most five sentences, the most important first. Each states a figure with its target or comparison. Pure.
 * @param figures without repetitions, from `headlineFigures`
 * @param wanted metrics to write about, in this order, preferably for the report's period and scope; undefined: figures
 * with news
 */
export function buildHeadlines(
  figures: readonly HeadlineFigure[],
  wanted: readonly string[] | undefined,
  locale: string,
): readonly string[] {
  const ordered = byImportance(figures.filter(mayBeHeadline));
  const chosen =
    wanted === undefined
      ? ordered.filter(isNews)
      : wanted.flatMap((metric) => ordered.find((figure) => figure.metric === metric) ?? []);
  return [...new Set(chosen.flatMap((figure) => headlineText(figure, locale) ?? []))].slice(0, MAX_HEADLINES);
}
