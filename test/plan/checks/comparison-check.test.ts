import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../../src/contract/catalog.ts';
import { comparisonDiagnostics } from '../../../src/plan/checks/comparison-check.ts';
import { type SectionRequestsInput, sectionRequests } from '../../../src/plan/requests/section-requests.ts';
import { CATALOG, type DefinitionInput, definitionOf, type SectionInput } from '../../support/reports.ts';

const OCTOBER = { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: '2026-10' };
/** The catalog with these first days of data. Other metrics have data since 2024. */
const since = (days: Readonly<Record<string, string | null>>): Catalog => ({
  ...CATALOG,
  metrics: CATALOG.metrics.map((metric) =>
    metric.id in days ? { ...metric, data_available: { from: days[metric.id] ?? null } } : metric,
  ),
});
const check = (
  sections: readonly SectionInput[],
  more: DefinitionInput = {},
  input: Partial<SectionRequestsInput> = {},
) => {
  const whole = { definition: definitionOf(sections, more), period: OCTOBER, catalog: CATALOG, ...input };
  return comparisonDiagnostics(sectionRequests(whole), whole);
};

const created: SectionInput = { id: 'created', metrics: ['profiles.created'] };
const decided: SectionInput = { id: 'decided', metrics: ['profiles.decided'] };

describe('a year before without data', () => {
  test('gets one diagnostic for the report, which names the sections, the last day and the first day with data', () => {
    const catalog = since({ 'profiles.created': '2026-03-01', 'profiles.decided': '2026-02-01' });
    const november = { ...OCTOBER, from: '2026-11-01', to: '2026-11-30' };
    const input = { catalog, sectionPeriods: { decided: november } };
    for (const sections of [
      [created, decided],
      [decided, created],
    ]) {
      const found = check(sections, { compare: 'previous_year' }, input);
      const names = sections.map(({ id }) => `"${id}"`).join(', ');
      expect(found).toMatchObject([
        { path: ['compare', 0], got: expect.stringContaining(`up to 2025-11-30 of ${names}`) },
      ]);
      expect(found[0]?.got).toMatch(/2026-02-01$/);
      expect(found[0]?.expected).toContain('data');
      expect(found[0]?.next).toContain('previous_year');
    }
  });

  test('gets a separate diagnostic for each section with its own comparisons', () => {
    const catalog = since({ 'profiles.created': '2026-03-01', 'profiles.decided': '2026-03-01' });
    const own: SectionInput = { ...created, id: 'own', compare: ['previous_period', 'previous_year'] };
    expect(check([created, own], { compare: 'previous_year' }, { catalog }).map(({ path }) => path)).toEqual([
      ['compare', 0],
      ['sections', 1, 'compare', 1],
    ]);
  });

  test('gets no diagnostic if one metric has or may have data', () => {
    const both: SectionInput = { id: 'both', metrics: ['profiles.created', 'profiles.decided'] };
    const compare = { compare: 'previous_year' } as const;
    const late = { 'profiles.created': '2026-03-01' };
    expect(check([created], compare, { catalog: since(late) })).toHaveLength(1);
    expect(check([both], compare, { catalog: since(late) })).toEqual([]);
    expect(check([both], compare, { catalog: since({ ...late, 'profiles.decided': '2026-03-01' }) })).toHaveLength(1);
    expect(check([both], compare, { catalog: since({ ...late, 'profiles.decided': null }) })).toEqual([]);
    expect(check([created], { compare: 'previous_period' }, { catalog: since(late) })).toEqual([]);
    const unsaid = { ...CATALOG, metrics: CATALOG.metrics.map((metric) => ({ ...metric, data_available: null })) };
    expect(check([created], compare, { catalog: unsaid })).toEqual([]);
    // The year to date still has data.
    expect(check([created], { to_date: 'year' }, { catalog: since({ 'profiles.created': '2026-10-31' }) })).toEqual([]);
    const unknown: SectionInput = { id: 'unknown', metrics: ['revenue'] };
    expect(check([unknown], compare)).toEqual([]);
  });

  test('is decided by the last compared day, of rows or of totals', () => {
    // The compared days end on 1 November, the compared month on 31 October.
    const days: SectionInput = { ...created, granularity: 'day', totals: true };
    const from = (day: string) =>
      check([days], { compare: 'previous_year' }, { catalog: since({ 'profiles.created': day }) });
    expect(from('2025-11-01')).toEqual([]);
    expect(from('2025-11-02')).toMatchObject([{ got: expect.stringContaining('up to 2025-11-01') }]);
  });

  test('gets a diagnostic even if the previous period is the year before', () => {
    const year = { ...OCTOBER, from: '2025-01-01', to: '2025-12-31' };
    const from = (day: string, compare: DefinitionInput['compare']) =>
      check([created], { compare }, { catalog: since({ 'profiles.created': day }), period: year });
    expect(from('2025-01-01', ['previous_period', 'previous_year'])).toMatchObject([
      { path: ['compare', 1], got: expect.stringContaining('up to 2024-12-31') },
    ]);
    expect(from('2024-12-31', ['previous_period', 'previous_year'])).toEqual([]);
    expect(from('2025-01-01', ['previous_period'])).toEqual([]);
  });

  test('gets a diagnostic even if the figures to date have data', () => {
    const catalog = since({ 'profiles.created': '2026-03-01' });
    expect(check([created], { compare: 'previous_year', to_date: 'year' }, { catalog })).toMatchObject([
      { got: expect.stringContaining('up to 2025-10-31') },
    ]);
  });

  test('is a fiscal year for a period of a fiscal year', () => {
    const period = { ...OCTOBER, from: '2026-04-06', to: '2027-04-05' };
    const settings = { fiscal_year_start: { month: 4, day: 6, named_by: 'end' } } as const;
    const found = (input: Partial<SectionRequestsInput>) =>
      check(
        [created],
        { compare: 'previous_year' },
        { catalog: since({ 'profiles.created': '2027-01-01' }), period, ...input },
      );
    expect(found({ settings })).toMatchObject([{ got: expect.stringContaining('up to 2026-04-05') }]);
  });
});

