import { DAY_MS } from '../../base/time.ts';
import { businessDays, type Calendar, calendarSchema } from './calendar.ts';
import type { CivilDay } from './civil-day.ts';
import { localToInstants, zoneOffsets } from './local-time.ts';

/**
 * When a number of business days has passed: at the end of the n-th business day after the day of `from`, in the
 * organization's time zone. With one day, what begins on a Friday or a Saturday ends at midnight after Monday.
 *
 * Without a calendar, Saturday and Sunday are days off. Public holidays only count in years for which they are known.
 *
 * @param from epoch ms
 * @param days 1 or more
 * @returns epoch ms
 */
export function businessDeadline(
  from: number,
  days: number,
  { calendar, timezone }: { readonly calendar?: Calendar | undefined; readonly timezone: string },
): number {
  const offsetAt = zoneOffsets(timezone);
  const settings = calendar ?? calendarSchema.parse({});
  const known = businessDays(settings);
  const withoutHolidays = businessDays({ ...settings, country: undefined, region: undefined });
  const isBusinessDay = (day: CivilDay) => known.isBusinessDay(day) ?? withoutHolidays.isBusinessDay(day) ?? true;
  let day = Math.floor((from + offsetAt(from)) / DAY_MS);
  for (let left = days; left > 0; ) {
    day += 1;
    if (isBusinessDay(day)) left -= 1;
  }
  const [end = (day + 1) * DAY_MS] = localToInstants((day + 1) * DAY_MS, offsetAt, false);
  return end;
}
