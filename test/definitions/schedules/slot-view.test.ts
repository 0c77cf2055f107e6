import { expect, test } from 'vitest';
import { scheduleSchema } from '../../../src/definitions/schedules/schedule.ts';
import { formatSchedule, slotView } from '../../../src/definitions/schedules/slot-view.ts';

const REPORT = { org: 'acme', report: 'weekly' };
const at = Date.parse('2026-11-23T07:00Z');

test('a slot is shown with its instant and its local time in the zone of the schedule, or else of the organization', () => {
  const schedule = scheduleSchema.parse({ cron: '0 8 * * MON' });
  expect(slotView({ at, schedule }, REPORT, 'Europe/Zurich')).toEqual({
    at: '2026-11-23T07:00:00.000Z',
    local: 'Mon 2026-11-23 08:00 UTC+01:00',
    timezone: 'Europe/Zurich',
    begins: '2026-11-23T07:00:00.000Z',
    schedule: '0 8 * * MON',
  });
  const own = scheduleSchema.parse({ cron: '0 8 * * MON', timezone: 'America/New_York' });
  expect(slotView({ at, schedule: own }, REPORT, 'Europe/Zurich')).toMatchObject({
    local: 'Mon 2026-11-23 02:00 UTC-05:00',
    timezone: 'America/New_York',
  });
});

test('a jitter delays the start of the run, not the slot', () => {
  const schedule = scheduleSchema.parse({ cron: '0 8 * * MON', jitter: '10m' });
  const view = slotView({ at, schedule }, REPORT, 'Europe/Zurich');
  expect(view.at).toBe('2026-11-23T07:00:00.000Z');
  const late = Date.parse(view.begins) - at;
  expect(late).toBeGreaterThan(0);
  expect(late).toBeLessThan(600_000);
});

test.each([
  [{ cron: ' 0 8 * * * ', jitter: 0 }, '0 8 * * *'],
  [
    { cron: '0 8 * * *', on: { business_day: -1 }, start: '2026-01-01', end: '2026-12-31', jitter: '10m' },
    '0 8 * * *, business day -1, from 2026-01-01, to 2026-12-31, jitter 10m',
  ],
  [{ cron: '0 8 * * *', shift: 'next_business_day' }, '0 8 * * *, shift next_business_day'],
  [{ cron: '@daily', catch_up: 'all', catch_up_window: '12h' }, '@daily, catch_up all, window 12h'],
  [{ cron: '@daily', catch_up_window: '7d' }, '@daily, window 7d'],
  // Without catching up the window does not matter.
  [{ cron: '@daily', catch_up: 'skip', catch_up_window: '7d' }, '@daily, catch_up skip'],
])('%j is described on one line', (written, line) => {
  expect(formatSchedule(scheduleSchema.parse(written))).toBe(line);
});
