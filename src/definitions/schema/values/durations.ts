import { z } from 'zod';

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * The schema of a duration: seconds, or a number with a unit: `90`, `30s`, `15m`, `1h`, `3d`. Parsed to seconds, which
 * are valid input as well.
 * @param description the expected value, for diagnostics
 * @param min in seconds
 * @param max in seconds
 */
export function durationSchema(description: string, min: number, max: number) {
  const seconds = z.int(description).min(min, description).max(max, description);
  return z.union(
    [
      seconds,
      z
        .string()
        .regex(/^[0-9]{1,7}[smhd]$/, description)
        .transform((text) => Number.parseInt(text, 10) * (UNIT_SECONDS[text.slice(-1)] ?? 1))
        .pipe(seconds),
    ],
    { error: description },
  );
}

/** Formats seconds: `3d`, `90m`, `45s`. */
export function formatDurationLiteral(seconds: number): string {
  const [unit = 's', size = 1] =
    Object.entries(UNIT_SECONDS)
      .reverse()
      .find(([, size]) => seconds % size === 0 && seconds >= size) ?? [];
  return `${seconds / size}${unit}`;
}

/** In seconds. At least one rate-limit window. */
const MIN_DEADLINE_S = 60;
const MAX_DEADLINE_S = 7 * 86_400;

export const deadlineSchema = durationSchema(
  'seconds, or a number with its unit such as 90s, 30m, 4h or 2d; at least 1m and at most 7d',
  MIN_DEADLINE_S,
  MAX_DEADLINE_S,
);

/** In seconds. A response is never used on another day than its own. */
const MAX_MAX_AGE_S = 24 * 3600;

export const maxAgeSchema = durationSchema(
  'seconds, or a number with its unit such as 30s, 15m or 1h; at most 24h, and 0 to ask always',
  0,
  MAX_MAX_AGE_S,
);
