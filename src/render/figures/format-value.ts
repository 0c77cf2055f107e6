import { intlNumberFormat } from '../../base/text/intl.ts';
import type { TargetRecord, Value } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE, messagesFor, type Words } from '../../i18n/messages.ts';
import { bucketFormatter } from './format-date.ts';
import {
  createRounder,
  decimalsNeeded,
  defaultDecimals,
  parseCivilDate,
  type Quantity,
  rawPerShown,
} from './quantity.ts';

/** Shown for an undefined figure, which is never shown as zero. */
export const UNDEFINED_TEXT = '–';

const withUnit = (text: (value: number) => string, unit: string | null): ((value: number) => string) =>
  unit === null ? text : (value) => `${text(value)} ${unit}`;

const SIGNED = { signDisplay: 'exceptZero' } as const;
/** Without thousands separators, as in the workbook. */
const PERCENT = { style: 'percent', useGrouping: false } as const;

/** The Intl options for figures of a quantity; undefined for quantities that are not rounded to decimals. */
function intlOptions({ kind }: Quantity): Intl.NumberFormatOptions | undefined {
  switch (kind) {
    case 'count':
    case 'amount':
    case 'duration':
      return {};
    case 'ratio':
      return PERCENT;
    case 'relative':
      return { ...PERCENT, ...SIGNED };
    case 'points':
      return { ...SIGNED, useGrouping: false };
    case 'difference':
      return SIGNED;
    default:
      return undefined;
  }
}

/** Formats figures of a quantity without their unit, like cells of the workbook: `12.4%`, `0.04%`, `<0.000001`. */
export function figureFormatter(quantity: Quantity, locale: string): (value: number) => string {
  const options = intlOptions(quantity) ?? {};
  const roundingOf = createRounder(quantity);
  const divide = rawPerShown(quantity);
  const formats = new Map<number, Intl.NumberFormat>();
  const write = (value: number, decimals: number): string => {
    const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
    const format = formats.get(decimals) ?? intlNumberFormat(locale, { ...options, ...digits });
    formats.set(decimals, format);
    return format.format(value / divide);
  };
  return (value) => {
    const { decimals, bound } = roundingOf(value);
    return bound === undefined ? write(value, decimals) : `${bound.is}${write(bound.value, decimals)}`;
  };
}

function numberFormatter(quantity: Quantity, locale: string): (value: number) => string {
  switch (quantity.kind) {
    case 'duration':
      return withUnit(figureFormatter(quantity, locale), messagesFor(locale).table.durations[quantity.scale]);
    case 'identifier':
    case 'text':
      return String;
    case 'bucket':
    case 'day':
    case 'instant': {
      const plain = intlNumberFormat(locale, { maximumFractionDigits: 2 });
      return (value) => plain.format(value);
    }
    case 'points':
      return withUnit(figureFormatter(quantity, locale), messagesFor(locale).table.points);
    case 'amount':
    case 'difference':
      return withUnit(figureFormatter(quantity, locale), quantity.unit);
    default:
      return figureFormatter(quantity, locale);
  }
}

function textFormatter(quantity: Quantity, locale: string): (value: string) => string {
  if (quantity.kind !== 'bucket' && quantity.kind !== 'day') return (value) => value;
  const format = bucketFormatter(quantity.kind === 'bucket' ? quantity.granularity : 'day', locale);
  return (value) => {
    const date = parseCivilDate(value);
    return date === undefined ? value : format(date);
  };
}

/**
 * Formats the values of one column for people, with their unit; `–` for an undefined value. Expensive to create: create
 * one per column.
 */
export function valueFormatter(
  quantity: Quantity,
  locale: string = DEFAULT_LOCALE,
): (value: Value | undefined) => string {
  const numberText = numberFormatter(quantity, locale);
  const text = textFormatter(quantity, locale);
  const { yes, no } = messagesFor(locale).table;
  return (value) => {
    if (value === null || value === undefined) return UNDEFINED_TEXT;
    if (typeof value === 'number') return numberText(value);
    if (typeof value === 'boolean') return value ? yes : no;
    return text(value);
  };
}

/**
 * Formats two different figures with as many more decimals as it takes to tell them apart.
 * @param least the fewest decimals of each of them
 */
