import { startsWithRealDay } from '../../base/time.ts';
import type { Granularity } from '../../contract/report.ts';
import { DURATION_UNITS, type DurationUnit, durationUnitFor } from '../../definitions/schema/values/units.ts';
import type { Column, ComparedFigures, Row, Table, Value } from '../../fetch/dataset.ts';
import { iterateRows } from '../../fetch/rows.ts';

/** The kind of value in a column. It decides only how the value is shown; the raw value never changes. */
export type Quantity =
  | { readonly kind: 'count' }
  | { readonly kind: 'ratio' }
  | { readonly kind: 'duration'; readonly scale: DurationUnit }
  /** An unknown unit, shown by its name; null: a number without a unit. */
  | { readonly kind: 'amount'; readonly unit: string | null; readonly decimals: number }
  | { readonly kind: 'points' }
  | { readonly kind: 'relative' }
  | { readonly kind: 'difference'; readonly unit: string | null; readonly decimals: number }
  | { readonly kind: 'bucket'; readonly granularity: Granularity }
  | { readonly kind: 'day' }
  | { readonly kind: 'instant' }
  /** A number that serves as a name: without thousands separators. */
  | { readonly kind: 'identifier' }
  | { readonly kind: 'text' };

/** Raw units per shown unit. Durations are shown in minutes, hours or days, other quantities in their raw unit. */
export const rawPerShown = (quantity: Quantity): number =>
  quantity.kind === 'duration' ? DURATION_UNITS[quantity.scale] : 1;

/** Parses a civil date (YYYY-MM-DD) as midnight UTC; undefined for any other value. */
export function parseCivilDate(text: Value | undefined): Date | undefined {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  return startsWithRealDay(text) ? new Date(text) : undefined;
}

/** Parses an ISO 8601 instant with an offset; undefined for any other value. */
export function parseIsoInstant(text: Value | undefined): Date | undefined {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/.test(text)) {
    return undefined;
  }
  const date = new Date(text);
  return !startsWithRealDay(text) || Number.isNaN(date.getTime()) ? undefined : date;
}

/** Infers the quantity of a column from its values, one at a time. */
export interface QuantityCollector {
  readonly add: (value: Value | undefined) => void;
  readonly quantity: () => Quantity;
}

const fixedQuantity = (quantity: Quantity): QuantityCollector => ({ add: () => {}, quantity: () => quantity });

export function quantityCollector({ kind, unit, shownIn }: Column, granularity: Granularity): QuantityCollector {
  if (kind === 'time') return fixedQuantity({ kind: 'bucket', granularity });
  if (kind === 'dimension') return fixedQuantity({ kind: 'text' });
  if (kind === 'field') return fieldCollector();
  if (unit === 'count' || unit === 'ratio') return fixedQuantity({ kind: unit });
  if (unit !== 'seconds') return amountCollector(unit);
  return shownIn === undefined ? durationCollector() : fixedQuantity({ kind: 'duration', scale: shownIn });
}

/** For a table outside a report, which sets no unit. */
function durationCollector(): QuantityCollector {
  let longest = 0;
  return {
    add: (value) => {
      if (typeof value === 'number') longest = Math.max(longest, Math.abs(value));
    },
    quantity: () => ({ kind: 'duration', scale: durationUnitFor(longest) }),
  };
}

function amountCollector(unit: string | null): QuantityCollector {
  let decimals = 0;
  return {
    add: (value) => {
      if (typeof value === 'number') decimals = decimalsNeeded(value, decimals);
    },
    quantity: () => ({ kind: 'amount', unit, decimals }),
  };
}

/**
 * The quantities of a list's fields by name, inferred from the values alone: a single value that does not fit makes the
 * field text. Reads the rows once for all fields, because they may be in a file.
 */
export function fieldQuantities(table: Table): Map<string, Quantity> {
  const fields = table.columns
    .filter(({ kind }) => kind === 'field')
    .map(({ name }) => ({ name, collector: fieldCollector() }));
  if (fields.length === 0) return new Map();
  for (const { values } of iterateRows(table.rows))
    for (const { name, collector } of fields) collector.add(values[name]);
  return new Map(fields.map(({ name, collector }) => [name, collector.quantity()]));
}

