import fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, test } from 'vitest';
import { type Calendar, calendarSchema } from '../../../src/definitions/schedules/calendar.ts';
import { jitterMs, nextSlots, type RecurrenceRule, slotsBetween } from '../../../src/definitions/schedules/slots.ts';
import { cases, least } from '../../support/fuzz.ts';
import { slotsByWalking } from './slot-oracle.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Zones with days worth testing: both changes of clocks, ends of months, the turn of the year. */
const PLACES: readonly (readonly [zone: string, around: string])[] = [
  ['Europe/Berlin', '2026-03-29'],
  ['Europe/Berlin', '2026-10-25'],
  ['America/New_York', '2026-03-08'],
  ['America/New_York', '2026-11-01'],
  ['Australia/Lord_Howe', '2026-04-05'],
  ['Australia/Lord_Howe', '2026-10-04'],
  ['Africa/Cairo', '2026-04-24'],
  ['Africa/Cairo', '2026-10-30'],
  ['Pacific/Kiritimati', '2026-12-31'],
  ['Pacific/Apia', '2011-12-30'],
  ['Asia/Tokyo', '2026-02-28'],
];

const minutes = fc.constantFrom('0', '30', '7', '0,30', '*/20', '10-20/5', '59', '15,45');
const hours = fc.constantFrom('*', '*/2', '2', '1-3', '2,14', '0', '0-23', '23', '1-5/2', '8');
const restricted = fc.tuple(
  fc.constantFrom('*', '*', '*', '*', '1', '25', '1-7', '*/5', '28-31'),
  fc.constantFrom('*', '*', '*', '*', '3,4', '10-12'),
  fc.constantFrom('*', '*', '*', 'MON', '1-5', 'SUN', 'SAT,SUN', '0'),
);
const open = fc.tuple(fc.constant('*'), fc.constantFrom('*', '3,4', '10-12'), fc.constant('*'));
const cronOf = (days: fc.Arbitrary<[string, string, string]>) =>
  fc.tuple(minutes, hours, days).map(([minute, hour, rest]) => [minute, hour, ...rest].join(' '));

/** Days around the interesting ones. */
const dates = (around: string) =>
  fc
    .integer({ min: -8, max: 8 })
    .map((days) => DateTime.fromISO(around, { zone: 'utc' }).plus({ days }).toFormat('yyyy-MM-dd'));

const calendars = (around: string): fc.Arbitrary<Calendar> =>
  fc
    .record({
      holidays: fc.uniqueArray(dates(around), { maxLength: 8 }),
      working_days: fc.uniqueArray(dates(around), { maxLength: 3 }),
      weekend: fc.constantFrom(['SAT', 'SUN'], ['FRI', 'SAT'], [], ['SUN'], ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']),
    })
    .map((written) =>
      calendarSchema.parse({
        ...written,
        working_days: written.working_days.filter((date) => !written.holidays.includes(date)),
      }),
    );

const schedules = fc.constantFrom(...PLACES).chain(([zone, around]) => {
  const seldom = fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: dates(around) });
  const span = { start: seldom, end: seldom };
  const schedules: fc.Arbitrary<RecurrenceRule> = fc.oneof(
    fc.record({ cron: cronOf(restricted), ...span }),
    fc.record({
      cron: cronOf(restricted),
      shift: fc.constantFrom('next_business_day' as const, 'previous_business_day' as const),
      ...span,
    }),
    fc.record({
      cron: cronOf(open),
      on: fc.record({ business_day: fc.integer({ min: -23, max: 23 }).filter((n) => n !== 0) }),
      ...span,
    }),
  );
  const middle = Date.parse(around);
  return fc.record({
    zone: fc.constant(zone),
    schedule: schedules,
    calendar: calendars(around),
    after: fc.integer({ min: -4 * 24 * 60, max: 2 * 24 * 60 }).map((minute) => middle + minute * 60_000),
    length: fc.integer({ min: 0, max: 6 * DAY }),
    cut: fc.double({ min: 0, max: 1, noNaN: true }),
  });
});

