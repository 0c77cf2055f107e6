import { IANAZone } from 'luxon';
import { DAY_MS } from '../../../base/time.ts';
import type { ExcelDate } from './bindings.ts';

const EPOCH = Date.UTC(1899, 11, 30);
/** Excel takes 1900 for a leap year: earlier days have other numbers, and stay texts. */
const FIRST = Date.UTC(1900, 2, 1);

/** A day, or the time of a clock, given as that time in UTC; undefined before 1 March 1900. */
export const excelDate = (at: Date): ExcelDate | undefined =>
  at.getTime() < FIRST || Number.isNaN(at.getTime()) ? undefined : { serial: (at.getTime() - EPOCH) / DAY_MS };

/** An instant as the clocks of a zone show it. @param timezone IANA */
export const excelInstant = (at: Date, timezone: string): ExcelDate | undefined => createInstantReader(timezone)(at);

/** As `excelInstant`, for many instants: a zone is asked twice for each day, unless its clocks are changed on it. */
export function createInstantReader(timezone: string): (at: Date) => ExcelDate | undefined {
  const zone = IANAZone.create(timezone);
  /** Minutes by the day in UTC; null: they differ. */
  const offsets = new Map<number, number | null>();
  const offsetOfDay = (day: number): number | null => {
    const known = offsets.get(day);
    if (known !== undefined) return known;
    const first = zone.offset(day * DAY_MS);
    const offset = first === zone.offset((day + 1) * DAY_MS) ? first : null;
    offsets.set(day, offset);
    return offset;
  };
  return (at) => {
    const ms = at.getTime();
    const offset = offsetOfDay(Math.floor(ms / DAY_MS)) ?? zone.offset(ms);
    return excelDate(new Date(ms + offset * 60_000));
  };
}
