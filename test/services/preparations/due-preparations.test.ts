import fc from 'fast-check';
import { expect, test } from 'vitest';
import { calendarSchema } from '../../../src/definitions/schedules/calendar.ts';
import { scheduleSchema, schedulesSchema } from '../../../src/definitions/schedules/schedule.ts';
import { createDuePreparations, createTokensFreeAt } from '../../../src/services/preparations/due-preparations.ts';
import { cases } from '../../support/fuzz.ts';
import { definitionOf, settingsOf } from '../../support/reports.ts';

const at = (iso: string): number => Date.parse(iso);
const frozen = (schedule: unknown, settings = settingsOf()) => ({
  definition: definitionOf([{ id: 'a', metrics: ['profiles.created'] }], { schedule: schedulesSchema.parse(schedule) }),
  settings,
});

test.each([
  ['25h', '0 9 * * MON'],
  ['30s', '0 9 * * MON'],
  ['24h', '0 9 * * *'],
  ['2h', '0 9,10 * * *'],
  ['1m', '* * * * *'],
  ['1h', '@hourly'],
])('prepare: %s is refused for "%s"', (prepare, cron) => {
  const { error } = scheduleSchema.safeParse({ cron, prepare });
  expect(error?.issues.map(({ path }) => path)).toEqual([['prepare']]);
});

test.each([
  ['24h', '0 9 * * MON'],
  ['23h', '0 9 * * *'],
  ['1m', '*/2 * * * *'],
  ['24h', '0 9 29 2 *'],
])('prepare: %s is accepted for "%s"', (prepare, cron) => {
  expect(scheduleSchema.safeParse({ cron, prepare }).success).toBe(true);
});

test('a slot is prepared for the time of `prepare` before it, until its run starts', () => {
  const report = frozen({ cron: '0 9 * * MON', prepare: '2h' });
  const due = createDuePreparations();
  expect(due([report], at('2026-11-30T05:59:59Z'))).toEqual([]);
  expect(due([report], at('2026-11-30T06:00:00Z'))).toMatchObject([{ begins: at('2026-11-30T08:00:00Z') }]);
  expect(due([report], at('2026-11-30T08:00:00Z'))).toEqual([]);
  // The clock was set back.
  expect(due([report], at('2026-11-30T07:00:00Z'))).toHaveLength(1);
});

test('jitter moves the slot and its preparation equally', () => {
  const report = frozen({ cron: '0 9 * * MON', prepare: '30m', jitter: '1h' });
  const [slot] = createDuePreparations()([report], at('2026-11-30T08:00:00Z') - 60_000).concat(
    createDuePreparations()([report], at('2026-11-30T08:30:00Z')),
  );
  expect(slot?.begins).toBeGreaterThan(at('2026-11-30T08:00:00Z'));
  expect((slot?.begins ?? 0) - (slot?.from ?? 0)).toBe(30 * 60_000);
});

test.each([
  // 23 hours after the previous slot: 8:00 UTC on Saturday, 7:00 UTC on Sunday.
  ['in March', '2026-03-29T07:00:00Z', '2026-03-28T08:00:00Z'],
  ['in October', '2026-10-25T08:00:00Z', '2026-10-24T09:00:00Z'],
])('the slot of a day with a clock change is prepared after the previous slot, %s', (_, begins, from) => {
  const report = frozen({ cron: '0 9 * * *', prepare: '23h' });
  expect(createDuePreparations()([report], at(begins) - 60_000)).toMatchObject([
    { begins: at(begins), from: at(from) },
  ]);
});

test('a slot that a holiday moves is prepared at its new time', () => {
  const settings = settingsOf({ calendar: calendarSchema.parse({ country: 'CH', region: 'ZH' }) });
  // Monday, 6 April 2026, is Easter Monday.
  const report = frozen({ cron: '0 9 * * MON', shift: 'next_business_day', prepare: '2h' }, settings);
  expect(createDuePreparations()([report], at('2026-04-06T06:00:00Z'))).toEqual([]);
  expect(createDuePreparations()([report], at('2026-04-07T06:00:00Z'))).toHaveLength(1);
});

test('preparations leave all tokens free for two windows before each starting run of the key', () => {
  const reports = [frozen({ cron: '0 9 * * *' }), frozen({ cron: '30 9 * * *', prepare: '20m' })];
  const freeAt = createTokensFreeAt();
  for (const [now, until] of [
    ['2026-11-30T07:50:00Z', '2026-11-30T07:51:00Z'],
    ['2026-11-30T07:57:30Z', '2026-11-30T07:58:00Z'],
    ['2026-11-30T07:58:30Z', '2026-11-30T07:58:00Z'],
    ['2026-11-30T08:00:00Z', '2026-11-30T08:01:00Z'],
    ['2026-11-30T08:27:30Z', '2026-11-30T08:28:00Z'],
  ] as const) {
    expect(freeAt(reports, at(now), 60_000)).toBe(at(until));
    expect(createTokensFreeAt()(reports, at(now), 60_000)).toBe(at(until));
  }
});

test('results do not depend on what was remembered from earlier looks', () => {
  const report = frozen([
    { cron: '*/20 * * * *', prepare: '10m', jitter: '5m' },
    { cron: '7 * * * *', prepare: '15m' },
  ]);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -600_000, max: 1_800_000 }), { maxLength: 30 }), (steps) => {
      const [due, freeAt] = [createDuePreparations(), createTokensFreeAt()];
      let now = at('2026-11-30T08:00:00Z');
      for (const step of steps) {
        now += step;
        expect(due([report], now)).toEqual(createDuePreparations()([report], now));
        expect(freeAt([report], now, 60_000)).toBe(createTokensFreeAt()([report], now, 60_000));
      }
    }),
    cases(100),
  );
});
