import { expect, test } from 'vitest';
import { checkBases } from '../../../src/plan/checks/check-bases.ts';
import { CATALOG } from '../../support/reports.ts';

const RATE = 'profiles.approval_rate';
const catalog = {
  ...CATALOG,
  metrics: CATALOG.metrics.map((metric) => (metric.id === RATE ? { ...metric, time_field: 'first decision' } : metric)),
};

test('a base of the same events and "none" are allowed', () => {
  expect(checkBases({ [RATE]: 'profiles.decided' }, catalog)).toEqual([]);
  expect(checkBases({ [RATE]: 'none' }, catalog)).toEqual([]);
});

test('an unknown metric and one that needs no base are errors', () => {
  expect(checkBases({ 'profiles.aproval_rate': 'profiles.decided' }, catalog)).toMatchObject([
    { path: ['bases', 'profiles.aproval_rate'], code: 'catalog.unknown', next: `Did you mean "${RATE}"?` },
  ]);
  expect(checkBases({ 'profiles.created': 'profiles.decided' }, catalog)).toMatchObject([
    { path: ['bases', 'profiles.created'], got: '"profiles.created", whose unit is count' },
  ]);
});

test('a base that the organization lacks is an error', () => {
  expect(checkBases({ [RATE]: 'profiles.decidedd' }, catalog)).toMatchObject([
    { path: ['bases', RATE], code: 'catalog.unknown', got: '"profiles.decidedd"' },
  ]);
});

test('a base of other events is an error', () => {
  for (const base of ['profiles.created', 'alerts.open', 'cohort.completion_rate'])
    expect(checkBases({ [RATE]: base }, catalog), base).toMatchObject([{ path: ['bases', RATE] }]);
});
