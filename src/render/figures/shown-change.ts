import { intlNumberFormat } from '../../base/text/intl.ts';
import { messagesFor } from '../../i18n/messages.ts';
import {
  type Boundaries,
  formatDecimals,
  formatValue,
  judgedDecimals,
  shownNumber,
  UNDEFINED_TEXT,
} from './format-value.ts';
import { type Change, createRounder, type Quantity } from './quantity.ts';

/*
 * A figure, the figures it is compared with, and the changes, as readers see them. A reader who computes a change from
 * the two shown figures gets the change that is shown.
 */

export interface ComparedFigure {
  readonly value: number | null;
  /** All figures that are shown together with it, with the same decimals. */
  readonly compared: readonly (number | null)[];
  readonly quantity: Quantity;
  readonly unit: string | null;
  readonly judged?: Boundaries | undefined;
  /** The decimals of the column in a long table, whose changes are computed from unrounded figures. */
  readonly columnDecimals?: number | undefined;
}

export interface ShownChange {
  /** Null if the two figures are not compared, or look the same. */
  readonly direction: Change['direction'];
  /** With its sign, or a dash if the change has no size. */
  readonly text: string;
  /** Without a sign; absent if the change has no size. */
  readonly size?: string;
  /** `size` is a multiple: `1,333 times as many`. */
  readonly times?: true;
  /** The two figures differ, but not as they are shown. */
  readonly unseen?: true;
  /** The decimals of a percentage. Absent for bounds, multiples and differences. */
  readonly percentDecimals?: number;
}

export interface ShownFigures {
  readonly text: string;
  /** Formats another figure with the same decimals. */
  readonly textOf: (value: number | null) => string;
  /** @param change the exact change */
  readonly changeFrom: (before: number | null, change: Change) => ShownChange;
  /** The size of the difference, with its unit; undefined if the shown figures have none. */
  readonly differenceFrom: (before: number) => string | undefined;
}

/**
 * The decimals of the figure and of all that it is compared with; undefined: each has its own.
 * @param own the decimals that tell the figure from its target
 */
function sharedDecimals({ value, compared, quantity }: ComparedFigure, own: number | undefined): number | undefined {
  const others = compared.filter((each) => each !== null);
  if (value === null || others.length === 0) return own;
  const roundings = [...(own === undefined ? [value] : []), ...others].map(createRounder(quantity));
  if (roundings.some(({ bound }) => bound !== undefined)) return undefined;
  return Math.max(own ?? 0, ...roundings.map(({ decimals }) => decimals));
}

/** Above this growth (1,000%) a change is shown as a multiple. */
export const MOST_GROWTH = 10;
/** Significant digits of both figures from which a percentage gets a decimal. */
const EXACT_DIGITS = 4;

interface Percentage {
  readonly signed: string;
  readonly size: string;
  readonly isBound: boolean;
}

/** Formats a share. A change is never shown as 0%, and as 100% less only if nothing is left. */
function percentage(share: number, decimals: number, locale: string): Percentage {
  const step = 10 ** -(decimals + 2);
  const size = Math.abs(share);
  const [mark, shown] =
    size < step / 2 ? ['<', step] : share < 0 && size < 1 && size >= 1 - step / 2 ? ['>', 1 - step] : ['', size];
  const write = (value: number) => formatDecimals(value, decimals, { kind: 'relative' }, locale);
  const flipped = share >= 0 ? mark : mark === '' ? '' : mark === '<' ? '>' : '<';
  return {
    signed: `${flipped}${write(Math.sign(share) * shown)}`,
    size: `${mark}${unsigned(write(shown))}`,
    isBound: mark !== '',
  };
}

const unsigned = (text: string): string => text.replace(/^\+/, '');

