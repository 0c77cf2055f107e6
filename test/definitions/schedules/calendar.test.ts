import { describe, expect, test } from 'vitest';
import { reportFileSchema } from '../../../src/compose/built-in-kinds.ts';
import { calendarSchema } from '../../../src/definitions/schedules/calendar.ts';
import { schedulesSchema } from '../../../src/definitions/schedules/schedule.ts';
import {
  buildTimetable,
  nextReportSlots,
  nextSlots,
  type RecurrenceRule,
  slotsBetween,
  timetableSchema,
} from '../../../src/definitions/schedules/slots.ts';

const ZURICH = 'Europe/Zurich';
const iso = (at: number) => new Date(at).toISOString().replace(':00.000Z', 'Z');

describe('a schedule in Zurich', () => {
  // In 2026: Good Friday is 3 April, Easter Monday 6 April, Labour Day Friday 1 May, Christmas Friday 25 and Saturday 26 December.
  const zh = { country: 'CH', region: 'ZH' };
  const days = (schedule: RecurrenceRule, calendar: object, after: string, count: number) =>
    nextSlots(schedule, ZURICH, calendarSchema.parse(calendar), Date.parse(after), count).map((at) => iso(at).slice(5));

  test.each([
    ['moves a slot to after Easter', { cron: '0 8 3 4 *', shift: 'next_business_day' }, zh, ['04-07T06:00Z']],
    ['moves a slot to before Easter', { cron: '0 8 5 4 *', shift: 'previous_business_day' }, zh, ['04-02T06:00Z']],
    [
      'merges four days that move to the same day',
      { cron: '0 8 * * *', shift: 'next_business_day' },
      zh,
      ['03-31T06:00Z', '04-01T06:00Z', '04-02T06:00Z', '04-07T06:00Z', '04-08T06:00Z'],
    ],
    [
      'moves each time of the day separately',
      { cron: '0 8,17 * * MON', shift: 'next_business_day' },
      zh,
      ['04-07T06:00Z', '04-07T15:00Z', '04-13T06:00Z', '04-13T15:00Z'],
    ],
    [
      'counts an own holiday as a day off',
      { cron: '0 8 1 4 *', shift: 'next_business_day' },
      { ...zh, holidays: ['2026-04-01'] },
      ['04-02T06:00Z'],
    ],
    [
      'counts a working day of the calendar, even on a public holiday',
      { cron: '0 8 3 4 *', shift: 'next_business_day' },
      { ...zh, working_days: ['2026-04-03'] },
      ['04-03T06:00Z'],
    ],
    [
      'uses another weekend of the calendar',
      { cron: '0 8 3 4 *', shift: 'next_business_day' },
      { weekend: ['FRI', 'SAT'] },
      ['04-05T06:00Z'],
    ],
    [
      'runs on the first business day',
      { cron: '30 7 * * *', on: { business_day: 1 } },
      zh,
      ['04-01T05:30Z', '05-04T05:30Z', '06-01T05:30Z'],
    ],
    ['runs on business day 3', { cron: '30 7 * * *', on: { business_day: 3 } }, zh, ['04-07T05:30Z', '05-06T05:30Z']],
    [
      'runs on the last business day',
      { cron: '30 7 * * *', on: { business_day: -1 } },
      zh,
      ['03-31T05:30Z', '04-30T05:30Z', '05-29T05:30Z'],
    ],
    ['runs in some months', { cron: '30 7 * 6,12 *', on: { business_day: -1 } }, zh, ['06-30T05:30Z', '12-31T06:30Z']],
    [
      'skips a month with fewer business days',
      { cron: '0 8 * * *', on: { business_day: 22 } },
      zh,
      ['03-31T06:00Z', '06-30T06:00Z', '07-30T06:00Z'],
    ],
    ['starts on its first day', { cron: '0 8 * * MON', start: '2026-04-20' }, zh, ['04-20T06:00Z', '04-27T06:00Z']],
    [
      'compares its first day with the day after the move',
      { cron: '0 8 * * FRI', shift: 'next_business_day', start: '2026-04-07' },
      zh,
      ['04-07T06:00Z', '04-10T06:00Z'],
    ],
  ] as const)('%s', (_, schedule, calendar, expected) => {
    expect(days(schedule, calendar, '2026-03-30T22:00Z', expected.length)).toEqual(expected);
  });

  test('ends on its last day, and has no slot after it', () => {
    const schedule = { cron: '0 8 * * *', start: '2026-04-06', end: '2026-04-07' };
    expect(days(schedule, zh, '2026-03-30T00:00Z', 10)).toEqual(['04-06T06:00Z', '04-07T06:00Z']);
    expect(days({ ...schedule, shift: 'next_business_day' }, zh, '2026-03-30T00:00Z', 10)).toEqual(['04-07T06:00Z']);
    expect(days({ ...schedule, end: '2026-04-06', shift: 'next_business_day' }, zh, '2026-03-30T00:00Z', 10)).toEqual(
      [],
    );
  });

  test('keeps the local time of a slot that moves across a change of clocks', () => {
    // From a Saturday in winter time to a Monday in summer time. 02:30 does not exist on the Sunday in between.
    const slots = slotsBetween(
      { cron: '30 2 * * SAT,SUN', shift: 'next_business_day' },
      'Europe/Berlin',
      calendarSchema.parse({}),
      Date.parse('2026-03-27T00:00Z'),
      Date.parse('2026-04-02T00:00Z'),
    );
    expect(slots.map(iso)).toEqual(['2026-03-30T00:30Z']);
  });
});