function fieldCollector(): QuantityCollector {
  const could = { number: true, integer: true, day: true, instant: true };
  let decimals = 0;
  let empty = true;
  return {
    add: (value) => {
      if (value === null || value === undefined) return;
      empty = false;
      // Excel stores 15 digits, so a longer id would change.
      could.number &&= typeof value === 'number' && Math.abs(value) < 1e15;
      could.integer &&= Number.isInteger(value);
      could.day &&= parseCivilDate(value) !== undefined;
      could.instant &&= parseIsoInstant(value) !== undefined;
      if (could.number && !could.integer) decimals = decimalsNeeded(Number(value), decimals);
    },
    quantity: () => {
      if (empty) return { kind: 'text' };
      if (could.number) return could.integer ? { kind: 'identifier' } : { kind: 'amount', unit: null, decimals };
      if (could.day) return { kind: 'day' };
      return { kind: could.instant ? 'instant' : 'text' };
    },
  };
}

/** The most decimals of any figure. A figure that is still too close to zero, or to 100 %, is shown as a bound. */
const MAX_DECIMALS = 6;
/** The service should have no fractional counts. If one appears, it must not be shown as an integer. */
const MAX_COUNT_DECIMALS = 2;

/** How one figure is rounded for readers. */
export interface Rounding {
  readonly decimals: number;
  /** Shown instead of the figure, which is below or above this value (in the raw unit). */
  readonly bound?: { readonly is: '<' | '>'; readonly value: number };
}

/** How the figures of a quantity are rounded. */
interface RoundingRule {
  /** Shown units per raw unit: a ratio of 1 is shown as 100 %. */
  readonly factor: number;
  readonly decimals: number;
  readonly maxDecimals: number;
  /** Raw values, without sign, that no other figure may be rounded to. */
  readonly exactValues: readonly number[];
  /** In units of the last decimal: a figure closer than this to an exact value would be rounded to it. */
  readonly tolerance: number;
}

// Slightly more than half, because programs round a tie differently.
const DEFAULT_RULE = { maxDecimals: MAX_DECIMALS, tolerance: 0.500_001 };
const ALMOST_ONE = 0.999_999;

function selectRoundingRule(quantity: Quantity): RoundingRule | undefined {
  switch (quantity.kind) {
    case 'ratio':
    case 'relative':
      return { ...DEFAULT_RULE, factor: 100, decimals: 1, exactValues: [0, 1] };
    case 'points':
      return { ...DEFAULT_RULE, factor: 1, decimals: 1, exactValues: [0, 100] };
    case 'count':
      return { ...DEFAULT_RULE, factor: 1, decimals: 0, exactValues: [0] };
    case 'amount':
    case 'difference':
      return { ...DEFAULT_RULE, factor: 1, decimals: quantity.decimals, exactValues: [0] };
    case 'duration':
      return { ...DEFAULT_RULE, factor: 1 / rawPerShown(quantity), decimals: 1, exactValues: [0] };
    default:
      return undefined;
  }
}

/** The decimals of a quantity's figures unless one needs more. */
export const defaultDecimals = (quantity: Quantity): number => selectRoundingRule(quantity)?.decimals ?? 0;

const NO_DECIMALS: Rounding = { decimals: 0 };

/**
 * Creates the rounding for a quantity's figures, the same in workbook, e-mail, CSV and charts. It uses the default
 * decimals, and more if a figure would otherwise be shown as zero or 100 % without being exactly that. Create one per
 * column; equal roundings are the same object.
 */
