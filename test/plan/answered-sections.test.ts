import { expect, test } from 'vitest';
import { answeredSections, withoutAnswered } from '../../src/plan/answered-sections.ts';
import { compilePlan } from '../../src/plan/compile.ts';
import { explain, formatExplain } from '../../src/plan/explain.ts';
import { CATALOG, definitionOf, settingsOf, WEEK } from '../support/reports.ts';

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

test('readings answer a section with granularity always, and one without once its last day was read', () => {
  // The hour of the last reading ends at 23:30 in Zurich.
  expect([...answered('2026-11-15T22:29:59Z')]).toEqual(['trend']);
  expect([...answered('2026-11-15T22:30:00Z')]).toEqual(['trend', 'end']);
});

test('docket explain leaves them out of all counts of calls, and says so', () => {
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
  expect(formatExplain(document)).toMatch(/^Readings trend, end: /m);
  expect(formatExplain(rest)).not.toMatch(/^Readings/m);
});
