import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { calendarSchema } from '../../../src/definitions/schedules/calendar.ts';
import { nextSlots } from '../../../src/definitions/schedules/slots.ts';

const ZURICH = 'Europe/Zurich';
const loaded = () => Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes('/date-holidays/'));

test('the library of holidays is only loaded for a schedule that needs the holidays of a country', () => {
  const own = calendarSchema.parse({ holidays: ['2026-12-24'] });
  nextSlots({ cron: '0 8 * * *', shift: 'next_business_day' }, ZURICH, own, 0, 3);
  nextSlots({ cron: '0 8 * * *' }, ZURICH, calendarSchema.parse({ country: 'CH' }), 0, 3);
  expect(loaded()).toBe(false);
  nextSlots({ cron: '0 8 * * *', shift: 'next_business_day' }, ZURICH, calendarSchema.parse({ country: 'CH' }), 0, 3);
  expect(loaded()).toBe(true);
});