export function showFigures(figure: ComparedFigure, locale: string): ShownFigures {
  const { value, quantity, unit, judged, columnDecimals } = figure;
  const words = messagesFor(locale);
  const own = value === null || judged === undefined ? undefined : judgedDecimals(value, judged, quantity);
  const decimals = columnDecimals ?? sharedDecimals(figure, own);
  const textOf = (each: number | null): string => {
    if (each === null || decimals === undefined) return formatValue(each, quantity, locale);
    const { bound, decimals: least } = createRounder(quantity)(each);
    if (bound !== undefined) return formatValue(each, quantity, locale);
    return formatDecimals(each, Math.max(decimals, least), quantity, locale);
  };
  // A figure beside its target is never shown as a bound.
  const text =
    value === null || own === undefined ? textOf(value) : formatDecimals(value, decimals ?? own, quantity, locale);
  const kind = unit === 'count' ? 'count' : unit === 'seconds' ? 'duration' : 'other';

  /** In whole units of the last shown decimal, so that the difference is exact. */
  const units = (each: number, digits: number): number =>
    Math.round(shownNumber(each, digits, quantity) * 10 ** digits);
  const formatSize = (change: number, digits: number, scale: 'points' | 'difference'): ShownSize => {
    const shownUnit =
      quantity.kind === 'duration' ? words.table.durations[quantity.scale] : quantity.kind === 'amount' ? unit : null;
    const shown: Quantity = scale === 'points' ? { kind: scale } : { kind: scale, unit: shownUnit, decimals: digits };
    const write = (each: number) => formatDecimals(each, digits, shown, locale);
    const size = unsigned(write(Math.abs(change)));
    // Only a change of unrounded figures can be smaller than a digit.
    const least = 10 ** -digits;
    if (change !== 0 && Math.abs(change) < least / 2) {
      const bound = write(Math.sign(change) * least);
      return { text: `${change < 0 ? '>' : '<'}${bound}`, size: `<${unsigned(write(least))}` };
    }
    return { text: write(change), size };
  };
  const difference = (before: number): ShownSize | undefined => {
    if (value === null || decimals === undefined) return undefined;
    const scale = quantity.kind === 'ratio' ? 'points' : 'difference';
    return formatSize((units(value, decimals) - units(before, decimals)) / 10 ** decimals, decimals, scale);
  };

  /** A percentage or a multiple; undefined if the shown figures would give another one. */
  const relative = (share: number, before: number): ShownSize | undefined => {
    if (value === null || decimals === undefined) return undefined;
    const [now, then] =
      columnDecimals === undefined ? [units(value, decimals), units(before, decimals)] : [value, before];
    const shownShare = (now - then) / Math.abs(then);
    if (share > MOST_GROWTH) {
      const whole = intlNumberFormat(locale, { maximumFractionDigits: 0 });
      const times = whole.format(value / before);
      if (times !== whole.format(now / then)) return undefined;
      const multiple = words.status.times(kind, times);
      return { text: multiple, size: multiple, times: true };
    }
    const exact = [now, then].every((each) => String(Math.abs(each)).length >= EXACT_DIGITS);
    const digits = columnDecimals !== undefined || exact ? 1 : 0;
    const { signed, size, isBound } = percentage(share, digits, locale);
    if (signed !== percentage(shownShare, digits, locale).signed) return undefined;
    return { text: signed, size, ...(isBound ? {} : { percentDecimals: digits }) };
  };

  const changeFrom = (before: number | null, change: Change): ShownChange => {
    const { direction, value: exact } = change;
    if (direction === null || value === null || before === null) return { direction: null, text: UNDEFINED_TEXT };
    const sized = (size: ShownSize | undefined): ShownChange => ({ direction, text: UNDEFINED_TEXT, ...size });
    if (direction === 'same') {
      if (change.kind === 'relative') return { direction, text: percentage(0, 0, locale).signed.replace('<', '') };
      return sized(formatSize(0, decimals ?? 0, change.kind));
    }
    if (textOf(before) === text) return { direction: null, text: words.status.unseen, unseen: true };
    if (exact === null) return sized(undefined);
    if (decimals === undefined && change.kind !== 'relative') {
      const scale: Quantity = change.kind === 'points' ? { kind: 'points' } : { kind: 'difference', unit, decimals: 0 };
      const [signed, size] = [exact, Math.abs(exact)].map((each) => formatValue(each, scale, locale));
      return sized({ text: signed ?? '', size: (size ?? '').replace(/^([<>]?)\+/, '$1') });
    }
    if (decimals === undefined) return sized(undefined);
    if (change.kind === 'relative') {
      return sized(relative(exact, before) ?? (quantity.kind === 'duration' ? difference(before) : undefined));
    }
    return sized(columnDecimals === undefined ? difference(before) : formatSize(exact, decimals, change.kind));
  };
  return { text, textOf, changeFrom, differenceFrom: (before) => difference(before)?.size };
}

type ShownSize = Pick<ShownChange, 'text' | 'size' | 'times' | 'percentDecimals'>;