describe('for any cron, zone, calendar, start, end and span,', () => {
  test('the slots agree with a walk through the minutes of a wall clock', () => {
    let found = 0;
    fc.assert(
      fc.property(schedules, ({ zone, schedule, calendar, after, length }) => {
        const slots = slotsBetween(schedule, zone, calendar, after, after + length);
        expect(slots).toEqual(slotsByWalking(schedule, zone, calendar, after, after + length));
        found += slots.length;
      }),
      cases(300),
    );
    // There must have been slots, or nothing was tested.
    expect(found).toBeGreaterThan(least(1000));
  });

  test('the next slots agree with the slots of a span, whether in one piece or two', () => {
    fc.assert(
      fc.property(schedules, ({ zone, schedule, calendar, after, length, cut }) => {
        const upTo = after + length;
        const middle = after + Math.round(length * cut);
        const whole = slotsBetween(schedule, zone, calendar, after, upTo);
        expect([
          ...slotsBetween(schedule, zone, calendar, after, middle),
          ...slotsBetween(schedule, zone, calendar, middle, upTo),
        ]).toEqual(whole);
        const [next] = nextSlots(schedule, zone, calendar, after, 1);
        if (whole.length > 0) expect(nextSlots(schedule, zone, calendar, after, whole.length)).toEqual(whole);
        else if (next !== undefined) expect(next).toBeGreaterThan(upTo);
      }),
      cases(150),
    );
  });

  test('a shift moves slots to business days, loses none, and keeps their time of day', () => {
    const shifts = fc.constantFrom('next_business_day' as const, 'previous_business_day' as const);
    fc.assert(
      fc.property(calendars('2026-06-15'), shifts, (calendar, shift) => {
        const [from, to] = [Date.parse('2026-05-01'), Date.parse('2026-08-01')];
        const slots = slotsBetween({ cron: '30 8 * * *', shift }, 'Europe/Berlin', calendar, from, to);
        const days = slots.map((at) => DateTime.fromMillis(at, { zone: 'Europe/Berlin' }));
        const worked = (day: DateTime) => {
          const date = day.toFormat('yyyy-MM-dd');
          const off =
            calendar.holidays.includes(date) || calendar.weekend.some((name) => name === NAMES[day.weekday - 1]);
          return calendar.working_days.includes(date) || !off;
        };
        expect(days.every((day) => day.hour === 8 && day.minute === 30 && worked(day))).toBe(true);
        // A daily cron has a slot on each business day and on no other day.
        const all = Array.from({ length: 92 }, (_, day) =>
          DateTime.fromISO('2026-05-01T08:30', { zone: 'Europe/Berlin' }).plus({ days: day }),
        );
        expect(days.map((day) => day.toISODate())).toEqual(all.filter(worked).map((day) => day.toISODate()));
      }),
      cases(60),
    );
  });
});

const NAMES = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'];

describe('jitter', () => {
  const slot = fc.integer({ min: 0, max: Date.parse('2100-01-01') });
  const name = fc.stringMatching(/^[a-z0-9-]{1,10}$/);

  test('is at least 0, less than the configured jitter, and the same each time', () => {
    fc.assert(
      fc.property(name, name, slot, fc.integer({ min: 1, max: 3600 }), (org, report, at, jitter) => {
        const first = jitterMs(org, report, at, { jitter });
        expect(first).toBeGreaterThanOrEqual(0);
        expect(first).toBeLessThan(jitter * 1000);
        expect(Number.isInteger(first)).toBe(true);
        expect(jitterMs(org, report, at, { jitter })).toBe(first);
      }),
    );
  });

  test('has this exact value, so that an upgrade does not move waiting runs', () => {
    expect(jitterMs('acme', 'weekly', Date.parse('2026-11-23T07:00Z'), { jitter: 600 })).toBe(389300);
  });

  test('spreads reports and slots over the whole range', () => {
    const tenths = new Set(
      Array.from({ length: 200 }, (_, index) => Math.floor(jitterMs('acme', `r${index}`, 0, { jitter: 10 }) / 1000)),
    );
    expect(tenths.size).toBe(10);
    const slots = Array.from({ length: 50 }, (_, day) => jitterMs('acme', 'daily', day * DAY, { jitter: 3600 }));
    expect(new Set(slots).size).toBe(50);
  });

  test('is 0 when none is configured', () => {
    expect(jitterMs('acme', 'weekly', 0, {})).toBe(0);
    expect(jitterMs('acme', 'weekly', 0, { jitter: 0 })).toBe(0);
  });
});
