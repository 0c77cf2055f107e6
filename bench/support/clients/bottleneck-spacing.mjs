import { schedule } from './bottleneck.mjs';

/** Spreads calls evenly over the window. */
export const make = (work) =>
  schedule({ minTime: Math.ceil(work.windowMs / work.limit), maxConcurrent: work.limit }, work);
