import { expect, test } from 'vitest';
import type { Target } from '../../../src/definitions/schema/targets.ts';
import { checkPlan } from '../../../src/plan/checks/check-plan.ts';
import { checkConditions, checkTargets } from '../../../src/plan/checks/check-targets.ts';
import { CATALOG, definitionOf, settingsOf, WEEK } from '../../support/reports.ts';

const of = (target: Partial<Target>): readonly Target[] => [
  { metric: 'profiles.created', better: 'higher', ...target },
];

/** The catalog with a duration, a metric without a unit, and one without dimensions. */
const ODD_CATALOG = {
  ...CATALOG,
  metrics: CATALOG.metrics.map((metric) => ({
    ...metric,
    ...(metric.id === 'screening.hits' ? { unit: 'seconds' } : {}),
    ...(metric.id === 'rfis.open' ? { unit: null } : {}),
    ...(metric.id === 'cohort.completion_rate' ? { dimensions: [] } : {}),
  })),
};

test.each<[Partial<Target>]>([
  [{ target: 100, per: 'week' }],
  [{ metric: 'profiles.approval_rate', target: '90%', watch: 0.85 }],
  [{ metric: 'alerts.open', better: 'lower', target: 0 }],
  [{ target: 3, where: { 'profile.risk': 'high' } }],
])('%j fits the catalog', (target) => {
  expect(checkTargets(of(target), CATALOG)).toEqual([]);
});

test.each<[Partial<Target>, readonly (string | number)[], string, RegExp, RegExp]>([
  [
    { metric: 'profiles.creatd', target: 1 },
    ['metric'],
    '"profiles.creatd"',
    /catalog/,
    /^Did you mean "profiles\.created"\?$/,
  ],
  [{ metric: 'revenue', target: 1 }, ['metric'], '"revenue"', /catalog/, /remove/],
  [{ target: '90%' }, ['target'], '90% for "profiles.created"', /without a unit .*count/, /number/],
  [{ target: '24h' }, ['target'], '24h for "profiles.created"', /without a unit .*count/, /number/],
  [{ target: -1 }, ['target'], '-1 for "profiles.created"', /^0 or more/, /sign/],
  [
    { metric: 'profiles.approval_rate', target: '90%', watch: '-5%' },
    ['watch'],
    '-5% for "profiles.approval_rate"',
    /^0 or more/,
    /sign/,
  ],
  [{ metric: 'profiles.approval_rate', target: 90 }, ['target'], '90 for "profiles.approval_rate"', /ratio/, /90%/],
  [{ metric: 'profiles.approval_rate', target: -90 }, ['target'], '-90 for "profiles.approval_rate"', /ratio/, /90%/],
  [
    { metric: 'profiles.approval_rate', target: '90%', watch: '85h' },
    ['watch'],
    '85h for "profiles.approval_rate"',
    /ratio/,
    /90%/,
  ],
  [{ metric: 'screening.hits', target: '90%' }, ['target'], '90% for "screening.hits"', /duration/, /24h/],
  [{ metric: 'rfis.open', target: '90%' }, ['target'], '90% for "rfis.open"', /unit is none/, /number/],
  [
    { metric: 'alerts.open', target: 0, per: 'week' },
    ['per'],
    '"week" for "alerts.open"',
    /^no "per" .*current count/,
    /Remove "per"/,
  ],
  [
    { target: 1, where: { 'hit.kind': 'pep' } },
    ['where'],
    '"hit.kind"',
    /"profiles\.created" accepts \(profile\.type, profile\.risk\)/,
    /remove "where"/,
  ],
  [
    { metric: 'cohort.completion_rate', target: 1, where: { 'hit.kind': 'pep' } },
    ['where'],
    '"hit.kind"',
    /^no "where": "cohort\.completion_rate" accepts no dimension/,
    /remove "where"/,
  ],
  [{ target: 1, where: { colour: 'red' } }, ['where'], '"colour"', /a dimension that/, /remove "where"/],
  [
    { target: 1, where: { 'profile.risk': 'hgh' } },
    ['where', 'profile.risk'],
    '"hgh"',
    /"profile\.risk" takes: low, medium, high, severe$/,
    /values above/,
  ],
])('%j is refused at %j', (target, path, got, expected, next) => {
  expect(checkTargets(of(target), ODD_CATALOG)).toMatchObject([
    {
      path: ['targets', 0, ...path],
      got,
      expected: expect.stringMatching(expected),
      next: expect.stringMatching(next),
    },
  ]);
});

