import { forEachWithConcurrency } from '../../base/concurrency.ts';
import { DAY_MS, MINUTE_MS } from '../../base/time.ts';
import type { ForecastTask } from './forecast-run.ts';
import type { Caller, simulateCalls } from './simulate-calls.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** Time from one round for readings and corrections to the next, ms. */
const ROUND_INTERVAL_MS = MINUTE_MS;
/** How long a reading waits for a token in one round, ms. */
const READING_WAIT_MS = MINUTE_MS;
/** Calls of one check that are in flight at once. */
const CONCURRENT_CALLS = 4;

/**
 * Simulates readings and checks on a virtual clock, by the rules of their rounds.
 *
 * @param to checks that would begin later are not made
 * @param isPreparing whether a slot of this key has calls to prepare
 */
export function createTaskSimulation(
  clock: VirtualClock,
  { requestCatalog, requestReport }: Pick<ReturnType<typeof simulateCalls>, 'requestCatalog' | 'requestReport'>,
  { to, isPreparing }: { readonly to: number; readonly isPreparing: (key: string) => boolean },
) {
  let callers = 0;
  const createCaller = (task: ForecastTask, maxWaitMs: number): Caller => {
    callers += 1;
    return {
      run: { ...task, slot: task.at, name: `${task.name} ${task.kind} ${callers}`, maxAgeMs: 0 },
      ...{ tokens: 0, maxWaitMs },
    };
  };

  const read = async (task: ForecastTask): Promise<void> => {
    const caller = createCaller(task, READING_WAIT_MS);
    await clock.sleep(task.at - clock.now());
    let answered = 0;
    while (clock.now() < task.until) {
      let wait = await requestCatalog(caller, 'scheduled');
      while (wait === undefined && answered < task.calls) {
        wait = await requestReport(caller, { request: '' }, answered, 'scheduled');
        if (wait === undefined) answered += 1;
      }
      if (answered === task.calls) return;
      await clock.sleep(ROUND_INTERVAL_MS);
    }
  };

  /** By organization: its checks are made one after the other. */
  const lines = new Map<string, Promise<void>>();
  const compare = async (task: ForecastTask, caller: Caller): Promise<void> => {
    const missing = new Set(Array.from({ length: task.calls }, (_, index) => index));
    while (missing.size > 0) {
      let isWaiting = isPreparing(task.key) || (await requestCatalog(caller, 'correction')) !== undefined;
      await forEachWithConcurrency(isWaiting ? [] : [...missing], CONCURRENT_CALLS, async (index) => {
        if (isWaiting) return;
        if ((await requestReport(caller, { request: '' }, index, 'correction')) === undefined) missing.delete(index);
        else isWaiting = true;
      });
      if (missing.size > 0) await clock.sleep(ROUND_INTERVAL_MS);
    }
  };
  const check = async (task: ForecastTask): Promise<void> => {
    const caller = createCaller(task, 0);
    for (let { at } = task; at < to; at = Math.min(clock.now() + DAY_MS, task.until)) {
      await clock.sleep(at - clock.now());
      const line = (lines.get(task.org) ?? Promise.resolve()).then(() => compare(task, caller));
      lines.set(task.org, line);
      await line;
      if (clock.now() >= task.until) return;
    }
  };

  return (task: ForecastTask): Promise<void> => (task.kind === 'reading' ? read(task) : check(task));
}
