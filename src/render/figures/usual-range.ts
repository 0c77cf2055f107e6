import type { Column, Dataset, Table } from '../../fetch/dataset.ts';
import { firstRows, wrongFigures } from '../../fetch/rows.ts';
import { lastDayOfBucket } from '../../plan/buckets.ts';
import { isSingleRow } from './columns.ts';
import { defaultDecimals, type Quantity, quantityCollector, rawPerShown } from './quantity.ts';

/*
 * The usual range of a figure, from its own history: the limits of an XmR chart (Wheeler, "Understanding Variation"; NHS
 * England, "Making Data Count"), with a second condition that keeps growth and season quiet.
 */

/** Earlier points that a range needs, and is computed from. */
export const USUAL_POINTS = 12;
/** From the mean moving range of two points to three standard deviations. */
const LIMIT_FACTOR = 2.66;

export interface UsualRange {
  readonly low: number;
  readonly high: number;
  /** `drifting`: outside, but without a step as large: it is said of no figure. */
  readonly is: 'usual' | 'unusual' | 'drifting';
}

export interface Series {
  /** In order of time; null: a gap. */
  readonly earlier: readonly (number | null)[];
  readonly value: number;
  /** The least half width: 1 of counts, one shown digit of others. */
  readonly least: number;
  /** The range ends here: 1 for ratios. */
  readonly most?: number;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Undefined without twelve earlier points, and where no two of them follow each other. */
export function usualRange({ earlier, value, least, most = Number.POSITIVE_INFINITY }: Series): UsualRange | undefined {
  const known = earlier.flatMap((point, index) => (point === null ? [] : [{ point, index }])).slice(-USUAL_POINTS);
  if (known.length < USUAL_POINTS) return undefined;
  const moving = known.flatMap(({ point, index }, nth) => {
    const before = known[nth - 1];
    return before !== undefined && before.index === index - 1 ? [Math.abs(point - before.point)] : [];
  });
  if (moving.length === 0) return undefined;
  const middle = mean(known.map(({ point }) => point));
  const width = Math.max(LIMIT_FACTOR * mean(moving), least);
  const [low, high] = [Math.max(0, middle - width), Math.min(most, middle + width)];
  if (value >= low && value <= high) return { low, high, is: 'usual' };
  const last = earlier.at(-1);
  const step = last === null || last === undefined ? 0 : value - last;
  const isStep = value > high ? step > width : -step > width;
  return { low, high, is: isStep ? 'unusual' : 'drifting' };
}

/** Half a digit would be invisible. */
function leastWidth(quantity: Quantity): number {
  if (quantity.kind === 'count') return 1;
  const digit = 10 ** -defaultDecimals(quantity);
  return quantity.kind === 'ratio' ? digit / 100 : digit * rawPerShown(quantity);
}

/**
 * The usual range of a metric's total, from the trend of its table. Undefined where its period is not exactly one bucket of
 * the trend, where its past still moves, where its meaning changed, and for days.
 * @param value the total
 */
export function totalRange(
  { small, bases = [] }: Pick<Dataset, 'small' | 'bases'>,
  table: Table,
  column: Column,
  value: number | null,
  quantity: Quantity,
): UsualRange | undefined {
  const { trend, range, running, notes } = table;
  const { name, unit, availableFrom = '', provisional, replacedBy } = column;
  const values = trend?.values[name];
  if (small === undefined || trend === undefined || values === undefined || value === null) return undefined;
  const { granularity, buckets, cases } = trend;
  const last = buckets.at(-1);
  if (granularity === 'day' || running || last === undefined || last.partial || range === null) return undefined;
  if (range.from !== last.label || range.to !== lastDayOfBucket(last.label, granularity)) return undefined;
  const isReplaced = notes.some(({ message }) => message.id === 'replaced' && message.of.to.id === name);
  if (provisional === true || replacedBy !== undefined || isReplaced || wrongFigures(table).inTotals(name))
    return undefined;
  const isBased = bases.some(({ metric }) => metric === name);
  const isFew = (index: number): boolean => isBased && (cases?.[name]?.[index] ?? 0) < small;
  if (isFew(buckets.length - 1)) return undefined;
  const earlier = buckets
    .slice(0, -1)
    .map(({ label, partial }, index) =>
      partial || label < availableFrom || isFew(index) ? null : (values[index] ?? null),
    );
  const found = usualRange({
    ...{ earlier, value, least: leastWidth(quantity) },
    ...(quantity.kind === 'ratio' ? { most: 1 } : {}),
  });
  if (unit !== 'count' || found === undefined) return found;
  // A count is the number of its own cases, and whole.
  if ((found.low + found.high) / 2 < small && value < small) return undefined;
  return { ...found, low: Math.ceil(found.low), high: Math.floor(found.high) };
}

/** The first total of a dataset that is outside of its usual range. */
export function unusualFigure(dataset: Pick<Dataset, 'tables' | 'small' | 'bases'>) {
  for (const table of dataset.tables) {
    const values = table.totals?.values ?? (isSingleRow(table) ? firstRows(table.rows, 1)[0]?.values : undefined);
    for (const column of values === undefined ? [] : table.columns.filter(({ kind }) => kind === 'metric')) {
      const value = values?.[column.name];
      if (typeof value !== 'number') continue;
      const collector = quantityCollector(column, 'day');
      collector.add(value);
      const usual = totalRange(dataset, table, column, value, collector.quantity());
      if (usual?.is === 'unusual') return { metric: column.name, value, low: usual.low, high: usual.high };
    }
  }
  return undefined;
}
