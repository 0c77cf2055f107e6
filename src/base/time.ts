import { z } from 'zod';

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** The latest instant that `Date` represents, epoch ms. */
const MAX_EPOCH_MS = 8.64e15;

/** Epoch ms read from storage. Values outside the range of `Date` fail here, not later when they are formatted. */
export const epochMsSchema = z.number().min(-MAX_EPOCH_MS).max(MAX_EPOCH_MS);

/** Formats epoch ms as `2026-11-28T05:00:00.000Z`. */
export const isoInstant = (ms: number): string => new Date(ms).toISOString();

export const isoInstantOrNull = (ms: number | null): string | null => (ms === null ? null : isoInstant(ms));

/** Whether a text begins with a real date, YYYY-MM-DD. `Date` reads 30 February as 2 March. */
export function startsWithRealDay(text: string): boolean {
  const day = /^\d{4}-\d{2}-\d{2}(?!\d)/.exec(text)?.[0];
  if (day === undefined) return false;
  // The day of an invalid date is NaN, which equals nothing.
  return new Date(day).getUTCDate() === Number(day.slice(8));
}