test('a part of a region has its own holidays, and half days are no holidays', () => {
  const off = (calendar: object, date: string) =>
    slotsBetween(
      { cron: '0 12 * * *', shift: 'next_business_day' },
      'UTC',
      calendarSchema.parse({ weekend: [], ...calendar }),
      Date.parse(`${date}T00:00Z`),
      Date.parse(`${date}T23:00Z`),
    ).length === 0;
  // The Peace Festival of Augsburg on 8 August, Epiphany in Bavaria, and New Year's Eve from 13:00 in Iceland.
  expect(off({ country: 'DE', region: 'BY-A' }, '2026-08-08')).toBe(true);
  expect(off({ country: 'DE', region: 'BY' }, '2026-08-08')).toBe(false);
  expect(off({ country: 'DE', region: 'BY' }, '2026-01-06')).toBe(true);
  expect(off({ country: 'DE', region: 'BE' }, '2026-01-06')).toBe(false);
  expect(off({ country: 'IS' }, '2026-12-31')).toBe(false);
  // The end of Ramadan in Turkey: three and a half days, of which three are holidays.
  expect(
    ['2026-03-19', '2026-03-20', '2026-03-21', '2026-03-22', '2026-03-23'].map((date) => off({ country: 'TR' }, date)),
  ).toEqual([false, true, true, true, false]);
});

test('slots on business days end with the known holidays of a country, but not without a country', () => {
  const schedule = { cron: '0 8 * * *', on: { business_day: 1 } } as const;
  const after = Date.parse('2076-11-15T00:00Z');
  const of = (calendar: object) => nextSlots(schedule, 'UTC', calendarSchema.parse(calendar), after, 3).map(iso);
  expect(of({ country: 'SA', weekend: ['FRI', 'SAT'] })).toEqual(['2076-12-01T08:00Z']);
  expect(of({})).toEqual(['2076-12-01T08:00Z', '2077-01-01T08:00Z', '2077-02-01T08:00Z']);
});

describe('several schedules', () => {
  const written = [
    { cron: '0 8 * * *', jitter: '10m', catch_up: 'all', catch_up_window: '12h' },
    { cron: '0 8,20 * * MON', timezone: 'UTC' },
    { cron: '0 7 * * *', timezone: 'UTC', start: '2026-11-24' },
  ];
  const timetable = buildTimetable({ schedule: schedulesSchema.parse(written) }, { timezone: ZURICH });
  const after = Date.parse('2026-11-23T00:00Z');

  test('are merged in ascending order, with each instant once, as the slot of the first schedule', () => {
    const slots = nextReportSlots(timetable, after, 5);
    expect(slots.map(({ at, schedule }) => `${iso(at)} ${timetable.schedules.indexOf(schedule)}`)).toEqual([
      '2026-11-23T07:00Z 0',
      '2026-11-23T08:00Z 1',
      '2026-11-23T20:00Z 1',
      // 8:00 in Zurich is 7:00 in UTC, which is also a slot of the third schedule.
      '2026-11-24T07:00Z 0',
      '2026-11-25T07:00Z 0',
    ]);
  });

  test('can be stored as JSON and read back', () => {
    expect(timetableSchema.parse(JSON.parse(JSON.stringify(timetable)))).toEqual(timetable);
    const zoned = buildTimetable(
      { schedule: timetable.schedules },
      { timezone: ZURICH, calendar: calendarSchema.parse({ country: 'CH' }) },
    );
    expect(timetableSchema.parse(JSON.parse(JSON.stringify(zoned)))).toEqual(zoned);
  });

  test('may be one or none, and can be parsed again after parsing', () => {
    const read = reportFileSchema.shape.schedule;
    expect(read.parse(undefined)).toEqual([]);
    expect(read.parse([])).toEqual([]);
    expect(read.parse({ cron: '@daily' })).toEqual([{ cron: '@daily', catch_up: 'latest', catch_up_window: 259_200 }]);
    expect(read.parse(read.parse(written))).toEqual(read.parse(written));
  });
});
