import type { Dataset, Judgement, Table } from '../../fetch/dataset.ts';
import type { FilterDescription } from '../../i18n/note.ts';
import { type DateRange, dayCount, lastDayOfBucket, sameDays } from '../../plan/buckets.ts';

/*
 * Decides which figures are the same. A figure is a metric, its first and last day, its filters and its group. If two
 * sections show it, it has one judgement, one headline and one tile.
 */

/**
 * `own`: of the report's own period and scope. `other`: of another period or scope. `shorter`: of fewer days than the
 * report's period, like a reading of another day.
 */
export type FigurePlace = 'own' | 'other' | 'shorter';

/** Bucket and group of a row. Both are null for the totals. */
export type RowPlace = Pick<Judgement, 'bucket' | 'group'>;
export const TOTALS: RowPlace = { bucket: null, group: null };

type Described = Pick<Table, 'filters'>;

/** Filters and group by ids and values, because labels may be ambiguous. One text for each dimension and operator. */
function canonicalFilters(filters: readonly FilterDescription[], group: RowPlace['group'] = null): string[] {
  const included = new Map<string, readonly string[]>();
  const excluded = new Map<string, readonly string[]>();
  const include = (dimension: string, values: readonly string[]): void => {
    included.set(dimension, included.get(dimension)?.filter((value) => values.includes(value)) ?? values);
  };
  const searches: string[] = [];
  for (const filter of filters) {
    if ('search' in filter) searches.push(`search=${encodeURIComponent(filter.search)}`);
    else {
      // Figures that an older version stored have labels only.
      const { dimension, values } = filter.of ?? {
        dimension: filter.label,
        values: 'is' in filter ? filter.is : filter.isNot,
      };
      if ('is' in filter) include(dimension, values);
      else excluded.set(dimension, [...(excluded.get(dimension) ?? []), ...values]);
    }
  }
  if (group !== null) include(group.dimension, [group.value]);
  const written = (dimension: string, operator: string, values: readonly string[]): string =>
    `${encodeURIComponent(dimension)}${operator}${[...new Set(values)].sort().map(encodeURIComponent).join(',')}`;
  return [
    ...[...included].map(([dimension, values]) => {
      const out = excluded.get(dimension) ?? [];
      return written(
        dimension,
        '=',
        values.filter((value) => !out.includes(value)),
      );
    }),
    ...[...excluded].flatMap(([dimension, values]) =>
      included.has(dimension) ? [] : [written(dimension, '!=', values)],
    ),
    ...searches,
  ].sort();
}

/**
 * The filters that all sections with figures share, without sections that are not split. They are the report's scope.
 */
export function sharedFilters(tables: readonly Pick<Table, 'filters' | 'columns' | 'unsplit'>[]): ReadonlySet<string> {
  const [first, ...others] = tables
    .filter(({ columns, unsplit }) => unsplit !== true && columns.some(({ kind }) => kind === 'metric'))
    .map(({ filters }) => canonicalFilters(filters));
  return new Set(first?.filter((filter) => others.every((other) => other.includes(filter))));
}

/** The filters of a table beyond the report's scope. Filters that a group states more exactly are left out. */
export const ownFilters = (
  { filters }: Described,
  shared: ReadonlySet<string>,
  group: RowPlace['group'] = null,
): readonly FilterDescription[] =>
  filters.filter(
    (filter) =>
      !canonicalFilters([filter]).every((text) => shared.has(text)) &&
      (group === null || 'search' in filter || filter.of?.dimension !== group.dimension),
  );

/** The days that a figure covers; null for a current count. */
export function figureDays(
  { current, range, period, granularity }: Pick<Table, 'current' | 'range' | 'period' | 'granularity'>,
  { bucket }: RowPlace,
): DateRange | null {
  if (current) return null;
  const days = range ?? period;
  if (bucket === null) return { from: days.from, to: days.to };
  const last = lastDayOfBucket(bucket, granularity ?? 'day');
  return { from: bucket < days.from ? days.from : bucket, to: last > days.to ? days.to : last };
}

/**
 * The same text for the same figure in several sections: `profiles.created/2026-10-01/2026-10-31/profile.risk=high`. A
 * reading belongs to its last day only, whatever the first day of its section.
 */
export function figureKey(table: Table, metric: string, row: RowPlace = TOTALS): string {
  const days = figureDays(table, row);
  const time = days === null ? ['now'] : table.readings === undefined ? [days.from, days.to] : ['read', days.to];
  return [encodeURIComponent(metric), ...time, ...canonicalFilters(table.filters, row.group)].join('/');
}

/**
 * Whether a table's figure for these days covers the report's period; for a reading, its last day. Current counts
 * always do.
 */
export const isOfPeriod = ({ readings }: Pick<Table, 'readings'>, days: DateRange | null, period: DateRange): boolean =>
  days === null || (readings === undefined ? sameDays(days, period) : days.to === period.to);

/** @param shared from `sharedFilters` */
export function figurePlace(
  { period }: Pick<Dataset, 'period'>,
  table: Table,
  shared: ReadonlySet<string>,
  row: RowPlace = TOTALS,
): FigurePlace {
  const days = figureDays(table, row);
  const ownDays = isOfPeriod(table, days, period);
  if (days !== null && !ownDays && (table.readings === undefined ? dayCount(days) : 1) < dayCount(period))
    return 'shorter';
  const ownScope =
    table.unsplit !== true && canonicalFilters(table.filters, row.group).every((filter) => shared.has(filter));
  return ownDays && ownScope ? 'own' : 'other';
}

/** What tells a figure in a section apart from others. */
interface Identified {
  readonly key: string;
  readonly value: number | null;
}

/**
 * Removes repeated figures; the first one stays. Figures with different values stay separate.
 * @param merge adds the same figure from a later section to the first one
 */
export function distinctBy<Figure extends Identified>(
  figures: readonly Figure[],
  merge: (known: Figure, other: Figure) => Figure,
): Figure[] {
  const found = new Map<string, Figure>();
  for (const figure of figures) {
    const identity = JSON.stringify([figure.key, figure.value]);
    const known = found.get(identity);
    found.set(identity, known === undefined ? figure : merge(known, figure));
  }
  return [...found.values()];
}

/**
 * For each name: whether it occurs again in the list, so that the section's title must be added. In the order of
 * `names`.
 */
export function areAmbiguous(names: readonly string[]): boolean[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return names.map((name) => (counts.get(name) ?? 0) > 1);
}

/** Compares places: the report's own figures come before others. Figures with the same place keep their order. */
export const byPlace = (one: FigurePlace, other: FigurePlace): number => PLACES[one] - PLACES[other];
const PLACES = { own: 0, other: 1, shorter: 2 } as const satisfies Record<FigurePlace, number>;
