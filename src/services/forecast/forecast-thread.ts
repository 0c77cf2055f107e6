import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import { taskThread } from '../../base/task-thread.ts';
import { SECOND_MS } from '../../base/time.ts';
import type { ForecastResult, ForecastWork } from './forecast-work.ts';

/** Twice what 2,000 reports over a week need. */
const MEMORY_MB = 1_024;
/** Enough for 500 reports over a week, which take some seconds. */
const TIMEOUT_MS = 60 * SECOND_MS;
/** Small, because all requests for the same forecast share one result. */
const MAX_WAITING = { owner: 4, all: 4 };

/** Computes forecasts in a thread, so that the process stays responsive. Throws `definition.busy`. */
export function startForecastThread({ clock, entry }: { readonly clock: Clock; readonly entry: URL }): {
  readonly compute: (work: ForecastWork) => Promise<ForecastResult>;
  close(): Promise<void>;
} {
  const thread = taskThread<ForecastWork, ForecastResult>({
    entry,
    memoryMb: MEMORY_MB,
    clock,
    maxWaiting: MAX_WAITING,
  });
  return {
    compute: async (work) => {
      const outcome = await thread.run('', work, TIMEOUT_MS);
      if (outcome.kind === 'done') return outcome.answer;
      const isQueueFull = outcome.kind === 'queue_full';
      throw new DocketError(
        'definition.busy',
        isQueueFull ? 'Too many forecasts are being made.' : 'The forecast takes too long.',
        {
          expected: isQueueFull
            ? `at most ${MAX_WAITING.all} waiting forecasts`
            : `a forecast that takes ${TIMEOUT_MS / SECOND_MS} s and ${MEMORY_MB} MB at most`,
          next: 'Choose fewer hours, or try again in a minute.',
        },
      );
    },
    close: () => thread.close(),
  };
}
