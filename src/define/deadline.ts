import { durationSchema } from './duration.ts';

/** Seconds. Less is no time for a run that waits a window of its key's budget; more outlives what it was asked for. */
const SHORTEST = 60;
const LONGEST = 7 * 86_400;

/** Seconds as such, or a number with its unit; read as seconds. */
export const deadlineSchema = durationSchema(
  'seconds, or a number with its unit such as 90s, 30m, 4h or 2d; at least 1m and at most 7d',
  SHORTEST,
  LONGEST,
);
