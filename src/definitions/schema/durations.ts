import { z } from 'zod';

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * Seconds as such, or a number with its unit: `90`, `30s`, `15m`, `1h`, `3d`. Read as seconds, which may be written back.
 * @param words what is expected, for the fault
 * @param least seconds
 * @param most seconds
 */
export function durationSchema(words: string, least: number, most: number) {
  const seconds = z.int(words).min(least, words).max(most, words);
  return z.union(
    [
      seconds,
      z
        .string()
        .regex(/^[0-9]{1,7}[smhd]$/, words)
        .transform((text) => Number.parseInt(text, 10) * (UNIT_SECONDS[text.slice(-1)] ?? 1))
        .pipe(seconds),
    ],
    { error: words },
  );
}

/** Seconds as a person writes them: `3d`, `90m`, `45s`. */
export function formatDurationLiteral(seconds: number): string {
  const [unit = 's', size = 1] =
    Object.entries(UNIT_SECONDS)
      .reverse()
      .find(([, size]) => seconds % size === 0 && seconds >= size) ?? [];
  return `${seconds / size}${unit}`;
}

/** Seconds. Less is no time for a run that waits a window of its key's budget; more outlives what it was asked for. */
const MIN_DEADLINE_S = 60;
const MAX_DEADLINE_S = 7 * 86_400;

/** Seconds as such, or a number with its unit; read as seconds. */
export const deadlineSchema = durationSchema(
  'seconds, or a number with its unit such as 90s, 30m, 4h or 2d; at least 1m and at most 7d',
  MIN_DEADLINE_S,
  MAX_DEADLINE_S,
);

/** Seconds. An answer is never used on another day than its own, so a longer age would promise what is not kept. */
const MAX_MAX_AGE_S = 24 * 3600;

/** Seconds as such, or a number with its unit; read as seconds. */
export const maxAgeSchema = durationSchema(
  'seconds, or a number with its unit such as 30s, 15m or 1h; at most 24h, and 0 to ask always',
  0,
  MAX_MAX_AGE_S,
);
