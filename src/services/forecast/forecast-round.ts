import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../base/time.ts';
import { beginningSlots } from '../preparations/due-preparations.ts';
import { definedReports, deliveredAt, type ForecastSources, forecastDeployment, runOf } from './forecast-deployment.ts';

/** Slots that begin within this time are forecast. Longer than the time between two rounds. */
const AHEAD_MS = 12 * MINUTE_MS;
/** Runs that begin this long before are simulated too, because their calls may still wait. */
const BEFORE_MS = HOUR_MS;

/**
 * Forecasts the next slots and stores the result, and compares earlier forecasts with deliveries. Call it every five
 * minutes.
 */
export const createForecastRound =
  (sources: Required<ForecastSources>): (() => Promise<void>) =>
  async () => {
    const { stored, clock, runs, jobs } = sources;
    if (!(await stored.claim())) return;
    const now = clock.now();
    for (const day of [now - DAY_MS, now]) {
      for (const [run, { at, isCompared }] of await stored.ofDay(day)) {
        const record = isCompared ? undefined : await runs.get(run);
        const delivered = deliveredAt(record);
        if (record === undefined || delivered === null) continue;
        const isDelayed = record.review !== undefined || record.reopened.length > 0;
        await stored.compare(run, Date.parse(record.slot), at, isDelayed ? undefined : Math.abs(delivered - at));
      }
    }
    if (definedReports(jobs()).every((report) => beginningSlots(report, now, now + AHEAD_MS).length === 0)) return;
    const { forecast } = await forecastDeployment({ from: now - BEFORE_MS, to: now + AHEAD_MS }, sources);
    for (const { run, delivered } of forecast.runs) {
      if (run.begins > now) await stored.put(runOf(run), run.slot, delivered);
    }
  };
