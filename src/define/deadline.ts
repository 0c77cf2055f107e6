import { z } from 'zod';

/** Seconds. Less is no time for a run that waits a window of its key's budget; more outlives what it was asked for. */
const SHORTEST = 60;
const LONGEST = 7 * 86_400;
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const WORDS = 'seconds, or a number with its unit such as 90s, 30m, 4h or 2d; at least 1m and at most 7d';

const seconds = z.int(WORDS).min(SHORTEST, WORDS).max(LONGEST, WORDS);

/** Seconds as such, or a number with its unit; read as seconds. */
export const deadlineSchema = z.union(
  [
    seconds,
    z
      .string()
      .regex(/^[0-9]{1,6}[smhd]$/, WORDS)
      .transform((text) => Number.parseInt(text, 10) * (SECONDS[text.slice(-1)] ?? 1))
      .pipe(seconds),
  ],
  { error: WORDS },
);
