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

  test('are those with only current counts of the catalog that no reading answers', () => {
    expect(currentCountsSections(definition, CATALOG)).toEqual([
      { section: 'open', metrics: ['alerts.open'] },
      { section: 'by-type', metrics: ['alerts.open'] },
    ]);
    expect(named(CATALOG, READINGS)).toEqual(['by-type']);
    expect(named(CATALOG, { ...READINGS, by: ['profile.type'] })).toEqual([]);
  });

  test('may be all sections without granularity if there is no catalog', () => {
    expect(named(undefined)).toEqual(['created', 'open', 'both', 'by-type']);
  });

  test('keep their metrics if replacements are followed but there is no catalog', () => {
    const of = definitionOf([OPEN], { follow_replacements: true });
    expect(currentCountsSections(of, undefined)).toEqual([{ section: 'open', metrics: OPEN.metrics }]);
  });

  test('show the successor of a deprecated metric', () => {
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

  test('have its own period and comparisons, or else those of the report', () => {
    const [report] = requestsOf(CREATED);
    expect(report).toMatchObject({ period: WEEK, comparisons: ['previous_period'], toDate: 'year' });
    expect(report?.request?.time).toMatchObject({ from: WEEK.from, to: WEEK.to, compare: 'previous_period' });
    const [own] = requestsOf({ ...CREATED, compare: 'previous_year', to_date: 'quarter' }, { created: MONTH });
    expect(own).toMatchObject({ period: MONTH, comparisons: ['previous_year'], toDate: 'quarter' });
    expect(own?.request?.time).toEqual({ from: MONTH.from, to: MONTH.to, timezone: MONTH.timezone });
  });

  test('have no comparison if neither section nor report sets one', () => {
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
