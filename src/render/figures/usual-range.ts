import type { Column, Dataset, RANGE_STATES, Table, TableTrend } from '../../fetch/dataset.ts';
import { firstRows, wrongFigures } from '../../fetch/rows.ts';
import { messagesFor } from '../../i18n/messages.ts';
import { lastDayOfBucket } from '../../plan/buckets.ts';
import { isSingleRow } from './columns.ts';
import { formatValue } from './format-value.ts';
import { defaultDecimals, type Quantity, quantityCollector, rawPerShown } from './quantity.ts';
import { tableBuckets } from './table-buckets.ts';

/*
 * The usual range of a figure, computed from its own history: the limits of an XmR chart (Wheeler, "Understanding
 * Variation"; NHS England, "Making Data Count"). A second condition prevents alarms because of growth and season.
 */

/** How many earlier points a range needs and is computed from. */
export const USUAL_POINTS = 12;
/** Factor from the mean moving range of two points to three standard deviations. */
const LIMIT_FACTOR = 2.66;

export interface UsualRange {
  readonly low: number;
  readonly high: number;
  readonly is: (typeof RANGE_STATES)[number];
}

export interface Series {
  /** In order of time. Null: a gap. */
  readonly earlier: readonly (number | null)[];
  readonly value: number;
  /** The smallest half width of the range: 1 for counts, one shown digit for others. */
  readonly least: number;
  /** The upper end of possible values: 1 for ratios. */
  readonly most?: number;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Undefined without twelve earlier points, or if no two of them are consecutive. */
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

/** The smallest half width of a range: less would be invisible. */
function leastWidth(quantity: Quantity): number {
  if (quantity.kind === 'count') return 1;
  const digit = 10 ** -defaultDecimals(quantity);
  return quantity.kind === 'ratio' ? digit / 100 : digit * rawPerShown(quantity);
}

/**
 * The usual range of a metric's last point. Undefined if the point covers only part of its time or cannot be right, if
 * its past still changes or its meaning changed, and for days.
 */
export function pointRange(
  { small, bases = [] }: Pick<Dataset, 'small' | 'bases'>,
  table: Table,
  { name, unit, availableFrom = '', provisional, replacedBy }: Column,
  { granularity, buckets, values, cases }: TableTrend,
  quantity: Quantity,
): UsualRange | undefined {
  const points = values[name];
  const value = points?.at(-1) ?? null;
  if (small === undefined || points === undefined || value === null) return undefined;
  if (granularity === 'day' || buckets.at(-1)?.partial !== false) return undefined;
  const isReplaced = table.notes.some(({ message }) => message.id === 'replaced' && message.of.to.id === name);
  if (provisional === true || replacedBy !== undefined || isReplaced) return undefined;
  const isBased = bases.some(({ metric }) => metric === name);
  const { inRow } = wrongFigures(table);
  const isUnfit = (index: number): boolean =>
    (isBased && (cases?.[name]?.[index] ?? 0) < small) || inRow(name, { bucket: buckets[index]?.label ?? null });
  if (isUnfit(buckets.length - 1)) return undefined;
  const earlier = buckets
    .slice(0, -1)
    .map(({ label, partial }, index) =>
      partial || label < availableFrom || isUnfit(index) ? null : (points[index] ?? null),
    );
  const least = leastWidth(quantity);
  const found = usualRange({ earlier, value, least, ...(quantity.kind === 'ratio' ? { most: 1 } : {}) });
  if (found === undefined) return undefined;
  const { low, high, is } = found;
  if (unit !== 'count') {
    // A figure that is displayed the same as an end of its range is not shown as outside of it.
    const shown = (figure: number): string => formatValue(figure, quantity);
    return is !== 'usual' && shown(value) === shown(value > high ? high : low) ? { low, high, is: 'usual' } : found;
  }
  // A count is its own number of cases, and its range has whole ends.
  if ((low + high) / 2 < small && value < small) return undefined;
  return { low: Math.ceil(low), high: Math.floor(high), is };
}

/** Whether the total of a metric cannot be right. A table without totals has it in its single row. */
function isWrongTotal(table: Table, metric: string): boolean {
  const { inTotals, inRow } = wrongFigures(table);
  return table.totals === undefined ? inRow(metric, {}) : inTotals(metric);
}

/**
 * The usual range of a metric's total, from the trend of its table. Undefined if its period is not exactly one bucket
 * of the trend.
 * @param value the total
 */
export function totalRange(
  rules: Pick<Dataset, 'small' | 'bases'>,
  table: Table,
  column: Column,
  value: number | null,
  quantity: Quantity,
): UsualRange | undefined {
  const { trend, range, running } = table;
  const last = trend?.buckets.at(-1)?.label;
  const points = trend?.values[column.name];
  if (trend === undefined || points === undefined || last === undefined || running || range === null) return undefined;
  if (range.from !== last || range.to !== lastDayOfBucket(last, trend.granularity)) return undefined;
  if (isWrongTotal(table, column.name)) return undefined;
  const values = { [column.name]: [...points.slice(0, -1), value] };
  return pointRange(rules, table, column, { ...trend, values }, quantity);
}

/** The range for readers: `usual 420–520`. The unit is written once. */
export function rangeText({ low, high, is }: UsualRange, quantity: Quantity, locale: string): string {
  const [from, to] = [formatValue(low, quantity, locale), formatValue(high, quantity, locale)];
  const [unit = ''] = /\D*$/u.exec(to) ?? [];
  const { usual } = messagesFor(locale).status;
  return usual[is](`${from.endsWith(unit) ? from.slice(0, from.length - unit.length) : from}–${to}`);
}

/** The last point of a trend section with the points before it, or the total of a table with a trend. */
function presentFigure(table: Table, { name }: Column) {
  const { layout, granularity } = table;
  if (layout?.kind === 'trend' && granularity !== null) {
    const { buckets, valuesOf, casesOf } = tableBuckets(table, granularity);
    const values = valuesOf(name);
    const labelled = buckets.map(({ bucket, partial }) => ({ label: bucket, partial }));
    const trend: TableTrend = {
      granularity,
      buckets: labelled,
      values: { [name]: values },
      cases: { [name]: casesOf(name) },
    };
    const wrong = wrongFigures(table).inRow(name, { bucket: buckets.at(-1)?.bucket ?? null });
    return { value: values.at(-1), wrong, trend };
  }
  if (table.trend?.values[name] === undefined) return undefined;
  const totals = table.totals?.values ?? (isSingleRow(table) ? firstRows(table.rows, 1)[0]?.values : undefined);
  return { value: totals?.[name], wrong: isWrongTotal(table, name), trend: undefined };
}

/** The first present figure outside of its usual range; if there is none, the first that cannot be right. */
export function unusualFigure(dataset: Pick<Dataset, 'tables' | 'small' | 'bases'>) {
  let notRight: { readonly metric: string; readonly value: number } | undefined;
  for (const table of dataset.tables) {
    for (const column of table.columns.filter(({ kind }) => kind === 'metric')) {
      const { value, wrong, trend } = presentFigure(table, column) ?? {};
      if (typeof value !== 'number') continue;
      const figure = { metric: column.name, value };
      if (wrong === true) notRight ??= figure;
      const collector = quantityCollector(column, 'day');
      collector.add(value);
      const quantity = collector.quantity();
      const usual =
        trend === undefined
          ? totalRange(dataset, table, column, value, quantity)
          : pointRange(dataset, table, column, trend, quantity);
      if (usual?.is === 'unusual') return { ...figure, usual };
    }
  }
  return notRight;
}
