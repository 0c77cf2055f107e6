import type { Catalog } from '../contract/catalog.ts';
import type { Filter } from '../contract/report.ts';

type Dimensions = Pick<Catalog, 'dimensions'>;
type Filters = readonly Filter[];

const valuesOf = (id: string, { dimensions }: Dimensions): string[] =>
  dimensions.find((dimension) => dimension.id === id)?.values.map(({ value }) => value) ?? [];

/** The values of a dimension that pass the filters, in the catalog's order. */
const passing = (id: string, filters: Filters, catalog: Dimensions): string[] =>
  valuesOf(id, catalog).filter((value) =>
    filters.every(({ dimension, op, values }) => dimension !== id || values.includes(value) === (op !== 'not_in')),
  );

/** How many groups there can be: every combination of the values that pass. */
export const groupsAtMost = (ids: readonly string[], filters: Filters, catalog: Dimensions): number =>
  ids.reduce((product, id) => product * passing(id, filters, catalog).length, 1);

const among = (dimension: string, values: readonly string[]): Filter => ({
  dimension,
  op: values.length === 1 ? 'eq' : 'in',
  values: [...values].sort(),
});

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
  /** Dimensions of which nothing can pass, so that there is nothing to ask. */
  readonly empty: readonly string[];
}

/**
 * Filters of any length as filters of at most `most` values. A dimension lists every value it takes (specification
 * §2.4), so a filter that names too many of them says the same by naming the others; only where those are too many as
 * well are the values spread over several calls.
 */
export function fitFilters(filters: Filters, catalog: Dimensions, most: number): FittedFilters {
  const spread: string[] = [];
  const empty: string[] = [];
  const fitted = filters.map((filter): Filter[] | undefined => {
    const { dimension, op, values } = filter;
    if (values.length <= most) return [filter];
    const others = valuesOf(dimension, catalog).filter((value) => !values.includes(value));
    if (others.length === 0) {
      if (op === 'not_in') empty.push(dimension);
      // Every value is allowed: every row passes.
      return undefined;
    }
    if (others.length <= most) {
      return [op === 'not_in' ? among(dimension, others) : { dimension, op: 'not_in', values: others.sort() }];
    }
    spread.push(dimension);
    return chunks(op === 'not_in' ? others : values, most).map((chunk) => among(dimension, chunk));
  });
  const variants = fitted.reduce<Filter[][]>(
    (all, ways) => (ways === undefined ? all : all.flatMap((one) => ways.map((way) => [...one, way]))),
    [[]],
  );
  return { variants, spread, empty };
}

/**
 * The filters, parted by the values of the dimension that has most of them, so that no call can have more than `most`
 * groups: each group is in one part only, whatever is counted. Undefined when one value alone has more.
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
    .map((id) => ({ id, values: passing(id, filters, catalog) }))
    .sort((a, b) => b.values.length - a.values.length);
  if (widest === undefined) return undefined;
  const size = Math.min(Math.floor(most / (groups / widest.values.length)), maxValues);
  if (size < 1) return undefined;
  const others = filters.filter(({ dimension }) => dimension !== widest.id);
  return chunks(widest.values, size).map((values) => [...others, among(widest.id, values)]);
}
