import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../base/time.ts';
import { formatCivilDay, parseCivilDay } from './civil-day.ts';
import { localToInstants, zoneOffsets } from './local-time.ts';

/** When the reading of a day may be taken. All instants are in epoch ms. */
export interface ReadingWindow {
  /** The local day, YYYY-MM-DD. */
  readonly day: string;
  /**
   * The reading's local time: for a skipped time the first instant after the gap, for a repeated one the first instant.
   */
  readonly at: number;
  /** Values that were computed earlier do not belong to this reading. */
  readonly notBefore: number;
  /** An hour after `at`, or the end of the day. Exclusive. */
  readonly until: number;
}

/** The date of an instant in a time zone, YYYY-MM-DD. */
export const localDay = (at: number, zone: string): string =>
  formatCivilDay(Math.floor((at + zoneOffsets(zone)(at)) / DAY_MS));

/**
 * The window of a local day. Undefined if clocks skip the time together with the rest of the day, so that no reading is
 * possible.
 *
 * @param time HH:MM
 */
export function readingWindow(day: string, time: string, zone: string): ReadingWindow | undefined {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  const midnight = parseCivilDay(day) * DAY_MS;
  const toInstant = (civil: number) => localToInstants(civil, zoneOffsets(zone), false)[0];
  const [at, dayEnd] = [toInstant(midnight + hours * HOUR_MS + minutes * MINUTE_MS), toInstant(midnight + DAY_MS)];
  if (at === undefined || dayEnd === undefined || localDay(at, zone) !== day) return undefined;
  return { day, at, notBefore: at - HOUR_MS, until: Math.min(at + HOUR_MS, dayEnd) };
}

/** The window that contains an instant; undefined between windows. */
export function openReadingWindow(now: number, time: string, zone: string): ReadingWindow | undefined {
  const window = readingWindow(localDay(now, zone), time, zone);
  return window !== undefined && window.at <= now && now < window.until ? window : undefined;
}

/** All days of a range, both ends included. */
export function daysBetween(from: string, to: string): string[] {
  const [first, last] = [parseCivilDay(from), parseCivilDay(to)];
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => formatCivilDay(first + index));
}
