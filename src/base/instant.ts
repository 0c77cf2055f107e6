import { z } from 'zod';

/** The furthest that `Date` reaches, ms. */
const MOST_MS = 8.64e15;

/** Epoch ms, read back from where others may have written. What is no date would fail wherever it is shown, far from its cause. */
export const instantSchema = z.number().min(-MOST_MS).max(MOST_MS);