export function createRounder(quantity: Quantity): (value: number) => Rounding {
  const rule = selectRoundingRule(quantity);
  if (rule === undefined) return () => NO_DECIMALS;
  const { factor, decimals: usual, maxDecimals, exactValues, tolerance } = rule;
  const roundings = new Map<string, Rounding>();
  const shared = (key: string, make: () => Rounding): Rounding => {
    const rounding = roundings.get(key) ?? make();
    roundings.set(key, rounding);
    return rounding;
  };
  const plain = shared(`${usual}`, () => ({ decimals: usual }));
  // Figures further than this from every exact value never need more decimals.
  const near = (tolerance * 10 ** -usual) / factor;
  const closer = (value: number, exact: number, gap: number): Rounding => {
    let decimals = usual;
    // With more decimals than usual, the first digit must be right: 0.006 %, not 0.01 %.
    while (
      decimals <= maxDecimals &&
      gap * factor <= (decimals === usual ? tolerance : Math.max(tolerance, ALMOST_ONE)) * 10 ** -decimals
    ) {
      decimals += 1;
    }
    if (decimals <= maxDecimals) return shared(`${decimals}`, () => ({ decimals }));
    const sign = value < 0 ? -1 : 1;
    const beyond = Math.abs(value) > exact;
    const is = beyond === sign > 0 ? '<' : '>';
    const bound = sign * (exact + (beyond ? 1 : -1) * (10 ** -maxDecimals / factor));
    return shared(`${is}${bound}`, () => ({ decimals: maxDecimals, bound: { is, value: bound } }));
  };
  const isCount = quantity.kind === 'count';
  const [zero = 0, whole = zero] = exactValues;
  // The common path takes two comparisons, because a large table has millions of figures.
  return (value) => {
    const size = Math.abs(value);
    if (isCount && !Number.isInteger(value) && size > tolerance) {
      const decimals = decimalsNeeded(value, 0, MAX_COUNT_DECIMALS);
      return shared(`${decimals}`, () => ({ decimals }));
    }
    const toZero = Math.abs(size - zero);
    if (toZero <= near && toZero > 0) return closer(value, zero, toZero);
    const toWhole = Math.abs(size - whole);
    return toWhole <= near && toWhole > 0 ? closer(value, whole, toWhole) : plain;
  };
}

/** The number of decimals that show `value` in full: at least `min`, at most `max`. */
export function decimalsNeeded(value: number, min = 0, max = MAX_DECIMALS): number {
  let decimals = min;
  while (decimals < max && Number(value.toFixed(decimals)) !== value) decimals += 1;
  return decimals;
}

/**
 * How a change is expressed: for a ratio in percentage points, for a count or a duration relative to the previous
 * value. For other units it is the plain difference, because their zero may have no meaning.
 */
export type ChangeKind = 'points' | 'relative' | 'difference';

export interface Change {
  readonly kind: ChangeKind;
  /** Percentage points (3.1), a share (0.12 is +12 %) or a difference. Null if undefined, e.g. growth from 0. */
  readonly value: number | null;
  readonly direction: 'up' | 'down' | 'same' | null;
}

export const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);

export function changeKind(unit: string | null): ChangeKind {
  if (unit === 'ratio') return 'points';
  return unit === 'count' || unit === 'seconds' ? 'relative' : 'difference';
}

const changeAmount = (kind: ChangeKind, now: number, before: number): number | null => {
  // From 0 to 0 nothing changes, although 0 / 0 is undefined.
  if (now === before) return 0;
  if (kind === 'points') return (now - before) * 100;
  if (kind === 'difference') return now - before;
  return before === 0 ? null : (now - before) / Math.abs(before);
};

/** The change between two values of a metric. If either is undefined, so is the change. */
export function computeChange(unit: string | null, now: Value | undefined, before: Value | undefined): Change {
  const kind = changeKind(unit);
  if (typeof now !== 'number' || typeof before !== 'number') return { kind, value: null, direction: null };
  const direction = now === before ? 'same' : now > before ? 'up' : 'down';
  return { kind, value: changeAmount(kind, now, before), direction };
}

/** The change of a metric in a row or the totals; undefined if the figures are not comparable. */
export function changeIn(
  { name, unit, provisional }: Column,
  values: Row['values'],
  compared: ComparedFigures | undefined,
): Change {
  const isComparable =
    compared !== undefined &&
    compared.unlike === undefined &&
    compared.wrong?.includes(name) !== true &&
    provisional !== true;
  return computeChange(unit, values[name], isComparable ? compared.values[name] : null);
}

/**
 * Whether a column lacks a change, or a figure to compare with, in a row or the totals for a reason that a note of the
 * table gives.
 */
export function isNotComparable(
  {
    role,
    source,
    comparison,
  }: {
    readonly role: string;
    readonly source: Column;
    readonly comparison?: keyof NonNullable<Row['compare']> | undefined;
  },
  { compare }: Pick<Row, 'compare'>,
): boolean {
  if (comparison === undefined) return false;
  const reason = compare?.[comparison]?.unlike;
  if (role === 'change') return source.provisional === true || reason !== undefined;
  return role === 'previous' && reason === 'no_partner';
}
