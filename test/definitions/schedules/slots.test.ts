import fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, test } from 'vitest';
import { cronError } from '../../../src/definitions/schedules/cron.ts';
import { nextSlots, slotsBetween } from '../../../src/definitions/schedules/slots.ts';
import { cases } from '../../support/fuzz.ts';
import { TABLE } from './slots-table.ts';

const iso = (at: number) => new Date(at).toISOString().replace(':00.000Z', 'Z');

describe('slots follow the rules for changes of clocks and the calendar:', () => {
  test.each(TABLE)('$cron in $zone after $after', ({ cron, zone, after, slots }) => {
    expect(nextSlots({ cron }, zone, undefined, Date.parse(after), slots.length).map(iso)).toEqual(slots);
    const last = Date.parse(slots.at(-1) ?? '');
    expect(slotsBetween({ cron }, zone, undefined, Date.parse(after), last).map(iso)).toEqual(slots);
  });
});

describe('the ends of a span', () => {
  const schedule = { cron: '0 8 * * *' };
  const eight = Date.parse('2026-11-23T08:00:00Z');

  test('exclude a slot at the start and include a slot at the end', () => {
    expect(nextSlots(schedule, 'UTC', undefined, eight, 1)).toEqual([eight + 86_400_000]);
    expect(nextSlots(schedule, 'UTC', undefined, eight - 1, 1)).toEqual([eight]);
    expect(slotsBetween(schedule, 'UTC', undefined, eight - 1, eight)).toEqual([eight]);
    expect(slotsBetween(schedule, 'UTC', undefined, eight, eight + 1)).toEqual([]);
    expect(slotsBetween(schedule, 'UTC', undefined, eight + 1, eight)).toEqual([]);
  });
});

const zones = fc.constantFrom(
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Africa/Cairo',
  'America/Havana',
  'Asia/Kolkata',
);
const crons = fc
  .tuple(
    fc.constantFrom('0', '30', '0,30', '*/15', '7', '10-20/5', '59', '*/20'),
    fc.constantFrom('*', '*/2', '2', '1-3', '2,14', '0', '0-23', '23', '1-5/2'),
    fc.constantFrom('* * *', '* * MON', '1 * *', '* * SUN', '*/2 * *'),
  )
  .map((fields) => fields.join(' '));
const DAY = 86_400_000;

test('the slots of two adjacent spans are those of the whole span, none lost or doubled', () => {
  const start = fc.integer({ min: Date.parse('2026-01-01'), max: Date.parse('2026-12-31') });
  fc.assert(
    fc.property(
      crons,
      zones,
      start,
      fc.integer({ min: 0, max: 2 * DAY }),
      fc.integer({ min: 0, max: 2 * DAY }),
      (cron, zone, a, first, second) => {
        const [b, c] = [a + first, a + first + second];
        const whole = slotsBetween({ cron }, zone, undefined, a, c);
        expect([
          ...slotsBetween({ cron }, zone, undefined, a, b),
          ...slotsBetween({ cron }, zone, undefined, b, c),
        ]).toEqual(whole);
        expect(nextSlots({ cron }, zone, undefined, a, whole.length)).toEqual(whole);
        expect([...new Set(whole)].sort((x, y) => x - y)).toEqual(whole);
      },
    ),
    cases(60),
  );
});

/** The values of a list field such as `10-20/5`, independent of the code under test. */
function values(field: string, low: number, high: number): Set<number> {
  const all = new Set<number>();
  for (const part of field.split(',')) {
    const [range = '', step = '1'] = part.split('/');
    const [from, to] = range === '*' ? [low, high] : [Number(range.split('-')[0]), Number(range.split('-').at(-1))];
    for (let value = from; value <= to; value += Number(step)) all.add(value);
  }
  return all;
}

test('on days without changes of clocks, the slots are the minutes whose fields match', () => {
  const fields = fc.tuple(
    fc.constantFrom('0', '30', '0,30', '*/15', '7', '10-20/5', '59', '*/20,1'),
    fc.constantFrom('*', '*/2', '2', '1-3', '2,14', '0', '0-23', '23', '1-5/2'),
  );
  fc.assert(
    fc.property(
      fields,
      zones,
      fc.constantFrom('2026-01-12', '2026-07-06', '2026-12-30'),
      ([minute, hour], zone, date) => {
        const day = DateTime.fromISO(date, { zone });
        const minutes = values(minute, 0, 59);
        const hours = values(hour, 0, 23);
        const expected = Array.from({ length: 1440 }, (_, index) => day.plus({ minutes: index }))
          .filter((at) => minutes.has(at.minute) && hours.has(at.hour))
          .map((at) => at.toMillis());
        const cron = `${minute} ${hour} * * *`;
        expect(
          slotsBetween({ cron }, zone, undefined, day.toMillis() - 1, day.plus({ days: 1 }).toMillis() - 1),
        ).toEqual(expected);
      },
    ),
    cases(30),
  );
});

describe('a cron', () => {
  test.each([
    '0 8 * * MON',
    '0 8 * * 1-5',
    '*/5 * * * *',
    '0 8 1,15 * *',
    '0 8 L * *',
    '0 8 * * MON#1',
    '@hourly',
    '@daily',
    '@weekly',
    '@monthly',
    '@yearly',
    ' 0  8 * * 7 ',
  ])('%j is accepted and has slots', (cron) => {
    expect(cronError(cron)).toBeUndefined();
    expect(nextSlots({ cron }, 'Europe/Zurich', undefined, 0, 2)).toHaveLength(2);
  });

  test.each([
    ['0 0 8 * * MON', 'seconds'],
    ['0 8 * * MON 2026 *', 'seconds'],
    ['0 8 * *', 'five fields'],
    ['', 'five fields'],
    ['every monday', 'five fields'],
    ['0 24 * * *', 'in its range'],
    ['60 8 * * *', 'in its range'],
    ['0 8 * * FOO', 'in its range'],
    ['*/0 * * * *', 'in its range'],
    ['5-1 * * * *', 'in its range'],
    ['0 8 31 2 *', 'a day that exists'],
    ['0 8 ? * MON', 'not "?"'],
    ['@reboot', '@hourly'],
    ['@every 5m', '@hourly'],
    ['@DAILY', '@hourly'],
  ])('%j is refused: %s', (cron, expected) => {
    expect(cronError(cron)).toContain(expected);
  });

  test('with any text is refused or has slots, and never throws', () => {
    const field = fc.stringMatching(/^[0-9*,/LW#A-Z-]{1,6}$/);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(field, { minLength: 5, maxLength: 5 }).map((fields) => fields.join(' ')),
        ),
        (cron) => {
          if (cronError(cron) !== undefined) return;
          expect(nextSlots({ cron }, 'Europe/Berlin', undefined, 0, 1)).toHaveLength(1);
        },
      ),
      cases(500),
    );
  });
});
