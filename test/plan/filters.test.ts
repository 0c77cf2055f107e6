import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../src/contract/catalog.ts';
import type { Filter } from '../../src/contract/report.ts';
import { countMaxGroups, splitFilters, splitGroups } from '../../src/plan/filters.ts';
import { CATALOG } from '../support/reports.ts';

const dimension = (id: string, values: readonly string[]): Catalog['dimensions'][number] => ({
  id,
  label: id,
  description: '',
  type: 'enum',
  values: values.map((value) => ({ value, label: value })),
});
/** In the order of the catalog, which is not alphabetical. */
const CITIES = ['zug', 'bern', 'genf', 'chur', 'thun', 'basel'];
const CATALOGUE = { dimensions: [...CATALOG.dimensions, dimension('city', CITIES)] };
const only = (id: string, ...values: string[]): Filter => ({
  dimension: id,
  op: values.length === 1 ? 'eq' : 'in',
  values,
});
const without = (id: string, ...values: string[]): Filter => ({ dimension: id, op: 'not_in', values });

describe('the possible groups', () => {
  const groups = (ids: string[], ...filters: Filter[]) => countMaxGroups(ids, filters, CATALOGUE);

  test('are all combinations of values, with "no value" unless the specification lists all values', () => {
    expect(groups([])).toBe(1);
    expect(groups(['profile.type'])).toBe(2);
    expect(groups(['city'])).toBe(7);
    expect(groups(['city', 'profile.risk'])).toBe(35);
    expect(groups(['city', 'profile.type'])).toBe(14);
    expect(groups(['no such'])).toBe(1);
  });

  test('are reduced by the filters of their dimension only', () => {
    expect(groups(['city'], only('city', 'zug', 'bern', 'genf'))).toBe(3);
    expect(groups(['city'], only('city', 'zug'))).toBe(1);
    expect(groups(['city'], without('city', 'zug'))).toBe(6);
    expect(groups(['city'], without('city', ...CITIES))).toBe(1);
    expect(groups(['city'], only('city', 'zug', 'bern'), without('city', 'zug'))).toBe(1);
    expect(groups(['city'], only('profile.risk', 'high'))).toBe(7);
    expect(groups(['city', 'profile.risk'], only('profile.risk', 'high'))).toBe(7);
  });
});

describe('filters within the limits of a call', () => {
  const fitted = (most: number, ...filters: Filter[]) => splitFilters(filters, most);

  test('are unchanged if they name no more values than a call allows', () => {
    const filters = [only('city', 'zug', 'bern', 'genf'), without('profile.risk', 'low')];
    expect(fitted(3, ...filters)).toEqual({ filterSets: [filters], splitDimensions: [] });
    expect(fitted(3)).toEqual({ filterSets: [[]], splitDimensions: [] });
  });

  test('exclude values by several filters in one call', () => {
    const risk = only('profile.risk', 'high');
    expect(fitted(3, without('city', ...CITIES.slice(1)), risk)).toEqual({
      filterSets: [[without('city', 'basel', 'bern', 'chur'), without('city', 'genf', 'thun'), risk]],
      splitDimensions: [],
    });
  });

  test('are never replaced by their complement, even if they name all listed values', () => {
    expect(fitted(3, only('city', ...CITIES))).toEqual({
      filterSets: [[only('city', 'zug', 'bern', 'genf')], [only('city', 'chur', 'thun', 'basel')]].map(([filter]) => [
        { ...filter, values: filter?.values.toSorted() },
      ]),
      splitDimensions: ['city'],
    });
    expect(fitted(3, without('city', ...CITIES)).filterSets).toEqual([
      [without('city', 'basel', 'bern', 'chur'), without('city', 'genf', 'thun', 'zug')],
    ]);
  });

  test('are spread over several calls if they name too many values; each value is in one call', () => {
    expect(fitted(2, only('city', 'zug', 'bern', 'genf'))).toEqual({
      filterSets: [[only('city', 'bern', 'zug')], [only('city', 'genf')]],
      splitDimensions: ['city'],
    });
  });

  test('are combined with each other if several are spread, and every call has the remaining filters', () => {
    const { filterSets, splitDimensions } = fitted(
      1,
      only('city', 'zug', 'bern'),
      only('profile.type', 'entity'),
      only('profile.risk', 'low', 'high'),
    );
    const type = only('profile.type', 'entity');
    expect(splitDimensions).toEqual(['city', 'profile.risk']);
    expect(filterSets).toEqual(
      ['zug', 'bern'].flatMap((city) =>
        ['low', 'high'].map((risk) => [only('city', city), type, only('profile.risk', risk)]),
      ),
    );
  });
});

