import { DateTime } from 'luxon';
import { z } from 'zod';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../base/time.ts';

/** The current time in epoch ms, and the time zone in which days begin. */
export interface InstantContext {
  readonly now: number;
  readonly zone: string;
}

/** The accepted forms, for messages and documentation. */
export const INSTANT_FORMS =
  '90m, 1h or 2d ago, today, yesterday, a day such as 2026-11-01, or an instant with its zone such as 2026-11-21T08:00:00Z';

const UNIT_MS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS };
const DAYS_AGO: ReadonlyMap<string, number> = new Map([
  ['tomorrow', -1],
  ['today', 0],
  ['yesterday', 1],
]);
const INSTANT = /^[\d-]{10}T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)$/;

/**
 * Parses an instant as people write it, to epoch ms: `1h` (ago), `yesterday`, `2026-11-01` (its first instant),
 * `2026-11-21T08:00:00Z`. Undefined for anything else. A time of day needs a time zone, because it would otherwise
 * depend on the machine.
 */
export function parseInstantText(text: string, { now, zone }: InstantContext): number | undefined {
  const trimmed = text.trim();
  const ago = /^(\d{1,6})\s*([mhdw])$/.exec(trimmed);
  if (ago !== null) return now - Number(ago[1]) * (UNIT_MS[ago[2] ?? ''] ?? 0);
  const daysAgo = DAYS_AGO.get(trimmed.toLowerCase());
  if (daysAgo !== undefined)
    return DateTime.fromMillis(now, { zone }).minus({ days: daysAgo }).startOf('day').toMillis();
  // `Date.parse` alone would accept "5 Z", and would turn 30 February into a day in March.
  if (!z.iso.date().safeParse(trimmed.slice(0, 10)).success) return undefined;
  if (trimmed.length === 10) return DateTime.fromISO(trimmed, { zone }).startOf('day').toMillis();
  const value = INSTANT.test(trimmed) ? Date.parse(trimmed) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}