test('a dimension without listed values allows any value, and the error of another names at most twelve values', () => {
  const [type, risk, ...others] = CATALOG.dimensions;
  const many = Array.from({ length: 14 }, (_, index) => ({ value: `v${index + 10}`, label: '' }));
  const dimensions = [{ ...type!, values: many }, { ...risk!, values: [] }, ...others];
  const check = (dimension: string) =>
    checkTargets(of({ target: 1, where: { [dimension]: 'x' } }), { ...CATALOG, dimensions });
  expect(check('profile.risk')).toEqual([]);
  expect(check('profile.type')[0]?.expected.match(/\bv\d+/g)).toEqual(many.slice(0, 12).map(({ value }) => value));
});

test('a dimension of the metric that the catalog lacks is refused', () => {
  const dimensions = CATALOG.dimensions.filter(({ id }) => id !== 'profile.risk');
  const found = checkTargets(of({ target: 1, where: { 'profile.risk': 'high' } }), { ...CATALOG, dimensions });
  expect(found).toMatchObject([{ path: ['targets', 0, 'where'] }]);
});

test('errors in targets of another file have its path', () => {
  const found = checkTargets([...of({ target: 1 }), ...of({ target: '24h' })], CATALOG, ['organization', 'targets']);
  expect(found.map(({ path }) => path)).toEqual([['organization', 'targets', 1, 'target']]);
});

const sentIf = (send_if: string) => [{ directory: { path: 'out' }, send_if }];

test.each([
  'changed',
  'breached',
  'no condition',
  'profiles.created > 10',
  'profiles.approval_rate < 90%',
  'kpis:profiles.approval_rate < 0.9',
  'screening.hits > 24h',
  'screening.hits > 3600',
  // Another check reports a metric that no section has.
  'banana > 10%',
])('the condition %j fits the catalog', (send_if) => {
  expect(checkConditions({ deliveries: sentIf(send_if) }, ODD_CATALOG)).toEqual([]);
});

test('a delivery without a condition is allowed, and an error in another has its place', () => {
  const deliveries = [{ directory: { path: 'out' } }, ...sentIf('profiles.created > 10%')];
  expect(checkConditions({ deliveries }, ODD_CATALOG).map(({ path }) => path)).toEqual([['deliveries', 1, 'send_if']]);
});

test.each([
  'profiles.created > 10%',
  'profiles.created > 24h',
  'profiles.approval_rate < 90',
  'profiles.approval_rate < 24h',
  'screening.hits > 24%',
])('the condition %j is refused because the metric has another unit', (send_if) => {
  const definition = definitionOf([{ id: 'kpis', metrics: ['profiles.created'] }], { deliveries: sentIf(send_if) });
  const found = checkPlan({ definition, settings: settingsOf(), period: WEEK, catalog: ODD_CATALOG });
  expect(found).toMatchObject([{ path: ['deliveries', 0, 'send_if'], got: `"${send_if}"` }]);
});

test('a dimension in `rows` that the metric does not accept is refused', () => {
  const target = { metric: 'profiles.created', better: 'higher' as const };
  expect(checkTargets([{ ...target, rows: ['profile.risk'] }], CATALOG)).toEqual([]);
  expect(checkTargets([{ ...target, rows: ['profile.rsk'] }], CATALOG)).toMatchObject([
    { path: ['targets', 0, 'rows', 0], got: '"profile.rsk"', next: 'Did you mean "profile.risk"?' },
  ]);
});
