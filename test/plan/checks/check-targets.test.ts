import { expect, test } from 'vitest';
import type { Target } from '../../../src/definitions/schema/targets.ts';
import { checkPlan } from '../../../src/plan/checks/check-plan.ts';
import { checkConditions, checkTargets } from '../../../src/plan/checks/check-targets.ts';
import { CATALOG, definitionOf, settingsOf, WEEK } from '../../support/reports.ts';

const of = (target: Partial<Target>): readonly Target[] => [
  { metric: 'profiles.created', better: 'higher', ...target },
];

test.each<[Partial<Target>]>([
  [{ target: 100, per: 'week' }],
  [{ metric: 'profiles.approval_rate', target: '90%', watch: 0.85 }],
  [{ metric: 'alerts.open', better: 'lower', target: 0 }],
  [{ target: 3, where: { 'profile.risk': 'high' } }],
])('%j fits the catalog', (target) => {
  expect(checkTargets(of(target), CATALOG)).toEqual([]);
});

test.each<[Partial<Target>, readonly (string | number)[]]>([
  [{ metric: 'profiles.creatd', target: 1 }, ['targets', 0, 'metric']],
  [{ target: '90%' }, ['targets', 0, 'target']],
  [{ target: -1 }, ['targets', 0, 'target']],
  [{ metric: 'profiles.approval_rate', target: '90%', watch: '-5%' }, ['targets', 0, 'watch']],
  [{ target: '24h' }, ['targets', 0, 'target']],
  [{ metric: 'profiles.approval_rate', target: 90 }, ['targets', 0, 'target']],
  [{ metric: 'profiles.approval_rate', target: '90%', watch: '85h' }, ['targets', 0, 'watch']],
  [{ metric: 'alerts.open', target: 0, per: 'week' }, ['targets', 0, 'per']],
  [{ target: 1, where: { 'hit.kind': 'pep' } }, ['targets', 0, 'where']],
  [{ target: 1, where: { 'profile.risk': 'hgh' } }, ['targets', 0, 'where', 'profile.risk']],
])('%j is refused at %j', (target, path) => {
  expect(checkTargets(of(target), CATALOG)).toMatchObject([{ path }]);
});

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
])('the condition %j fits the catalog', (send_if) => {
  expect(checkConditions({ deliveries: sentIf(send_if) }, CATALOG_WITH_DURATION)).toEqual([]);
});

test.each([
  'profiles.created > 10%',
  'profiles.created > 24h',
  'profiles.approval_rate < 90',
  'profiles.approval_rate < 24h',
  'screening.hits > 24%',
])('the condition %j is in a unit that the metric does not have', (send_if) => {
  const definition = definitionOf([{ id: 'kpis', metrics: ['profiles.created'] }], { deliveries: sentIf(send_if) });
  const found = checkPlan({ definition, settings: settingsOf(), period: WEEK, catalog: CATALOG_WITH_DURATION });
  expect(found).toMatchObject([{ path: ['deliveries', 0, 'send_if'], got: `"${send_if}"` }]);
});
