import { expect, test } from 'vitest';
import { answeredSections, isCurrentSection, isReadingDue, withoutAnswered } from '../../src/plan/answered-sections.ts';
import { compilePlan } from '../../src/plan/compile.ts';
import { explain, formatExplain } from '../../src/plan/explain.ts';
import { CATALOG, definitionOf, sectionOf, settingsOf, WEEK } from '../support/reports.ts';

const READINGS = { at: '22:30', metrics: ['alerts.open'], by: ['profile.type'] };
const definition = definitionOf(
  [
    { id: 'created', metrics: ['profiles.created'] },
    { id: 'trend', metrics: ['alerts.open'], granularity: 'day' },
    { id: 'end', metrics: ['alerts.open'] },
    { id: 'other', metrics: ['rfis.open'] },
    { id: 'same', metrics: ['rfis.open'], title: 'Once more' },
  ],
  { compare: 'previous_year' },
);
const settings = settingsOf({ readings: READINGS });
const plan = () => compilePlan({ definition, settings, period: WEEK, catalog: CATALOG });
const schedule = { settings: READINGS, timezone: WEEK.timezone };
const answered = (now: string) => answeredSections(plan(), schedule, CATALOG, Date.parse(now));

test('readings always answer a section with granularity, and one without it after the reading of its last day', () => {
  // The last reading may be taken until 23:30 in Zurich.
  expect([...answered('2026-11-15T22:29:59Z')]).toEqual(['trend']);
  expect([...answered('2026-11-15T22:30:00Z')]).toEqual(['trend', 'end']);
});

test('docket explain does not count calls for sections that readings answer, and lists these sections', () => {
  const sections = answered('2026-11-20T10:00:00Z');
  const document = explain(withoutAnswered(plan(), sections), { catalog: CATALOG, answered: sections });
  const without = definitionOf(
    definition.sections.filter(({ id }) => !sections.has(id)) as Parameters<typeof definitionOf>[0],
    { compare: 'previous_year' },
  );
  const rest = explain(compilePlan({ definition: without, settings, period: WEEK, catalog: CATALOG }));
  const counted = ({ tokens, naive_calls, section_calls, further_calls }: typeof rest) => ({
    ...{ tokens, naive_calls, section_calls, further_calls },
  });
  expect(counted(document)).toEqual(counted(rest));
  expect(document.calls.flatMap((call) => call.sections)).not.toContain('trend');
  expect(document.sections.map(({ id, readings, comparisons }) => [id, readings, comparisons])).toEqual([
    ['created', false, ['previous_year']],
    ['trend', true, ['previous_year']],
    ['end', true, ['previous_year']],
    ['other', false, []],
    ['same', false, []],
  ]);
  const plain = compilePlan({
    definition: { ...definition, compare: undefined },
    settings,
    period: WEEK,
    catalog: CATALOG,
  });
  expect(explain(plain, { answered: sections }).sections.map(({ comparisons }) => comparisons)).toEqual([
    [],
    [],
    [],
    [],
    [],
  ]);
  expect(formatExplain(document)).toMatch(/^Readings trend, end: /m);
  expect(formatExplain(rest)).not.toMatch(/^Readings/m);
});

test('a section shows current counts if all its metrics are current counts', () => {
  const isCurrent = (...metrics: string[]) => isCurrentSection(sectionOf({ id: 'a', metrics }), CATALOG);
  expect(isCurrent('alerts.open', 'rfis.open')).toBe(true);
  expect(isCurrent('alerts.open', 'profiles.created')).toBe(false);
  expect(isCurrent('alerts.open', 'alerts.closed')).toBe(false);
  expect(isCurrentSection(sectionOf({ id: 'a', list: 'profiles' }), CATALOG)).toBe(false);
});

test('a reading at a time that the zone skips is due at the end of its day', () => {
  // Samoa had no 30 December 2011.
  const samoa = { settings: READINGS, timezone: 'Pacific/Apia' };
  const isDue = (day: string, now: string) => isReadingDue(day, samoa, Date.parse(now));
  expect(isDue('2011-12-29', '2011-12-30T09:29:59Z')).toBe(false);
  expect(isDue('2011-12-29', '2011-12-30T09:30:00Z')).toBe(true);
  expect(isDue('2011-12-30', '2011-12-30T09:59:59Z')).toBe(false);
  expect(isDue('2011-12-30', '2011-12-31T10:00:00Z')).toBe(true);
});

test('a plan drops only calls that no remaining section needs, and stays the same without answered sections', () => {
  const whole = plan();
  expect(withoutAnswered(whole, new Set())).toBe(whole);
  const ids = (...answered: string[]) => withoutAnswered(whole, new Set(answered)).calls.map(({ id }) => id);
  const [created, ...counts] = whole.sections;
  // One call fetches all current counts. It stays until no section needs it.
  expect(new Set(counts.map(({ call }) => call)).size).toBe(1);
  expect(ids('trend', 'end', 'other')).toEqual(whole.calls.map(({ id }) => id));
  // The year before of `created` has its own call.
  const before = (created?.partners ?? []).map(({ call }) => call);
  expect(before).toHaveLength(1);
  expect(ids('trend', 'end', 'other', 'same')).toEqual([created?.call, ...before]);
});
