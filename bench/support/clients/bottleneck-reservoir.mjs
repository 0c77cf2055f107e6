import { schedule } from './bottleneck.mjs';

/** A reservoir of one window's calls, with `maxConcurrent` and a small `minTime` beside it as the README asks for. */
export const make = (work) =>
  schedule(
    {
      reservoir: work.limit,
      reservoirRefreshAmount: work.limit,
      reservoirRefreshInterval: work.windowMs,
      maxConcurrent: work.limit,
      minTime: 5,
    },
    work,
  );
