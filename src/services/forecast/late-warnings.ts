import { DateTime } from 'luxon';
import { DAY_MS, MINUTE_MS } from '../../base/time.ts';
import type { Diagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { diagnosticAt } from '../../definitions/yaml/parse-yaml.ts';
import { definedReports } from './forecast-deployment.ts';
import { describeLateSlot, forecastDocument, prepareText } from './forecast-document.ts';
import { DEFAULT_ASSUMPTIONS } from './forecast-run.ts';
import { computeForecast } from './forecast-work.ts';
import { type ForecastPorts, makeForecast } from './make-forecast.ts';

/** How many days to check, so that each weekday occurs once. */
const DAYS = 7;

/**
 * Warns about reports that cannot be on time even on a quiet day, in the file of the latest one. Slots on several
 * weekdays with the same reports and calls get one warning. Plans nothing while no report has `late_after`.
 */
export async function lateWarnings(
  jobs: Pick<Definitions, 'orgs' | 'reports' | 'sources'>,
  now: number,
  ports: Omit<ForecastPorts, 'compute'>,
): Promise<Diagnostic[]> {
  const reports = definedReports(jobs);
  if (!reports.some(({ definition }) => definition.schedule.some((one) => one.late_after !== undefined))) return [];
  // The window begins at a full minute, so that it does not begin in the middle of a slot.
  const from = Math.ceil(now / MINUTE_MS) * MINUTE_MS;
  const window = { from, to: from + DAYS * DAY_MS };
  const input = { reports, orgs: [...jobs.orgs.values()], window, pauses: new Map(), assumptions: DEFAULT_ASSUMPTIONS };
  const forecast = await makeForecast(input, { ...ports, compute: computeForecast });
  const { late_slots } = forecastDocument({
    ...{ forecast, window },
    assumptions: DEFAULT_ASSUMPTIONS,
    actual: new Map(),
  });
  const warnings = new Map<string, { readonly weekdays: string[]; readonly at: number }>();
  for (const [index, slot] of late_slots.entries()) {
    const time = DateTime.fromISO(slot.slot, { zone: findZone(forecast.lateSlots[index], jobs), locale: 'en-GB' });
    const { key, reports: count, calls, late } = slot;
    const same = JSON.stringify([time.toFormat('HH:mm'), key, count, calls, late]);
    const known = warnings.get(same) ?? { weekdays: [], at: index };
    known.weekdays.push(`${time.toFormat('cccc')}s`);
    warnings.set(same, known);
  }
  return [...warnings.values()].flatMap(({ weekdays, at }): Diagnostic[] => {
    const [slot, simulated] = [late_slots[at], forecast.lateSlots[at]];
    const last = simulated?.runs.filter(({ late }) => late).toSorted((a, b) => b.delivered - a.delivered)[0];
    const source = last && jobs.sources.get(last.run.name);
    if (slot === undefined || source === undefined) return [];
    const zone = findZone(simulated, jobs);
    const days = [...new Set(weekdays)];
    const when = `${days.length === DAYS ? 'Every day' : days.join(', ')} ${DateTime.fromISO(slot.slot, { zone }).toFormat('HH:mm')}`;
    const { advice, concurrency } = slot;
    return [
      diagnosticAt(source, ['schedule'], {
        code: 'schedule.late',
        message: describeLateSlot(slot, zone, when),
        expected: 'reports that are delivered within their "late_after" on a quiet day',
        got: `${slot.late} of ${slot.reports} late, by a forecast of ${DEFAULT_ASSUMPTIONS.concurrency} runs at once`,
        next:
          advice !== null
            ? `write "prepare: ${prepareText(advice.prepare_minutes)}" into the schedule of ${advice.reports.join(', ')}`
            : concurrency !== null
              ? `start workers with "--concurrency ${concurrency}", start more of them, or raise "late_after"`
              : 'move reports to other slots, raise "late_after", or use another key',
      }),
    ];
  });
}

/** The time zone of the slot's first report. */
function findZone(
  slot: { readonly runs: readonly { readonly run: { readonly name: string; readonly org: string } }[] } | undefined,
  { reports, orgs }: Pick<Definitions, 'orgs' | 'reports'>,
): string {
  const first = slot?.runs[0]?.run;
  return (first && (reports.get(first.name)?.timezone ?? orgs.get(first.org)?.timezone)) ?? 'UTC';
}
