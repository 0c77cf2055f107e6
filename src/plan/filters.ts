import { type Catalog, DIMENSIONS_WITH_FIXED_VALUES } from '../contract/catalog.ts';
import type { Filter } from '../contract/report.ts';

// The catalog is kept for an hour, and rows may have no value (null): the values that it lists are never all that a row
// can have. Only a filter that names what passes ("eq", "in") bounds them; "not_in" lets through what has no value.

type Dimensions = Pick<Catalog, 'dimensions'>;
type Filters = readonly Filter[];

const valuesOf = (id: string, { dimensions }: Dimensions): string[] =>
  dimensions.find((dimension) => dimension.id === id)?.values.map(({ value }) => value) ?? [];

/** The listed values of a dimension that pass the filters, in the catalog's order. */
const passing = (id: string, filters: Filters, catalog: Dimensions): string[] =>
  valuesOf(id, catalog).filter((value) =>
    filters.every(({ dimension, op, values }) => dimension !== id || values.includes(value) === (op !== 'not_in')),
  );

/** Whether rows pass whose value the catalog does not list, or that have none. */
const isOpen = (id: string, filters: Filters): boolean =>
  filters.every(({ dimension, op }) => dimension !== id || op === 'not_in');

/** Groups beside those of the listed values that are reckoned with: the one of rows without a value. */
const unlistedGroups = (id: string, filters: Filters): number =>
  isOpen(id, filters) && !DIMENSIONS_WITH_FIXED_VALUES.has(id) ? 1 : 0;

/** How many groups there can be: every combination of the values that pass, "no value" being one of them. */
export const groupsAtMost = (ids: readonly string[], filters: Filters, catalog: Dimensions): number =>
  ids.reduce((product, id) => product * (passing(id, filters, catalog).length + unlistedGroups(id, filters)), 1);

const among = (dimension: string, values: readonly string[]): Filter => ({
  dimension,
  op: values.length === 1 ? 'eq' : 'in',
  values: [...values].sort(),
});

/** None of the values, however many: a row must pass every filter, so several leave out what one would. */
const noneOf = (dimension: string, values: readonly string[], maxValues: number): Filter[] =>
  chunks([...new Set(values)].sort(), maxValues).map((chunk) => ({ dimension, op: 'not_in', values: chunk }));

function chunks(values: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size),
  );
}

/** Filters that let through the same rows, in one call or in several. */
export interface FittedFilters {
  /** One list of filters a call. No row passes two of them. */
  readonly variants: readonly Filter[][];
  /** Dimensions whose values are spread over the variants. */
  readonly spread: readonly string[];
}

/**
 * Filters of any length as filters of at most `most` values. What is left out is left out by several filters of one call;
 * what is named is spread over several calls. Neither is ever turned into its complement: a value that the catalog does
 * not list would then pass, or be lost.
 */
export function fitFilters(filters: Filters, most: number): FittedFilters {
  const spread: string[] = [];
  const fitted = filters.map((filter): Filter[][] => {
    const { dimension, op, values } = filter;
    if (values.length <= most) return [[filter]];
    if (op === 'not_in') return [noneOf(dimension, values, most)];
    spread.push(dimension);
    return chunks(values, most).map((chunk) => [among(dimension, chunk)]);
  });
  const variants = fitted.reduce<Filter[][]>(
    (all, ways) => all.flatMap((one) => ways.map((way) => [...one, ...way])),
    [[]],
  );
  return { variants, spread };
}

/**
 * The filters, parted by the values of the dimension that has most of them, so that no call has more than `most` groups:
 * each group is in one part only, whatever is counted. The last part asks for all that the others do not name, so that
 * no row is lost whose value the catalog does not list, and has as few listed values as may be: should more unlisted ones
 * come than it has room for, its answer is cut, and says so. Undefined when one value alone has more groups than `most`.
 */
export function partGroups(
  ids: readonly string[],
  filters: Filters,
  catalog: Dimensions,
  most: number,
  maxValues: number,
): Filter[][] | undefined {
  const groups = groupsAtMost(ids, filters, catalog);
  if (groups <= most) return [[...filters]];
  const [widest] = ids
    .map((id) => ({ id, values: passing(id, filters, catalog), unlisted: unlistedGroups(id, filters) }))
    .sort((a, b) => b.values.length - a.values.length);
  if (widest === undefined) return undefined;
  const { id, values, unlisted } = widest;
  const room = Math.floor(most / (groups / (values.length + unlisted)));
  const size = Math.min(room, maxValues);
  if (size < 1) return undefined;
  const others = filters.filter(({ dimension }) => dimension !== id);
  const partOf = (chunk: readonly string[]): Filter[] => [...others, among(id, chunk)];
  if (!isOpen(id, filters)) return chunks(values, size).map(partOf);

  const named = chunks(values, size).slice(0, Math.ceil((values.length + unlisted - room) / size));
  const leftOut = filters.filter(({ dimension }) => dimension === id).flatMap((filter) => filter.values);
  return [...named.map(partOf), [...others, ...noneOf(id, [...leftOut, ...named.flat()], maxValues)]];
}
