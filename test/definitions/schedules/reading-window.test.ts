import { describe, expect, test } from 'vitest';
import {
  daysBetween,
  localDay,
  openReadingWindow,
  readingWindow,
} from '../../../src/definitions/schedules/reading-window.ts';
import { orgFileSchema } from '../../../src/definitions/schema/org-settings.ts';
import { readingsSchema } from '../../../src/definitions/schema/readings.ts';

const iso = (at: number | undefined) => at && new Date(at).toISOString();

describe('the window of a reading', () => {
  test.each([
    ['a plain day', '2026-10-31', '22:30', 'Europe/Zurich', '2026-10-31T21:30:00.000Z', '2026-10-31T22:30:00.000Z'],
    [
      'the end of summer time',
      '2026-10-25',
      '22:30',
      'Europe/Zurich',
      '2026-10-25T21:30:00.000Z',
      '2026-10-25T22:30:00.000Z',
    ],
    [
      'a skipped time, where it starts after the gap',
      '2026-03-29',
      '02:30',
      'Europe/Zurich',
      '2026-03-29T01:00:00.000Z',
      '2026-03-29T02:00:00.000Z',
    ],
    [
      'a repeated time, where it starts at the first',
      '2026-10-25',
      '02:30',
      'Europe/Zurich',
      '2026-10-25T00:30:00.000Z',
      '2026-10-25T01:30:00.000Z',
    ],
    ['the last possible time', '2026-12-31', '23:00', 'UTC', '2026-12-31T23:00:00.000Z', '2027-01-01T00:00:00.000Z'],
    [
      'a midnight that the zone skips',
      '2026-03-29',
      '00:00',
      'Asia/Beirut',
      '2026-03-28T22:00:00.000Z',
      '2026-03-28T23:00:00.000Z',
    ],
    [
      'an offset of half an hour',
      '2026-06-01',
      '22:30',
      'Asia/Kolkata',
      '2026-06-01T17:00:00.000Z',
      '2026-06-01T18:00:00.000Z',
    ],
  ])('is an hour from its local time, for %s', (_, day, time, zone, at, until) => {
    const window = readingWindow(day, time, zone);
    expect([iso(window?.at), iso(window?.until)]).toEqual([at, until]);
    expect(window && window.at - window.notBefore).toBe(3_600_000);
  });

  test('does not exist if the zone skips the time and the end of the day', () => {
    // Summer time starts in Nuuk at 23:00, so the day ends then.
    const nuuk = readingWindow('2025-03-29', '22:30', 'America/Nuuk');
    expect(nuuk && (nuuk.until - nuuk.at) / 60_000).toBe(30);
    expect(readingWindow('2025-03-29', '23:00', 'America/Nuuk')).toBeUndefined();
    // Samoa had no 30 December 2011.
    expect(readingWindow('2011-12-30', '22:30', 'Pacific/Apia')).toBeUndefined();
  });

  test('is inside its local day for any day, time and zone', () => {
    const [without, outside]: [string[], string[]] = [[], []];
    for (const zone of [
      'Europe/Zurich',
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Beirut',
      'America/Nuuk',
      'UTC',
    ]) {
      for (const time of ['00:00', '01:30', '02:30', '22:30', '23:00']) {
        for (const day of daysBetween('2025-01-01', '2026-12-31')) {
          const window = readingWindow(day, time, zone);
          if (window === undefined) {
            without.push(`${zone} ${time}`);
          } else if (
            [window.at, window.until - 1].some((at) => localDay(at, zone) !== day) ||
            window.until <= window.at
          ) {
            outside.push(`${zone} ${day} ${time}`);
          }
        }
      }
    }
    expect(new Set(without)).toEqual(new Set(['America/Nuuk 23:00']));
    expect(outside).toEqual([]);
  });

  test('is open for an hour from its time', () => {
    const at = Date.parse('2026-10-31T21:30:00Z');
    const day = (now: number) => openReadingWindow(now, '22:30', 'Europe/Zurich')?.day;
    expect([day(at - 1), day(at), day(at + 3_599_999), day(at + 3_600_000)]).toEqual([
      undefined,
      '2026-10-31',
      '2026-10-31',
      undefined,
    ]);
  });
});

describe('readings in org.yaml', () => {
  test('have defaults for time and dimensions', () => {
    expect(readingsSchema.parse({ metrics: ['alerts.open'] })).toEqual({
      at: '22:30',
      metrics: ['alerts.open'],
      by: [],
    });
  });

  test('are optional', () => {
    const file = { org: 'current', api_key: { env: 'KEY' }, timezone: 'UTC', recipients: {} };
    expect(orgFileSchema.parse(file).readings).toBeUndefined();
  });

  test.each([
    [{ at: '23:01', metrics: ['alerts.open'] }, ['at']],
    [{ at: '24:00', metrics: ['alerts.open'] }, ['at']],
    [{ at: 1350, metrics: ['alerts.open'] }, ['at']],
    [{ at: '7:30', metrics: ['alerts.open'] }, ['at']],
    [{ metrics: [] }, ['metrics']],
    [{}, ['metrics']],
    [{ metrics: ['alerts.open', 'alerts.open'] }, ['metrics', 1]],
    [{ metrics: ['../etc'] }, ['metrics', 0]],
    [{ metrics: ['alerts.open'], by: ['profile.risk', 'profile.risk'] }, ['by', 1]],
    [{ metrics: ['alerts.open'], every: 'day' }, []],
  ])('%j is refused', (file, path) => {
    const issues = readingsSchema.safeParse(file).error?.issues ?? [];
    expect(issues.map((issue) => issue.path)).toEqual([path]);
  });
});
