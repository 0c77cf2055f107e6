import { z } from 'zod';

/** Seconds. An answer is never used on another day than its own, so a longer age would promise what is not kept. */
const LONGEST = 24 * 3600;
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };
const WORDS = 'seconds, or a number with its unit such as 30s, 15m or 1h; at most 24h, and 0 to ask always';

const seconds = z.int(WORDS).min(0, WORDS).max(LONGEST, WORDS);

/** Seconds as such, or a number with its unit; read as seconds. */
export const maxAgeSchema = z.union(
  [
    seconds,
    z
      .string()
      .regex(/^[0-9]{1,5}[smh]$/, WORDS)
      .transform((text) => Number.parseInt(text, 10) * (SECONDS[text.slice(-1)] ?? 1))
      .pipe(seconds),
  ],
  { error: WORDS },
);
