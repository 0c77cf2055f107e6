import type { Column, ComparedFigures, Dataset, MetricValues, Value } from '../../fetch/dataset.ts';
import { type Change, type Quantity, rawPerShown } from './quantity.ts';
import type { RawColumn } from './raw-columns.ts';

/** The rules that decide whether a figure has few cases. A dataset of an older version has none. */
export type FewRules = Pick<Dataset, 'small' | 'bases'>;

/** The values of a row or of the totals, with their numbers of cases. */
interface Counted {
  readonly values: Readonly<Record<string, Value>>;
  readonly compare?: { readonly [kind: string]: ComparedFigures | undefined };
  readonly cases?: MetricValues;
  readonly toDateCases?: MetricValues;
}

const isCounted = ({ unit }: Pick<Column, 'unit'>): boolean => unit === 'ratio' || unit === 'seconds';

/**
 * Text for a ratio or a duration with few cases: `(n = 3)`, or `(n ≤ 3)` for an upper bound. Undefined for other
 * figures.
 */
export function fewText(
  { small, bases = [] }: FewRules,
  { name, unit }: Pick<Column, 'name' | 'unit'>,
  value: Value | undefined,
  cases: MetricValues | undefined,
): string | undefined {
  const count = cases?.[name];
  if (small === undefined || typeof value !== 'number' || typeof count !== 'number') return undefined;
  if (!isCounted({ unit }) || count >= small) return undefined;
  const atMost = bases.some(({ metric, atMost }) => metric === name && atMost === true);
  return `(n ${atMost ? '≤' : '='} ${count})`;
}

/** The numbers of cases behind the figure that a column shows. */
export function casesBehind(
  { role, comparison }: Pick<RawColumn, 'role' | 'comparison'>,
  figures: Counted | undefined,
): MetricValues | undefined {
  if (role === 'value') return figures?.cases;
  if (role === 'to_date') return figures?.toDateCases;
  return role === 'previous' && comparison !== undefined ? figures?.compare?.[comparison]?.cases : undefined;
}

/** A 90th percentile needs more cases than a median. */
const isTail = ({ name, aggregation }: Column): boolean => aggregation === 'p90' || name.endsWith('_p90');

/** Whether one of the two figures of a change has few cases. For counts, the smaller figure is the number of cases. */
export function isFewChange(
  { small }: FewRules,
  source: Column,
  figures: Counted,
  compared: ComparedFigures | undefined,
): boolean {
  if (small === undefined || compared === undefined) return false;
  const { name, unit } = source;
  const counts =
    unit === 'count'
      ? [figures.values[name], compared.values[name]]
      : isCounted(source)
        ? [figures.cases?.[name], compared.cases?.[name]]
        : [];
  const least = isTail(source) ? 2 * small : small;
  return counts.some((count) => typeof count === 'number' && count < least);
}

/**
 * Shows a change with few cases as a difference in the unit of its figures: a percentage of three cases says nothing.
 */
export function absoluteChange(
  change: Change,
  now: Value | undefined,
  before: Value | undefined,
  quantity: Quantity,
): Change {
  if (change.kind !== 'relative' || typeof now !== 'number' || typeof before !== 'number' || change.direction === null)
    return change;
  return { kind: 'difference', value: (now - before) / rawPerShown(quantity), direction: change.direction };
}