describe('groups split over calls', () => {
  const part = (ids: string[], most: number, maxValues: number, ...filters: Filter[]) =>
    splitGroups(ids, filters, CATALOGUE, most, maxValues);

  test('are one part if they fit into one call', () => {
    expect(part(['city'], 7, 50, only('profile.risk', 'high'))).toEqual([[only('profile.risk', 'high')]]);
    expect(part([], 1, 50)).toEqual([[]]);
    expect(part([], 0, 50)).toBe(undefined);
  });

  test('are split by the dimension with the most values; the last part excludes the values of all others', () => {
    // Three cities with five risks per part, "no risk" included. The last part also has the records without a city.
    const parts = [
      [only('city', 'bern', 'genf', 'zug')],
      [only('city', 'basel', 'chur', 'thun')],
      [without('city', ...[...CITIES].sort())],
    ];
    expect(part(['city', 'profile.risk'], 15, 50)).toEqual(parts);
    expect(part(['profile.risk', 'city'], 19, 50)).toEqual(parts);
    expect(part(['city', 'profile.risk'], 20, 50)).toEqual([
      [only('city', 'bern', 'chur', 'genf', 'zug')],
      [without('city', 'bern', 'chur', 'genf', 'zug')],
    ]);
  });

  test('have as few listed values as possible in the last part, which needs room for new values', () => {
    expect(part(['city'], 5, 50)).toEqual([
      [only('city', 'bern', 'chur', 'genf', 'thun', 'zug')],
      [without('city', 'bern', 'chur', 'genf', 'thun', 'zug')],
    ]);
    expect(part(['city'], 6, 50)).toEqual([
      [only('city', ...[...CITIES].sort())],
      [without('city', ...[...CITIES].sort())],
    ]);
  });

  test('need no call for "no value" if the specification lists all values of the dimension', () => {
    expect(part(['profile.type'], 1, 50)).toEqual([
      [only('profile.type', 'individual')],
      [without('profile.type', 'individual')],
    ]);
  });

  test('keep the filters of other dimensions, and exclude the values that the filter of their own dimension excludes', () => {
    const risk = only('profile.risk', 'high', 'low');
    expect(part(['city', 'profile.risk'], 4, 50, risk, without('city', 'zug', 'bern', 'genf'))).toEqual([
      [risk, only('city', 'chur', 'thun')],
      [risk, without('city', 'bern', 'chur', 'genf', 'thun', 'zug')],
    ]);
  });

  test('are only those that a filter includes', () => {
    expect(part(['city'], 2, 50, only('city', 'zug', 'bern', 'genf'))).toEqual([
      [only('city', 'bern', 'zug')],
      [only('city', 'genf')],
    ]);
  });

  test('name at most as many values as one filter takes, and exclude further values with more filters', () => {
    expect(part(['city'], 4, 2)).toEqual([
      [only('city', 'bern', 'zug')],
      [only('city', 'chur', 'genf')],
      [without('city', 'bern', 'chur'), without('city', 'genf', 'zug')],
    ]);
    // The last part names the values to exclude, and may name more than a filter allows.
    expect(part(['city'], 5, 2)).toEqual([[only('city', 'bern', 'zug')], [without('city', 'bern', 'zug')]]);
  });

  test('cannot be split if one value alone has more groups than a call returns', () => {
    expect(part(['city', 'profile.risk'], 4, 50)).toBe(undefined);
    expect(part(['city', 'profile.risk'], 5, 50)?.length).toBe(7);
  });
});
