import { expect, it } from 'vitest';
import { calendarSchema } from '../../../src/definitions/schedules/calendar.ts';
import { businessDeadline } from '../../../src/services/reviews/review-deadlines.ts';

const zurich = { timezone: 'Europe/Zurich' };
const swiss = { ...zurich, calendar: calendarSchema.parse({ country: 'CH', region: 'ZH' }) };

it.each([
  ['a Monday', '2026-11-02T10:00:00+01:00', 2, zurich, '2026-11-05T00:00:00+01:00'],
  ['a Friday evening', '2026-11-06T23:59:00+01:00', 1, zurich, '2026-11-10T00:00:00+01:00'],
  ['a Saturday', '2026-11-07T08:00:00+01:00', 1, zurich, '2026-11-10T00:00:00+01:00'],
  ['a Friday in UTC, a Saturday in Zurich', '2026-11-06T23:30:00Z', 1, zurich, '2026-11-10T00:00:00+01:00'],
  ['Easter', '2026-04-02T10:00:00+02:00', 1, swiss, '2026-04-08T00:00:00+02:00'],
  ['Easter without a calendar', '2026-04-02T10:00:00+02:00', 1, zurich, '2026-04-04T00:00:00+02:00'],
  ['the change to winter time', '2026-10-23T10:00:00+02:00', 1, zurich, '2026-10-27T00:00:00+01:00'],
  ['a year without known holidays', '2080-12-24T10:00:00+01:00', 1, swiss, '2080-12-26T00:00:00+01:00'],
  [
    'another weekend',
    '2026-11-05T10:00:00+02:00',
    1,
    { timezone: 'Asia/Jerusalem', calendar: calendarSchema.parse({ weekend: ['FRI', 'SAT'] }) },
    '2026-11-09T00:00:00+02:00',
  ],
])('a deadline counts business days correctly for %s', (_, from, days, org, end) => {
  expect(new Date(businessDeadline(Date.parse(from), days, org)).toISOString()).toBe(new Date(end).toISOString());
});
