import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../src/contract/catalog.ts';
import type { Filter } from '../../src/contract/report.ts';
import { fitFilters, groupsAtMost, partGroups } from '../../src/plan/filters.ts';
import { CATALOG } from '../support/reports.ts';

const dimension = (id: string, values: readonly string[]): Catalog['dimensions'][number] => ({
  id,
  label: id,
  description: '',
  type: 'enum',
  values: values.map((value) => ({ value, label: value })),
});
/** As the catalog has them, not by the alphabet. */
const CITIES = ['zug', 'bern', 'genf', 'chur', 'thun', 'basel'];
const CATALOGUE = { dimensions: [...CATALOG.dimensions, dimension('city', CITIES)] };
const only = (id: string, ...values: string[]): Filter => ({
  dimension: id,
  op: values.length === 1 ? 'eq' : 'in',
  values,
});
const without = (id: string, ...values: string[]): Filter => ({ dimension: id, op: 'not_in', values });

describe('the groups there can be', () => {
  const groups = (ids: string[], ...filters: Filter[]) => groupsAtMost(ids, filters, CATALOGUE);

  test('are every combination of the values', () => {
    expect(groups([])).toBe(1);
    expect(groups(['city'])).toBe(6);
    expect(groups(['city', 'profile.risk'])).toBe(24);
    expect(groups(['no such'])).toBe(0);
  });

  test('are those that pass every filter of their dimension, and no other filter', () => {
    expect(groups(['city'], only('city', 'zug', 'bern', 'genf'))).toBe(3);
    expect(groups(['city'], only('city', 'zug'))).toBe(1);
    expect(groups(['city'], without('city', 'zug'))).toBe(5);
    expect(groups(['city'], only('city', 'zug', 'bern'), without('city', 'zug'))).toBe(1);
    expect(groups(['city'], only('profile.risk', 'high'))).toBe(6);
    expect(groups(['city', 'profile.risk'], only('profile.risk', 'high'))).toBe(6);
  });
});

describe('filters fitted into a call', () => {
  const fitted = (most: number, ...filters: Filter[]) => fitFilters(filters, CATALOGUE, most);

  test('stay as they are while they name no more values than a call takes', () => {
    const filters = [only('city', 'zug', 'bern', 'genf'), without('profile.risk', 'low')];
    expect(fitted(3, ...filters)).toEqual({ variants: [filters], spread: [], empty: [] });
    expect(fitted(3)).toEqual({ variants: [[]], spread: [], empty: [] });
  });

  test('name the others in their order where those are fewer', () => {
    expect(fitted(3, only('city', 'zug', 'genf', 'chur', 'thun')).variants).toEqual([
      [without('city', 'basel', 'bern')],
    ]);
    expect(fitted(3, without('city', 'zug', 'genf', 'chur', 'thun')).variants).toEqual([
      [only('city', 'basel', 'bern')],
    ]);
    expect(fitted(3, without('city', ...CITIES.slice(1))).variants).toEqual([[only('city', 'zug')]]);
    expect(fitted(2, without('city', 'zug', 'genf', 'chur', 'thun'))).toMatchObject({
      variants: [[only('city', 'basel', 'bern')]],
      spread: [],
    });
  });

  test('go where they let every value through, and say so where they let none', () => {
    const risk = only('profile.risk', 'high');
    expect(fitted(3, only('city', ...CITIES), risk)).toEqual({ variants: [[risk]], spread: [], empty: [] });
    expect(fitted(3, without('city', ...CITIES), risk)).toMatchObject({ spread: [], empty: ['city'] });
  });

  test('are spread over several calls where neither side fits: each value is in one of them', () => {
    const [wide] = [only('city', 'zug', 'bern', 'genf')];
    expect(fitted(2, wide!)).toEqual({
      variants: [[only('city', 'bern', 'zug')], [only('city', 'genf')]],
      spread: ['city'],
      empty: [],
    });
    expect(fitted(2, without('city', 'zug', 'bern', 'genf')).variants).toEqual([
      [only('city', 'chur', 'thun')],
      [only('city', 'basel')],
    ]);
  });

  test('are asked each with each where several are spread, the others with all', () => {
    const { variants, spread } = fitted(
      1,
      only('city', 'zug', 'bern'),
      only('profile.type', 'entity'),
      only('profile.risk', 'low', 'high'),
    );
    const type = only('profile.type', 'entity');
    expect(spread).toEqual(['city', 'profile.risk']);
    expect(variants).toEqual(
      ['zug', 'bern'].flatMap((city) =>
        ['low', 'high'].map((risk) => [only('city', city), type, only('profile.risk', risk)]),
      ),
    );
  });
});

describe('groups parted', () => {
  const part = (ids: string[], most: number, maxValues: number, ...filters: Filter[]) =>
    partGroups(ids, filters, CATALOGUE, most, maxValues);

  test('are one part while they are no more than may be', () => {
    expect(part(['city'], 6, 50, only('profile.risk', 'high'))).toEqual([[only('profile.risk', 'high')]]);
    expect(part([], 1, 50)).toEqual([[]]);
    expect(part([], 0, 50)).toBe(undefined);
  });

  test('are parted by the dimension of most values, whichever comes first, into as few parts as may be', () => {
    const parts = [[only('city', 'bern', 'genf', 'zug')], [only('city', 'basel', 'chur', 'thun')]];
    expect(part(['city', 'profile.risk'], 12, 50)).toEqual(parts);
    expect(part(['profile.risk', 'city'], 15, 50)).toEqual(parts);
    expect(part(['profile.type', 'profile.risk'], 4, 50)).toEqual([
      [only('profile.risk', 'low', 'medium')],
      [only('profile.risk', 'high', 'severe')],
    ]);
  });

  test('keep the other filters, and part what their own lets through', () => {
    const risk = only('profile.risk', 'high', 'low');
    expect(part(['city', 'profile.risk'], 4, 50, risk, without('city', 'zug', 'bern', 'genf'))).toEqual([
      [risk, only('city', 'chur', 'thun')],
      [risk, only('city', 'basel')],
    ]);
  });

  test('name no more values than a filter takes', () => {
    expect(part(['city', 'profile.risk'], 23, 2)?.length).toBe(3);
    expect(part(['city', 'profile.risk'], 23, 50)?.length).toBe(2);
  });

  test('cannot be where one value alone has more groups than a call gives', () => {
    expect(part(['city', 'profile.risk'], 3, 50)).toBe(undefined);
    expect(part(['city', 'profile.risk'], 4, 50)?.length).toBe(6);
  });
});
