import { IANAZone } from 'luxon';
import { DAY_MS } from '../../../base/time.ts';
import type { ExcelDate } from './bindings.ts';

const EPOCH = Date.UTC(1899, 11, 30);
/** Excel takes 1900 for a leap year: earlier days have other numbers, and stay texts. */
const FIRST = Date.UTC(1900, 2, 1);
const MINUTE_MS = 60_000;
/** Days whose offsets are kept: a hundred years. */
const MAX_DAYS = 36_600;

/** A day, or the time of a clock, given as that time in UTC; undefined before 1 March 1900. */
export const excelDate = (at: Date): ExcelDate | undefined =>
  at.getTime() < FIRST || Number.isNaN(at.getTime()) ? undefined : { serial: (at.getTime() - EPOCH) / DAY_MS };

/**
 * Instants as the clocks of a zone show them. To ask for the offset of each takes as long as writing its row, so that of a
 * day in UTC is kept where the clocks are not changed on it.
 * @param timezone IANA
 */
export function createInstantReader(timezone: string): (at: Date) => ExcelDate | undefined {
  const offsets = new Map<number, number | null>();
  const zone = IANAZone.create(timezone);
  const offsetAt = (ms: number): number => zone.offset(ms) * MINUTE_MS;
  const offsetOfDay = (day: number): number | null => {
    const known = offsets.get(day);
    if (known !== undefined) return known;
    const first = offsetAt(day * DAY_MS);
    const offset = first === offsetAt((day + 1) * DAY_MS) ? first : null;
    if (offsets.size >= MAX_DAYS) offsets.clear();
    offsets.set(day, offset);
    return offset;
  };
  return (at) => {
    const ms = at.getTime();
    if (Number.isNaN(ms)) return undefined;
    return excelDate(new Date(ms + (offsetOfDay(Math.floor(ms / DAY_MS)) ?? offsetAt(ms))));
  };
}