export function formatApart(
  one: number,
  other: number,
  quantity: Quantity,
  locale: string = DEFAULT_LOCALE,
  least?: number,
): readonly [string, string] {
  const format = (value: number): string =>
    least === undefined || createRounder(quantity)(value).bound !== undefined
      ? formatValue(value, quantity, locale)
      : formatDecimals(value, least, quantity, locale);
  let texts: readonly [string, string] = [format(one), format(other)];
  const usual = least ?? defaultDecimals(quantity);
  for (let decimals = usual + 1; texts[0] === texts[1] && decimals <= MAX_APART_DECIMALS; decimals += 1) {
    texts = [formatDecimals(one, decimals, quantity, locale), formatDecimals(other, decimals, quantity, locale)];
  }
  return texts;
}

/** The most significant digits of a target: an uneven division never ends. */
const MAX_TARGET_DIGITS = 9;

/** Formats one value; see `valueFormatter`. */
export const formatValue = (value: Value | undefined, quantity: Quantity, locale: string = DEFAULT_LOCALE): string =>
  valueFormatter(quantity, locale)(value);

/** Shown units per raw unit, for quantities that targets can have. */
const shownPerRaw = (quantity: Quantity): number => (quantity.kind === 'ratio' ? 100 : 1 / rawPerShown(quantity));

const inShownUnit = (value: number, quantity: Quantity): number =>
  Number((value * shownPerRaw(quantity)).toPrecision(MAX_TARGET_DIGITS));

/** Formats a value with exactly these decimals, and its unit. */
export function formatDecimals(value: number, decimals: number, quantity: Quantity, locale: string): string {
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  const options = intlOptions(quantity) ?? {};
  const text = intlNumberFormat(locale, { ...options, ...digits }).format(value / rawPerShown(quantity));
  const { durations, points } = messagesFor(locale).table;
  if (quantity.kind === 'duration') return `${text} ${durations[quantity.scale]}`;
  if (quantity.kind === 'points') return `${text} ${points}`;
  return (quantity.kind === 'amount' || quantity.kind === 'difference') && quantity.unit !== null
    ? `${text} ${quantity.unit}`
    : text;
}

/** Significant digits of a target that divides unevenly, but at least two decimals. */
const SHORT_TARGET_DIGITS = 3;
/** Enough decimals to tell any two figures with nine significant digits apart. */
const MAX_APART_DECIMALS = 12;
/** The most decimals of a figure beside its target: more would say nothing to readers. */
const MAX_JUDGED_DECIMALS = 6;

/** The fewest decimals of a target, and those that show it in full. Ratios are always shown in full. */
function targetRange(
  target: number,
  quantity: Quantity,
): { readonly short: number; readonly full: number } | undefined {
  if (quantity.kind !== 'duration' && quantity.kind !== 'ratio') return undefined;
  const shown = inShownUnit(target, quantity);
  const full = decimalsNeeded(shown, defaultDecimals(quantity));
  if (quantity.kind === 'ratio' || shown === 0) return { short: full, full };
  const significant = SHORT_TARGET_DIGITS - 1 - Math.floor(Math.log10(Math.abs(shown)));
  return { short: Math.min(full, Math.max(2, significant)), full };
}

/** The number that readers see, in the shown unit, rounded like Intl does. */
export function shownNumber(value: number, decimals: number, quantity: Quantity): number {
  const style = quantity.kind === 'ratio' ? 'percent' : 'decimal';
  const format = intlNumberFormat('en', {
    style,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
    useGrouping: false,
  });
  return Number.parseFloat(format.format(value / rawPerShown(quantity)));
}

/**
 * The decimals of a duration or a ratio that is a target; undefined for targets that are shown like figures. An uneven
 * target is rounded (1,000 s to 16.67 minutes), but never to or past one of the figures that are judged by it.
 */
export function targetDecimals(
  target: number,
  quantity: Quantity,
  figures: readonly (number | null)[] = [],
): number | undefined {
  const range = targetRange(target, quantity);
  if (range === undefined) return undefined;
  const limit = inShownUnit(target, quantity);
  const judged = figures.flatMap((figure) => (figure === null ? [] : [inShownUnit(figure, quantity)]));
  for (let decimals = range.short; decimals < range.full; decimals += 1) {
    const rounded = shownNumber(target, decimals, quantity);
    if (judged.every((each) => each === limit || Math.sign(each - rounded) === Math.sign(each - limit)))
      return decimals;
  }
  return range.full;
}