describe('a history of current counts', () => {
  const open: SectionInput = { id: 'open', metrics: ['alerts.open', 'rfis.open'] };
  const histories: Partial<SectionInput> = { period: 'previous_month', compare: 'previous_period', to_date: 'year' };
  const readings = { at: '22:30', metrics: ['alerts.open', 'rfis.open'], by: [] };

  test('gets a diagnostic for each field that needs it, which names the metrics and the readings to add', () => {
    const found = check([created, { ...open, ...histories }]);
    expect(found.map(({ path }) => path)).toEqual([
      ['sections', 1, 'period'],
      ['sections', 1, 'compare'],
      ['sections', 1, 'to_date'],
    ]);
    for (const [index, field] of ['period', 'compare', 'to_date'].entries()) {
      expect(found[index]?.got).toBe(`"${field}" with "alerts.open", "rfis.open"`);
      expect(found[index]?.expected).toContain(`"${field}"`);
    }
    expect(found[0]?.next).toContain('Add "alerts.open", "rfis.open"');
    expect(found[2]?.next).toMatch(/^Remove it/);
  });

  test('exists only if readings cover the whole section', () => {
    const paths = (section: Partial<SectionInput>, more: Partial<typeof readings> = {}) =>
      check([{ ...open, ...histories, ...section }], {}, { settings: { readings: { ...readings, ...more } } }).map(
        ({ path }) => path[2],
      );
    expect(paths({})).toEqual(['to_date']);
    expect(paths({}, { metrics: ['alerts.open'] })).toEqual(['period', 'compare', 'to_date']);
    expect(paths({ dimensions: ['profile.type'] })).toEqual(['period', 'compare', 'to_date']);
    expect(paths({ to_date: undefined })).toEqual([]);
  });

  test('is not needed by a section without these fields or with other metrics', () => {
    expect(check([open], { compare: 'previous_year', to_date: 'year' })).toEqual([]);
    expect(check([{ ...created, ...histories }])).toEqual([]);
    expect(check([{ ...open, ...histories, metrics: ['alerts.open', 'profiles.created'] }])).toEqual([]);
    expect(check([{ id: 'people', list: 'profiles' }], { compare: 'previous_year' })).toEqual([]);
  });
});
