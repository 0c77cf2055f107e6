import { expect, test } from 'vitest';
import type { Target } from '../../src/definitions/schema/targets.ts';
import { checkTargets } from '../../src/plan/check-targets.ts';
import { CATALOG } from '../support/reports.ts';

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
