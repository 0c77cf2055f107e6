import { type Catalog, DIMENSIONS_WITH_FIXED_VALUES } from '../contract/catalog.ts';
import type { Filter } from '../contract/report.ts';

// Rows can have values that are not listed here: the catalog is cached for an hour, and a row may have no value (null).
// Only "eq" and "in" filters exclude these; "not_in" includes rows without a value.

type Dimensions = Pick<Catalog, 'dimensions'>;
type Filters = readonly Filter[];

const collectValues = (id: string, { dimensions }: Dimensions): string[] =>
  dimensions.find((dimension) => dimension.id === id)?.values.map(({ value }) => value) ?? [];

/** The listed values of a dimension that pass the filters, in the catalog's order. */
const passingValues = (id: string, filters: Filters, catalog: Dimensions): string[] =>
  collectValues(id, catalog).filter((value) =>
    filters.every(({ dimension, op, values }) => dimension !== id || values.includes(value) === (op !== 'not_in')),
  );

/** Whether rows with an unlisted value, or without a value, pass. */
const isOpen = (id: string, filters: Filters): boolean =>
  filters.every(({ dimension, op }) => dimension !== id || op === 'not_in');

/** How many groups to expect besides those of the listed values: the one of rows without a value. */
const unlistedGroupCount = (id: string, filters: Filters): number =>
  isOpen(id, filters) && !DIMENSIONS_WITH_FIXED_VALUES.has(id) ? 1 : 0;

/** The number of combinations of values that pass, including "no value". */
export const countMaxGroups = (ids: readonly string[], filters: Filters, catalog: Dimensions): number =>
  ids.reduce(
    (product, id) => product * (passingValues(id, filters, catalog).length + unlistedGroupCount(id, filters)),
    1,
  );

const includeFilter = (dimension: string, values: readonly string[]): Filter => ({
  dimension,
  op: values.length === 1 ? 'eq' : 'in',
  values: [...values].sort(),
});

/** Excludes any number of values with several filters, all of which a row must pass. */
const excludeFilters = (dimension: string, values: readonly string[], maxValues: number): Filter[] =>
  chunks([...new Set(values)].sort(), maxValues).map((chunk) => ({ dimension, op: 'not_in', values: chunk }));

function chunks(values: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size),
  );
}

/** Filters for one call or several that together are equivalent to the original ones. */
export interface SplitFilters {
  /** One list of filters per call. No row passes two of the lists. */
  readonly filterSets: readonly Filter[][];
  /** Dimensions whose values are split into several calls. */
  readonly splitDimensions: readonly string[];
}

/**
 * Splits filters into filters of at most `maxValues` values. Excluded values become several filters of one call,
 * included ones several calls. Neither is replaced by its complement, which would add or lose unlisted values.
 */
export function splitFilters(filters: Filters, maxValues: number): SplitFilters {
  const splitDimensions: string[] = [];
  const alternatives = filters.map((filter): Filter[][] => {
    const { dimension, op, values } = filter;
    if (values.length <= maxValues) return [[filter]];
    if (op === 'not_in') return [excludeFilters(dimension, values, maxValues)];
    splitDimensions.push(dimension);
    return chunks(values, maxValues).map((chunk) => [includeFilter(dimension, chunk)]);
  });
  const filterSets = alternatives.reduce<Filter[][]>(
    (sets, options) => sets.flatMap((set) => options.map((option) => [...set, ...option])),
    [[]],
  );
  return { filterSets, splitDimensions };
}

/**
 * Splits the filters by the values of the dimension with the most values, so that no call has more than `maxGroups`
 * groups. Each group is in one call only. The last call excludes the values of all others, so that it includes unlisted
 * ones, and it has as few listed values as possible: if there are too many unlisted ones, its response is marked as
 * truncated. Undefined if a single value has more than `maxGroups` groups.
 */
export function splitGroups(
  ids: readonly string[],
  filters: Filters,
  catalog: Dimensions,
  maxGroups: number,
  maxValues: number,
): Filter[][] | undefined {
  const groups = countMaxGroups(ids, filters, catalog);
  if (groups <= maxGroups) return [[...filters]];
  const [largest] = ids
    .map((id) => ({ id, values: passingValues(id, filters, catalog), unlisted: unlistedGroupCount(id, filters) }))
    .sort((a, b) => b.values.length - a.values.length);
  if (largest === undefined) return undefined;
  const { id, values, unlisted } = largest;
  const maxValuesPerCall = Math.floor(maxGroups / (groups / (values.length + unlisted)));
  const size = Math.min(maxValuesPerCall, maxValues);
  if (size < 1) return undefined;
  const others = filters.filter(({ dimension }) => dimension !== id);
  const buildPart = (chunk: readonly string[]): Filter[] => [...others, includeFilter(id, chunk)];
  if (!isOpen(id, filters)) return chunks(values, size).map(buildPart);

  const included = chunks(values, size).slice(0, Math.ceil((values.length + unlisted - maxValuesPerCall) / size));
  const excluded = filters.filter(({ dimension }) => dimension === id).flatMap((filter) => filter.values);
  return [...included.map(buildPart), [...others, ...excludeFilters(id, [...excluded, ...included.flat()], maxValues)]];
}
