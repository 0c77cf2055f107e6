import { expect, test } from 'vitest';
import { checkConditions } from '../../src/plan/check-conditions.ts';
import { checkPlan } from '../../src/plan/check-plan.ts';
import { CATALOG, definitionOf, settingsOf, WEEK } from '../support/reports.ts';

const CATALOG_WITH_DURATION = {
  ...CATALOG,
  metrics: CATALOG.metrics.map((metric) => (metric.id === 'screening.hits' ? { ...metric, unit: 'seconds' } : metric)),
};
const sentIf = (send_if: string) => [{ directory: { path: 'out' }, send_if }];

test.each([
  'changed',
  'profiles.created > 10',
  'profiles.approval_rate < 90%',
  'kpis:profiles.approval_rate < 0.9',
  'screening.hits > 24h',
  'screening.hits > 3600',
  // The section that has no such metric is named elsewhere.
  'banana > 10%',
])('%j fits the catalog', (send_if) => {
  expect(checkConditions({ deliveries: sentIf(send_if) }, CATALOG_WITH_DURATION)).toEqual([]);
});

test.each([
  'profiles.created > 10%',
  'profiles.created > 24h',
  'profiles.approval_rate < 90',
  'profiles.approval_rate < 24h',
  'screening.hits > 24%',
])('%j is in a unit that the metric does not have', (send_if) => {
  const definition = definitionOf([{ id: 'kpis', metrics: ['profiles.created'] }], { deliveries: sentIf(send_if) });
  const found = checkPlan({ definition, settings: settingsOf(), period: WEEK, catalog: CATALOG_WITH_DURATION });
  expect(found).toMatchObject([{ path: ['deliveries', 0, 'send_if'], got: `"${send_if}"` }]);
});
