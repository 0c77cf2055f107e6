import { schedule } from './bottleneck.mjs';

/** A reservoir with the calls of one window, plus `maxConcurrent` and a small `minTime`, as the README recommends. */
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
