import { DateTime } from 'luxon';
import { DAY_MS } from '../../../base/time.ts';
import type { ExcelDate } from './bindings.ts';

const EPOCH = Date.UTC(1899, 11, 30);
/** Excel takes 1900 for a leap year: earlier days have other numbers, and stay texts. */
const FIRST = Date.UTC(1900, 2, 1);

/** A day, or the time of a clock, given as that time in UTC; undefined before 1 March 1900. */
export const excelDate = (at: Date): ExcelDate | undefined =>
  at.getTime() < FIRST || Number.isNaN(at.getTime()) ? undefined : { serial: (at.getTime() - EPOCH) / DAY_MS };

/** An instant as the clocks of a zone show it. @param timezone IANA */
export const excelInstant = (at: Date, timezone: string): ExcelDate | undefined => {
  const { offset } = DateTime.fromJSDate(at, { zone: timezone });
  return excelDate(new Date(at.getTime() + offset * 60_000));
};
