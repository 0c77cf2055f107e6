import { expect, test } from 'vitest';
import { schedulesSchema } from '../../../src/definitions/schedules/schedule.ts';
import { planSlots } from '../../../src/services/forecast/plan-slots.ts';
import { CATALOG, type DefinitionInput, definitionOf, type SectionInput, settingsOf } from '../../support/reports.ts';

const at = (iso: string): number => Date.parse(iso);
const MONDAY = { from: at('2026-11-30T00:00:00Z'), to: at('2026-12-01T00:00:00Z') };
const SOURCES = new Map([['acme', { key: 'k', catalog: CATALOG, settings: settingsOf() }]]);
const SECTIONS: readonly SectionInput[] = [
  { id: 'created', metrics: ['profiles.created'], granularity: 'day' },
  { id: 'open', metrics: ['alerts.open'] },
];
const reportOf = (report: string, schedule: unknown, more: DefinitionInput = {}, sections = SECTIONS) => ({
  definition: definitionOf(sections, { report, schedule: schedulesSchema.parse(schedule), ...more }),
  settings: settingsOf(),
});

test('each slot of the window is planned with the calls of its run, in order of start', () => {
  const { runs, unplanned } = planSlots(
    [
      reportOf('late', { cron: '0 10 * * MON' }),
      reportOf('twice', { cron: '0 9,15 * * *', late_after: '30m' }),
      reportOf('never', { cron: '0 9 * * TUE' }),
    ],
    MONDAY,
    SOURCES,
  );
  expect(unplanned).toEqual([]);
  expect(runs.map(({ name, begins }) => [name, new Date(begins).toISOString()])).toEqual([
    ['acme/twice', '2026-11-30T08:00:00.000Z'],
    ['acme/late', '2026-11-30T09:00:00.000Z'],
    ['acme/twice', '2026-11-30T14:00:00.000Z'],
  ]);
  expect(runs.map(({ calls }) => calls.length)).toEqual([2, 2, 2]);
  expect(runs.map(({ lateAt }) => lateAt)).toEqual([at('2026-11-30T08:30:00Z'), undefined, at('2026-11-30T14:30:00Z')]);
});

test('only calls for complete days are prepared, and not before the previous slot', () => {
  const { runs } = planSlots([reportOf('a', { cron: '0 9,15 * * *', prepare: '5h' })], MONDAY, SOURCES);
  expect(runs.map(({ calls }) => calls.map(({ preparedFrom }) => preparedFrom))).toEqual([
    [at('2026-11-30T03:00:00Z'), undefined],
    [at('2026-11-30T09:00:00Z'), undefined],
  ]);
});

test('equal calls of several reports have the same request, others do not', () => {
  const one = reportOf('a', { cron: '0 9 * * MON' });
  const other = reportOf('b', { cron: '0 9 * * MON' }, { period: 'previous_month' });
  const { runs } = planSlots([one, reportOf('c', { cron: '0 9 * * MON' }), other], MONDAY, SOURCES);
  const [a, b, c] = runs.map(({ calls }) => calls[0]?.request);
  expect(a).toBe(c);
  expect(a).not.toBe(b);
});

test('reports whose calls are unknown are named with the reason', () => {
  const unknown = reportOf('unknown', { cron: '0 9 * * *' }, {}, [{ id: 'a', metrics: ['no.such'] }]);
  const { runs, unplanned } = planSlots([unknown], MONDAY, SOURCES);
  expect(runs).toEqual([]);
  expect(unplanned).toMatchObject([{ name: 'acme/unknown', slots: 1 }]);
  const missing = planSlots([reportOf('a', { cron: '0 9 * * *' })], MONDAY, new Map([['acme', 'No catalog.']]));
  expect(missing.unplanned).toEqual([{ org: 'acme', name: 'acme/a', slots: 1, why: 'No catalog.' }]);
});
