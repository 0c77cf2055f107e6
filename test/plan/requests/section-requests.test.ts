import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../../src/contract/catalog.ts';
import type { ReadingSettings } from '../../../src/definitions/schema/readings.ts';
import { currentCountsSections, sectionRequests } from '../../../src/plan/requests/section-requests.ts';
import { CATALOG, definitionOf, type SectionInput, WEEK } from '../../support/reports.ts';

const MONTH = { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: '2026-10' };
const READINGS = { at: '22:30', metrics: ['alerts.open'], by: [] };
const OPEN: SectionInput = { id: 'open', metrics: ['alerts.open'] };
const CREATED: SectionInput = { id: 'created', metrics: ['profiles.created'] };

describe('sections of current counts', () => {
  const definition = definitionOf([
    CREATED,
    OPEN,
    { id: 'both', metrics: ['alerts.open', 'profiles.created'] },
    { id: 'by-type', metrics: ['alerts.open'], dimensions: ['profile.type'] },
    { id: 'people', list: 'profiles' },
    { id: 'by-day', metrics: ['alerts.open'], granularity: 'day' },
  ]);
  const named = (catalog: Catalog | undefined, readings?: ReadingSettings) =>
    currentCountsSections(definition, catalog, readings).map(({ section }) => section);

  test('are those that the catalog says are current, and that no reading answers', () => {
    expect(currentCountsSections(definition, CATALOG)).toEqual([
      { section: 'open', metrics: ['alerts.open'] },
      { section: 'by-type', metrics: ['alerts.open'] },
    ]);
    expect(named(CATALOG, READINGS)).toEqual(['by-type']);
    expect(named(CATALOG, { ...READINGS, by: ['profile.type'] })).toEqual([]);
  });

  test('may be any without granularity where there is no catalog', () => {
    expect(named(undefined)).toEqual(['created', 'open', 'both', 'by-type']);
  });

  test('are named as written where successors are followed and there is no catalog', () => {
    const of = definitionOf([OPEN], { follow_replacements: true });
    expect(currentCountsSections(of, undefined)).toEqual([{ section: 'open', metrics: OPEN.metrics }]);
  });

  test('are named by the metric that takes the place of a deprecated one', () => {
    const of = definitionOf([{ id: 'old', metrics: ['alerts.opened'] }], { follow_replacements: true });
    const catalog = {
      ...CATALOG,
      metrics: [
        ...CATALOG.metrics,
        {
          ...CATALOG.metrics[0]!,
          id: 'alerts.opened',
          deprecated_at: '2026-01-01T00:00:00Z',
          replaced_by: 'alerts.open',
        },
      ],
    };
    expect(currentCountsSections(of, catalog)).toEqual([{ section: 'old', metrics: ['alerts.open'] }]);
  });
});

describe('requests of a section', () => {
  const requestsOf = (section: SectionInput, sectionPeriods = {}) =>
    sectionRequests({
      definition: definitionOf([section], { compare: ['previous_period'], to_date: 'year' }),
      period: WEEK,
      sectionPeriods,
      catalog: CATALOG,
    });

  test('are for its own period and comparisons, else for those of the report', () => {
    const [report] = requestsOf(CREATED);
    expect(report).toMatchObject({ period: WEEK, comparisons: ['previous_period'], toDate: 'year' });
    expect(report?.request?.time).toMatchObject({ from: WEEK.from, to: WEEK.to, compare: 'previous_period' });
    const [own] = requestsOf({ ...CREATED, compare: 'previous_year', to_date: 'quarter' }, { created: MONTH });
    expect(own).toMatchObject({ period: MONTH, comparisons: ['previous_year'], toDate: 'quarter' });
    expect(own?.request?.time).toEqual({ from: MONTH.from, to: MONTH.to, timezone: MONTH.timezone });
  });

  test('have no comparison where neither section nor report names one', () => {
    const definition = definitionOf([CREATED]);
    const [created] = sectionRequests({ definition, period: WEEK, catalog: CATALOG });
    expect(created).toMatchObject({ comparisons: [], partners: [] });
    expect(created).not.toHaveProperty('toDate');
  });

  test('have neither comparison nor year to date for current counts and lists', () => {
    const [open] = requestsOf(OPEN);
    expect(open).toMatchObject({ comparisons: [], partners: [] });
    expect(open).not.toHaveProperty('toDate');
    const [list] = requestsOf({ id: 'people', list: 'profiles' });
    expect(list).toMatchObject({ comparisons: [], request: undefined, partners: [] });
  });
});
