import { describe, expect, test } from 'vitest';
import { resolveRunPeriods } from '../../../src/definitions/periods/period.ts';
import { createRunOrder } from '../../../src/run/run-order.ts';
import { type DefinitionInput, definitionOf, settingsOf } from '../../support/reports.ts';

const SLOT = Date.parse('2026-11-03T07:00:00Z');
const SECTIONS = [
  { id: 'month', metrics: ['profiles.created'] },
  { id: 'trend', metrics: ['profiles.created'], period: 'last_13_months' },
  { id: 'week', metrics: ['profiles.created'], period: 'previous_week' },
  { id: 'fixed', metrics: ['profiles.created'], period: { from: '2026-03-01', to: '2026-03-05' } },
] as const;
const definition = (more: DefinitionInput = {}) =>
  definitionOf(
    SECTIONS.map((section) => ({ ...section, metrics: [...section.metrics] })),
    { period: 'previous_month', ...more },
  );
type Spec = Parameters<typeof resolveRunPeriods>[3];

/** `from..to` for the report and each section. */
const daysOf = (at: number, spec?: Spec) => {
  const { period, sectionPeriods = {} } = resolveRunPeriods(definition(), settingsOf(), at, spec);
  const days = ({ from, to }: typeof period) => `${from}..${to}`;
  return [days(period), ...Object.values(sectionPeriods).map(days)];
};

describe('the periods of a run', () => {
  test('are that of the report and those that sections set, which end with the period of the report', () => {
    expect(daysOf(SLOT)).toEqual([
      '2026-10-01..2026-10-31',
      '2025-10-01..2026-10-31',
      '2026-10-19..2026-10-25',
      '2026-03-01..2026-03-05',
    ]);
    expect(resolveRunPeriods(definition(), settingsOf(), SLOT).sectionPeriods?.week).toEqual({
      from: '2026-10-19',
      to: '2026-10-25',
      timezone: 'Europe/Zurich',
      label: '2026-W43',
    });
  });

  test('of sections count from the slot with `period_from: slot`, unless the period of the report is replaced', () => {
    const days = (spec?: Spec) =>
      resolveRunPeriods(definition({ period_from: 'slot' }), settingsOf(), SLOT, spec).sectionPeriods?.week?.from;
    expect(days()).toBe('2026-10-26');
    expect(days({ from: '2026-03-01', to: '2026-03-31' })).toBe('2026-03-23');
  });

  test('of sections end with the period that replaces the period of the report', () => {
    expect(daysOf(SLOT, { from: '2026-03-01', to: '2026-03-31' })).toEqual([
      '2026-03-01..2026-03-31',
      '2025-03-01..2026-03-31',
      '2026-03-23..2026-03-29',
      '2026-03-01..2026-03-05',
    ]);
  });

  test.each([
    ['year_to_date', '2026-01-01..2026-03-31'],
    ['current_month', '2026-03-01..2026-03-31'],
    ['week_to_date', '2026-03-30..2026-03-31'],
  ] as const)('include %s of a section, which ends with the replaced period', (period, days) => {
    const of = definitionOf([{ id: 'a', metrics: ['profiles.created'], period }], { period: 'previous_month' });
    const spec = { from: '2026-03-01', to: '2026-03-31' };
    const { from, to } = resolveRunPeriods(of, settingsOf(), SLOT, spec).sectionPeriods?.a ?? {};
    expect(`${from}..${to}`).toBe(days);
    // It ends on the day of the trigger if that is within the replaced period.
    expect(resolveRunPeriods(of, settingsOf(), Date.parse('2026-03-30T10:00:00Z'), spec).sectionPeriods?.a?.from).toBe(
      days.slice(0, 10),
    );
  });

  test('of sections do not extend into the future if the replaced period is running', () => {
    expect(daysOf(SLOT, 'current_month')).toEqual([
      '2026-11-01..2026-11-30',
      '2025-10-01..2026-10-31',
      '2026-10-26..2026-11-01',
      '2026-03-01..2026-03-05',
    ]);
  });

  test('are part of the order of a run, and omitted if no section has its own', () => {
    const order = (given: ReturnType<typeof definition>) =>
      createRunOrder({
        definition: given,
        settings: settingsOf(),
        trigger: 'schedule',
        priority: 'scheduled',
        slot: new Date(SLOT).toISOString(),
        at: SLOT,
        deliver: true,
        now: SLOT,
      });
    expect(Object.keys(order(definition()).sectionPeriods ?? {})).toEqual(['trend', 'week', 'fixed']);
    expect(order(definitionOf([{ id: 'a', metrics: ['profiles.created'] }]))).not.toHaveProperty('sectionPeriods');
  });
});
