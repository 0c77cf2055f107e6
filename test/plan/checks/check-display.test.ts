import { expect, test } from 'vitest';
import type { Definition } from '../../../src/definitions/schema/report-definition.ts';
import { checkDisplay, checkOrgDisplay } from '../../../src/plan/checks/check-display.ts';
import { checkPlan } from '../../../src/plan/checks/check-plan.ts';
import { CATALOG, definitionOf, settingsOf, WEEK } from '../../support/reports.ts';

const SECTION = { id: 'a', metrics: ['profiles.created', 'profiles.approval_rate'] };
const LIST = { id: 'roster', list: 'profiles' } as const;
const check = (more: Partial<Definition>, sections: Parameters<typeof definitionOf>[0] = [SECTION]) =>
  checkDisplay(definitionOf(sections, more), CATALOG);

const DURATION = { ...CATALOG.metrics[0], id: 'profiles.time_to_decision_p50', unit: 'seconds' } as const;

test.each<[Partial<Definition>]>([
  [{ labels: { 'profiles.created': 'New', 'profile.risk': 'Rating', individual: 'Person' } }],
  [{ units: {} }],
  // An unknown metric is reported by its section.
  [{ units: { revenue: 'hours' } }],
  [{}],
])('%j fits the catalog', (more) => {
  expect(check(more)).toEqual([]);
});

test('a duration may have a unit', () => {
  const catalog = { ...CATALOG, metrics: [...CATALOG.metrics, DURATION] as typeof CATALOG.metrics };
  const units = { [DURATION.id]: 'hours' } as const;
  expect(checkDisplay(definitionOf([{ id: 'a', metrics: [DURATION.id] }], { units }), catalog)).toEqual([]);
});

test.each<[Partial<Definition>, readonly string[], RegExp, string, RegExp]>([
  [
    { units: { 'profiles.created': 'hours' } },
    ['units', 'profiles.created'],
    /"profiles\.created".*no duration \(its unit is count\)/,
    'hours',
    /^Remove/,
  ],
  [
    { units: { 'profiles.approval_rate': 'days' } },
    ['units', 'profiles.approval_rate'],
    /its unit is ratio/,
    'days',
    /^Remove/,
  ],
  [
    { labels: { indivdual: 'Person' } },
    ['labels', 'indivdual'],
    /a metric, a dimension or a code/,
    '"indivdual"',
    /^Did you mean "individual"\?$/,
  ],
  [{ labels: { zebra: 'Horse' } }, ['labels', 'zebra'], /code/, '"zebra"', /or remove it/],
])('%j is refused at %j', (more, path, expected, got, next) => {
  expect(check(more)).toMatchObject([
    { path, expected: expect.stringMatching(expected), got, next: expect.stringMatching(next) },
  ]);
});

test('the error of a metric without a unit says that its unit is none', () => {
  const metrics = CATALOG.metrics.map((metric) => ({ ...metric, unit: null }));
  const definition = definitionOf([SECTION], { units: { 'profiles.created': 'hours' } });
  expect(checkDisplay(definition, { ...CATALOG, metrics })[0]?.expected).toContain('its unit is none');
});

test('labels for fields and codes of a list are not checked', () => {
  expect(check({ labels: { review_stage: 'Stage', ZZ: 'Gone' } }, [SECTION, LIST])).toEqual([]);
  expect(check({ labels: { 'profile.stage': 'Stage' } }, [SECTION, LIST])).toMatchObject([
    { path: ['labels', 'profile.stage'] },
  ]);
});

test('the check of a report includes units and labels', () => {
  const definition = definitionOf([SECTION], { units: { 'profiles.created': 'hours' } });
  expect(checkPlan({ definition, settings: settingsOf(), period: WEEK, catalog: CATALOG })).toMatchObject([
    { path: ['units', 'profiles.created'], next: 'Remove it.' },
  ]);
});

test('units and labels of an organization are checked without a report, and may include codes of lists', () => {
  const display = {
    units: { 'profiles.created': 'hours', 'profiles.creatd': 'days' },
    labels: { AP: 'Cleared', 'profile.risk': 'Rating', 'profile.rsk': 'Rating' },
  } as const;
  expect(checkOrgDisplay(display, CATALOG).map(({ path, next }) => [path.at(-1), next])).toEqual([
    ['profiles.creatd', 'Did you mean "profiles.created"?'],
    ['profiles.created', 'Remove it.'],
    ['profile.rsk', 'Did you mean "profile.risk"?'],
  ]);
});
