import { durationSchema } from './duration.ts';

/** Seconds. An answer is never used on another day than its own, so a longer age would promise what is not kept. */
const LONGEST = 24 * 3600;

/** Seconds as such, or a number with its unit; read as seconds. */
export const maxAgeSchema = durationSchema(
  'seconds, or a number with its unit such as 30s, 15m or 1h; at most 24h, and 0 to ask always',
  0,
  LONGEST,
);
