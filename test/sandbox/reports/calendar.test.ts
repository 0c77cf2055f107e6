import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isZone, previousPeriod, toDate, toDay, zoneDays } from '../../../src/sandbox/reports/calendar.ts';
import { cases } from '../../support/fuzz.ts';

const at = (zone: string, date: string) => new Date(zoneDays(zone).start(toDay(date))).toISOString();

describe('the first instant of a day', () => {
  it.each([
    ['UTC', '2026-03-29', '2026-03-29T00:00:00.000Z'],
    ['Europe/Zurich', '2026-03-29', '2026-03-28T23:00:00.000Z'],
    ['Europe/Zurich', '2026-03-30', '2026-03-29T22:00:00.000Z'],
    ['Europe/Zurich', '2026-10-26', '2026-10-25T23:00:00.000Z'],
    ['Asia/Kolkata', '2026-01-01', '2025-12-31T18:30:00.000Z'],
    // Half an hour of summer time.
    ['Australia/Lord_Howe', '2026-04-06', '2026-04-05T13:30:00.000Z'],
    // Midnight does not exist: the day begins at one o'clock.
    ['Africa/Cairo', '2026-04-24', '2026-04-23T22:00:00.000Z'],
    ['America/Santiago', '2025-09-07', '2025-09-07T04:00:00.000Z'],
    // Midnight comes twice: the day begins at the first.
    ['America/Havana', '2025-11-02', '2025-11-02T04:00:00.000Z'],
    // The day that Samoa skipped has no hours: it begins where the next one does.
    ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00.000Z'],
    ['Pacific/Apia', '2011-12-31', '2011-12-30T10:00:00.000Z'],
  ])('in %s on %s is %s', (zone, date, instant) => {
    expect(at(zone, date)).toBe(instant);
  });

  it('is an instant of that day, and the millisecond before is not', () => {
    const zones = ['Europe/Zurich', 'America/St_Johns', 'Africa/Casablanca', 'Pacific/Chatham', 'America/Asuncion'];
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.integer({ min: 5479, max: 21_915 }), (name, day) => {
        const zone = zoneDays(name);
        expect(zone.of(zone.start(day))).toBe(day);
        expect(zone.of(zone.start(day) - 1)).toBe(day - 1);
      }),
      cases(2000),
    );
  });
});

it('the previous period ends the day before, and has as many days or months', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 25_000 }), fc.nat(365), (from, days) => {
      const range = { from, to: from + days };
      const previous = previousPeriod(range);
      expect(previous.to).toBe(from - 1);
      const months = toDate(range.from).endsWith('-01') && toDate(range.to + 1).endsWith('-01');
      if (months) expect(toDate(previous.from)).toMatch(/-01$/);
      else expect(previous.to - previous.from).toBe(days);
    }),
  );
});

it('a time zone is a name of the IANA database in its exact spelling', () => {
  for (const name of ['UTC', 'Europe/Zurich', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', 'EST5EDT']) {
    expect(isZone(name), name).toBe(true);
  }
  for (const name of ['', 'utc', 'europe/zurich', '+02:00', 'UTC+2', 'Mars/Olympus', 'Europe/', 'local']) {
    expect(isZone(name), name).toBe(false);
  }
});
