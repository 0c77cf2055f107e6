import { describe, expect, test } from 'vitest';
import {
  questionId,
  type Reading,
  type ReadingGap,
  readingAdvice,
  readingGap,
  readingQuestions,
  readingRequest,
  readingSchema,
} from '../../src/plan/reading.ts';
import { CATALOG, type SectionInput, sectionOf } from '../support/reports.ts';

const SETTINGS = { at: '22:30', metrics: ['alerts.open', 'rfis.open'], by: ['profile.type', 'profile.risk'] };
const BY_RISK = {
  ...CATALOG,
  metrics: CATALOG.metrics.map((metric) =>
    metric.id === 'rfis.open' ? { ...metric, dimensions: ['profile.type', 'profile.risk'] } : metric,
  ),
};

describe('the requests for the readings of a day', () => {
  test('are one without groups and one for each dimension, with the metrics that accept it', () => {
    expect(readingQuestions(SETTINGS, BY_RISK)).toEqual([
      { id: 'whole', metrics: ['alerts.open', 'rfis.open'], dimension: null },
      { id: 'by-profile.type', metrics: ['alerts.open', 'rfis.open'], dimension: 'profile.type' },
      { id: 'by-profile.risk', metrics: ['rfis.open'], dimension: 'profile.risk' },
    ]);
    expect(readingQuestions(SETTINGS, CATALOG).map(({ id }) => id)).toEqual(['whole', 'by-profile.type']);
  });

  test('omit metrics that the catalog lacks, and metrics with a history', () => {
    const metrics = ['profiles.created', 'alerts.open', 'alerts.closed'];
    expect(readingQuestions({ ...SETTINGS, metrics, by: [] }, CATALOG)).toEqual([
      { id: 'whole', metrics: ['alerts.open'], dimension: null },
    ]);
    expect(readingQuestions({ ...SETTINGS, metrics: ['profiles.created'] }, CATALOG)).toEqual([]);
  });

  test('contain all configured metrics and dimensions if there is no catalog', () => {
    expect(readingQuestions({ ...SETTINGS, metrics: ['odd'] }, undefined)).toEqual([
      { id: 'whole', metrics: ['odd'], dimension: null },
      { id: 'by-profile.type', metrics: ['odd'], dimension: 'profile.type' },
      { id: 'by-profile.risk', metrics: ['odd'], dimension: 'profile.risk' },
    ]);
    expect(questionId(null)).toBe('whole');
  });

  test('have no range', () => {
    const metrics = ['alerts.open'];
    expect(readingRequest({ id: 'whole', metrics, dimension: null }, 'Europe/Zurich')).toEqual({
      metrics,
      time: { timezone: 'Europe/Zurich' },
    });
    expect(readingRequest({ id: 'by-a', metrics, dimension: 'a' }, 'Europe/Zurich')).toEqual({
      metrics,
      dimensions: ['a'],
      time: { timezone: 'Europe/Zurich' },
    });
  });
});

const OPEN: SectionInput = { id: 'open', metrics: ['alerts.open', 'rfis.open'] };
const FILTERS = [{ dimension: 'profile.type', values: ['entity'] }];

describe('readings lack for a section:', () => {
  test.each<[string, Partial<SectionInput>, ReadingGap | undefined]>([
    ['nothing without groups', {}, undefined],
    ['nothing by a configured dimension', { dimensions: ['profile.risk'] }, undefined],
    ['filters', { filters: FILTERS }, { kind: 'filters' }],
    ['a second dimension', { dimensions: ['profile.type', 'profile.risk'] }, { kind: 'dimensions' }],
    ['a dimension', { dimensions: ['hit.kind'] }, { kind: 'dimension', dimension: 'hit.kind' }],
    ['metrics', { metrics: ['alerts.open', 'a.b', 'c.d'] }, { kind: 'metrics', metrics: ['a.b', 'c.d'] }],
    ['metrics, not the dimension', { metrics: ['a.b'], dimensions: ['x'] }, { kind: 'metrics', metrics: ['a.b'] }],
  ])('%s', (_what, more, gap) => {
    expect(readingGap(sectionOf({ ...OPEN, ...more }), SETTINGS)).toEqual(gap);
  });

  test('all metrics if there are no readings', () => {
    expect(readingGap(sectionOf(OPEN), undefined)).toEqual({ kind: 'metrics', metrics: OPEN.metrics });
  });

  test('nothing if the section is a list', () => {
    expect(readingGap(sectionOf({ id: 'people', list: 'profiles' }), undefined)).toBeUndefined();
  });

  test('the IDs that the advice names, with the field to add them to', () => {
    const advice = readingAdvice({ kind: 'metrics', metrics: ['a.b', 'c.d'] });
    expect(advice).toContain('"a.b", "c.d"');
    expect(advice).toContain('readings: metrics');
    const dimension = readingAdvice({ kind: 'dimension', dimension: 'hit.kind' });
    expect(dimension).toContain('"hit.kind"');
    expect(dimension).toContain('readings: by');
    expect(readingAdvice({ kind: 'dimensions' })).toContain('one dimension');
    expect(readingAdvice({ kind: 'filters' })).toContain('filters');
  });
});

describe('a stored reading', () => {
  const READING: Reading = {
    version: 1,
    org: 'acme',
    service_org: 'current',
    day: '2026-11-15',
    timezone: 'Europe/Zurich',
    question: 'by-profile.type',
    metrics: ['alerts.open'],
    dimension: 'profile.type',
    as_of: '2026-11-15T21:30:00Z',
    received_at: '2026-11-15T21:30:02.345Z',
    registry_version: 7,
    correlation_id: null,
    rows: [
      { group: 'entity', values: { 'alerts.open': 3 } },
      { group: null, values: { 'alerts.open': null } },
    ],
  };

  test('is read exactly as it was written', () => {
    expect(readingSchema.parse(JSON.parse(JSON.stringify(READING)))).toEqual(READING);
    const whole = { ...READING, dimension: null, correlation_id: 'c-1' };
    expect(readingSchema.parse(whole)).toEqual(whole);
  });

  test.each<[string, object]>([
    ['another version', { version: 2 }],
    ['a day with a time', { day: '2026-11-15T00:00' }],
    ['a day after other text', { day: 'on 2026-11-15' }],
    ['a day in words', { day: 'yyyy-mm-dd' }],
    ['a day with a short year', { day: '226-11-15' }],
    ['a day with a short month', { day: '2026-1-15' }],
    ['a day with a short day', { day: '2026-11-5' }],
    ['an invalid instant', { as_of: 'today' }],
    ['a registry version that is no number', { registry_version: '7' }],
    ['a count in quotes', { rows: [{ group: null, values: { 'alerts.open': '3' } }] }],
    ['a row without its group', { rows: [{ values: { 'alerts.open': 3 } }] }],
    ['no rows', { rows: undefined }],
  ])('with %s is invalid', (_what, change) => {
    expect(readingSchema.safeParse({ ...READING, ...change }).success).toBe(false);
  });
});
