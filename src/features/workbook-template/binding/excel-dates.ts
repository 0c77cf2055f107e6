import { IANAZone } from 'luxon';
import { DAY_MS } from '../../../base/time.ts';
import type { ExcelDate } from './bindings.ts';

const EPOCH = Date.UTC(1899, 11, 30);
/** Excel treats 1900 as a leap year, so earlier days have other serial numbers. They stay text. */
const FIRST = Date.UTC(1900, 2, 1);
const MINUTE_MS = 60_000;
/** Maximum number of days with a cached offset: a hundred years. */
const MAX_DAYS = 36_600;

/** The serial of a day or a local time, given as that time in UTC. Undefined before 1 March 1900. */
export const excelDate = (at: Date): ExcelDate | undefined =>
  at.getTime() < FIRST || Number.isNaN(at.getTime()) ? undefined : { serial: (at.getTime() - EPOCH) / DAY_MS };

/**
 * Converts instants to local times of a zone. Computing an offset takes as long as writing a row, so the offset of a
 * UTC day is cached, unless the clocks change on that day.
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