/**
 * Formats a target with its unit. A target that is rounded past a figure (1.25 days to 1.3, 87.25% to 87.3%) would
 * contradict the figure's status.
 * @param figures those that are judged by it
 */
export function formatTarget(
  target: number,
  quantity: Quantity,
  locale: string = DEFAULT_LOCALE,
  figures: readonly (number | null)[] = [],
): string {
  const decimals = targetDecimals(target, quantity, figures);
  if (decimals === undefined) return formatValue(target, quantity, locale);
  return formatDecimals(target, decimals, quantity, locale);
}

/** What decides the status of a figure. */
export type Boundaries = Pick<TargetRecord, 'watch'> & { readonly target: number };

/** A target and its rounded forms, without those on the other side of the figure. */
function shownForms(target: number, value: number, quantity: Quantity): readonly number[] {
  const [shown, limit] = [inShownUnit(value, quantity), inShownUnit(target, quantity)];
  const least = targetDecimals(target, quantity, [value]);
  const range = targetRange(target, quantity);
  const forms = [limit];
  for (let decimals = least ?? 0; range !== undefined && decimals <= range.full; decimals += 1) {
    const rounded = shownNumber(target, decimals, quantity);
    if (Math.sign(shown - rounded) === Math.sign(shown - limit)) forms.push(rounded);
  }
  return forms;
}

/**
 * The decimals of a figure beside its target. They are more than usual if the figure would otherwise be shown on its
 * target or watch limit, or on the other side, and so contradict its status (89.97% with a target of 90%). The result
 * is right however the target is rounded. Undefined: the usual decimals. Texts and number formats of cells use it.
 */
export function judgedDecimals(value: number, { target, watch }: Boundaries, quantity: Quantity): number | undefined {
  const { decimals: usual, bound } = createRounder(quantity)(value);
  const [shown, limit] = [inShownUnit(value, quantity), inShownUnit(target, quantity)];
  const least = targetDecimals(target, quantity, [value]);
  // A figure that is exactly on its target is shown like the target.
  if (shown === limit) return least;
  const sign = Math.sign(shown - limit);
  const limits = shownForms(target, value, quantity);
  const watchLimit = watch === undefined ? undefined : inShownUnit(watch, quantity);
  const watchLimits = watch === undefined ? [] : shownForms(watch, value, quantity);
  const onWatch = watch === undefined ? 0 : (targetDecimals(watch, quantity) ?? 0);
  const agrees = (decimals: number) => {
    const rounded = shownNumber(value, decimals, quantity);
    if (limits.some((each) => Math.sign(rounded - each) !== sign)) return false;
    if (watchLimit === undefined) return true;
    // A figure that is exactly on its watch limit is shown like the limit.
    if (shown === watchLimit) return decimals >= onWatch;
    return watchLimits.every((each) => Math.sign(rounded - each) === Math.sign(shown - watchLimit));
  };
  if (bound !== undefined || agrees(usual)) return undefined;
  for (let decimals = usual + 1; decimals <= MAX_JUDGED_DECIMALS; decimals += 1) {
    if (agrees(decimals)) return decimals;
  }
  return MAX_JUDGED_DECIMALS;
}

/** Formats a figure beside its target, with its `judgedDecimals`. */
export function formatJudged(
  value: number,
  boundaries: Boundaries,
  quantity: Quantity,
  locale: string = DEFAULT_LOCALE,
): string {
  const decimals = judgedDecimals(value, boundaries, quantity);
  return decimals === undefined
    ? formatValue(value, quantity, locale)
    : formatDecimals(value, decimals, quantity, locale);
}

/** The unit in a column header of the workbook; undefined if the figures need none. */
export function unitLabel(quantity: Quantity, { table }: Words): string | undefined {
  switch (quantity.kind) {
    case 'ratio':
    case 'relative':
      return '%';
    case 'duration':
      return table.durations[quantity.scale];
    case 'points':
      return table.points;
    case 'amount':
    case 'difference':
      return quantity.unit ?? undefined;
    case 'instant':
      return 'UTC';
    default:
      return undefined;
  }
}

/** The unit of the raw value, for a header of a CSV file. */
export function rawUnitLabel(unit: string | null, { table }: Words): string | undefined {
  if (unit === null) return undefined;
  return unit === 'ratio' ? table.rawRatio : unit;
}
