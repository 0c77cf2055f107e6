import { expect, test } from 'vitest';
import {
  byMetric,
  renamedCatalog,
  renamedResponse,
} from '../../../../src/fetch/internal/tables/columns/display-units.ts';
import { CATALOG } from '../../../support/reports.ts';

test('a setting for a deprecated metric also applies to its replacement, unless that has its own', () => {
  const sections = [{}, { replaced: [{ from: 'profiles.opened', to: 'profiles.created' }] }];
  expect([...byMetric({ 'profiles.opened': 'New' }, sections)]).toEqual([
    ['profiles.opened', 'New'],
    ['profiles.created', 'New'],
  ]);
  const both = byMetric({ 'profiles.opened': 'New', 'profiles.created': 'Newer' }, sections);
  expect(both.get('profiles.created')).toBe('Newer');
  expect(byMetric(undefined, sections).size).toBe(0);
});

test('labels rename metrics, dimensions and codes, and nothing else', () => {
  const names = new Map([
    ['profiles.created', 'New'],
    ['profile.risk', 'Rating'],
    ['pep', 'Political'],
  ]);
  const { metrics, dimensions, ...rest } = renamedCatalog(CATALOG, names);
  expect(metrics.filter(({ label }, index) => label !== CATALOG.metrics[index]?.label)).toEqual([
    { ...CATALOG.metrics[0], label: 'New' },
  ]);
  expect(dimensions.map(({ label }) => label)).toEqual(['Profile type', 'Rating', 'Hit kind']);
  expect(dimensions[2]?.values).toEqual([{ value: 'pep', label: 'Political' }]);
  expect(rest).toEqual({ registry_version: CATALOG.registry_version, limits: CATALOG.limits });
  expect(renamedCatalog(CATALOG, new Map())).toBe(CATALOG);
});

test('a label renames the bucket column of a response, but no other column', () => {
  const column = (name: string) => ({ name, label: 'As sent', kind: 'metric', type: 'integer', unit: 'count' });
  const response = { columns: [column('bucket'), column('profiles.created')], rows: [] };
  const renamed = renamedResponse(
    response as unknown as Parameters<typeof renamedResponse>[0],
    new Map([
      ['bucket', 'Month'],
      ['profiles.created', 'New'],
    ]),
  );
  expect(renamed.columns.map(({ label }) => label)).toEqual(['Month', 'As sent']);
});
