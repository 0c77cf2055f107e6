import { DateTime } from 'luxon';
import { z } from 'zod';
import { isoInstant, isoInstantOrNull, MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import type { RunRecord } from '../../run/run-record.ts';
import { type DeploymentForecast, deliveredAt, forecastName, toRunId } from './forecast-deployment.ts';
import type { SimulatedRun } from './simulate-runs.ts';

const count = z.int().min(0);
const seconds = z.number().min(0);
const instant = z.iso.datetime();

const runSchema = z
  .strictObject({
    report: z.string(),
    key: z.string().describe('Fingerprint of the API key.'),
    slot: instant,
    calls: count.describe('Calls of its plan.'),
    prepared: count.describe('Calls that can be made before the slot.'),
    tokens: count.describe('Tokens it uses, including its catalog. Shared responses use none.'),
    begins: instant.describe('When a worker starts it.'),
    ready: instant.describe('When its files are created.'),
    delivered: instant,
    late_at: instant.nullable().describe('When readers expect it; null without `late_after`.'),
    late: z.boolean(),
    run: z.string().nullable().describe('The run of the slot, if it was opened.'),
    actual: instant.nullable().describe('When that run was delivered.'),
    foreseen: instant.nullable().describe('The forecast made minutes before the slot; null without one.'),
  })
  .meta({ id: 'ForecastRun' });

const keySchema = z
  .strictObject({
    key: z.string().describe('Fingerprint of the API key.'),
    organizations: z.array(z.string()).readonly().describe('Organizations with this key that the token may see.'),
    limit: count.describe('Tokens per window.'),
    window_seconds: seconds,
    tokens: count.describe('Tokens used by the visible organizations.'),
    other_organizations: z
      .strictObject({ calls: count })
      .describe('Calls of organizations that the token may not see.'),
    full_at: instant.nullable().describe('The first minute in which a call waits; null if none does.'),
    minutes: z
      .array(z.strictObject({ at: instant, tokens: count }))
      .readonly()
      .describe('Tokens of the visible organizations by minute; minutes without any are absent.'),
  })
  .meta({ id: 'ForecastKey' });

const lateSlotSchema = z
  .strictObject({
    key: z.string(),
    slot: instant,
    reports: count,
    calls: count,
    late: count.describe('Reports that will be late.'),
    last: instant.describe('When the last late one is delivered.'),
    advice: z
      .strictObject({ prepare_minutes: count, reports: z.array(z.string()).readonly() })
      .nullable()
      .describe(
        '`prepare` that leaves none late, in as few reports as were found; null: it is not enough, or not known.',
      ),
    concurrency: count
      .nullable()
      .describe(
        'If `prepare` is not enough: the `--concurrency` of each worker process that leaves none late, or null.',
      ),
  })
  .meta({ id: 'ForecastLateSlot' });

/** The document of `docket forecast --json` and `GET /api/forecast`. In snake case, like the API and the manifest. */
export const forecastSchema = z
  .strictObject({
    from: instant,
    to: instant,
    assumptions: z.strictObject({
      processes: count,
      concurrency: count.describe('Runs at the same time in a process.'),
      call_seconds: seconds.describe('For reports without earlier runs.'),
      render_seconds: seconds.describe('For reports without earlier runs.'),
      delivery_seconds: seconds.describe('For reports without earlier runs.'),
      measured_reports: count.describe(
        'Reports whose calls, rendering and delivery take as long as in their last ten runs.',
      ),
    }),
    runs: z.array(runSchema).readonly(),
    keys: z.array(keySchema).readonly(),
    late_slots: z.array(lateSlotSchema).readonly(),
    unplanned: z
      .array(z.strictObject({ report: z.string(), slots: count, why: z.string() }))
      .readonly()
      .describe('Reports that are not in the forecast.'),
    paused: z.array(z.string()).readonly().describe('Reports without runs.'),
  })
  .meta({ id: 'Forecast' });
export type ForecastDocument = z.infer<typeof forecastSchema>;

/** @param canSee whose reports are shown. For others on the same key, only the number of calls is shown */
export function forecastDocument(
  { forecast, window: { from, to }, assumptions, actual, foreseen }: DeploymentForecast,
  canSee: (org: string) => boolean = () => true,
): ForecastDocument {
  const { runs, keys, lateSlots, unplanned, paused } = forecast;
  const { processes, concurrency, callMs, renderMs, deliverMs, reports } = assumptions;
  const isVisible = ({ run }: SimulatedRun): boolean => canSee(run.org);
  const nameIsVisible = (name: string): boolean => canSee(name.split('/')[0] ?? '');
  return {
    from: isoInstant(from),
    to: isoInstant(to),
    assumptions: {
      processes,
      concurrency,
      call_seconds: callMs / SECOND_MS,
      render_seconds: renderMs / SECOND_MS,
      delivery_seconds: deliverMs / SECOND_MS,
      measured_reports: [...(reports?.keys() ?? [])].filter(nameIsVisible).length,
    },
    runs: runs
      .filter(isVisible)
      .map((one) => runDocument(one, actual.get(forecastName(one.run)), foreseen?.get(toRunId(one.run)))),
    keys: keys
      .filter(({ organizations }) => organizations.some(canSee))
      .map(({ key, organizations, limits, minutes, fullAt }) => {
        const visible = minutes.map(({ at, byOrg }) => ({
          at: isoInstant(at),
          tokens: sum([...byOrg].map(([org, tokens]) => (canSee(org) ? tokens : 0))),
        }));
        const tokens = sum(visible.map((minute) => minute.tokens));
        return {
          key,
          organizations: organizations.filter(canSee),
          limit: limits.calls,
          window_seconds: limits.windowMs / SECOND_MS,
          tokens,
          other_organizations: { calls: sum(minutes.map((minute) => minute.tokens)) - tokens },
          full_at: isoInstantOrNull(fullAt ?? null),
          minutes: visible.filter((minute) => minute.tokens > 0),
        };
      }),
    late_slots: lateSlots.flatMap(({ key, slot, runs: all, advice, concurrency }) => {
      const own = all.filter(isVisible);
      const late = own.filter((run) => run.late);
      if (late.length === 0) return [];
      return {
        ...{ key, slot: isoInstant(slot), reports: own.length, late: late.length },
        calls: sum(own.map(({ run }) => run.calls.length)),
        last: isoInstant(Math.max(...late.map(({ delivered }) => delivered))),
        advice: advice?.reports.every(nameIsVisible)
          ? { prepare_minutes: advice.prepareMs / MINUTE_MS, reports: advice.reports }
          : null,
        concurrency: concurrency ?? null,
      };
    }),
    unplanned: unplanned.filter(({ org }) => canSee(org)).map(({ name, slots, why }) => ({ report: name, slots, why })),
    paused: paused.filter(nameIsVisible),
  };
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);

const runDocument = (
  { run, begun, ready, delivered, late, tokens }: SimulatedRun,
  actual: RunRecord | undefined,
  foreseen: number | undefined,
) => ({
  report: run.name,
  key: run.key,
  slot: isoInstant(run.slot),
  calls: run.calls.length,
  prepared: run.calls.filter(({ preparedFrom }) => preparedFrom !== undefined).length,
  tokens,
  begins: isoInstant(begun),
  ready: isoInstant(ready),
  delivered: isoInstant(delivered),
  late_at: isoInstantOrNull(run.lateAt ?? null),
  late,
  run: actual?.id ?? null,
  actual: isoInstantOrNull(deliveredAt(actual)),
  foreseen: isoInstantOrNull(foreseen ?? null),
});

type LateSlotEntry = ForecastDocument['late_slots'][number];

/**
 * Describes a late slot: `Mon 30 Nov 09:00: 42 reports, 391 calls on key 3f2a0c11…; 17 late, the last at 09:13.
 * prepare: 30m on 12 of them is enough.`
 *
 * @param when used instead of the slot's day and time
 */
export function describeLateSlot(entry: LateSlotEntry, zone: string, when?: string): string {
  const { key, slot, reports, calls, late, last, advice, concurrency } = entry;
  const at = (iso: string) => DateTime.fromISO(iso, { zone, locale: 'en-GB' });
  const day = at(last).hasSame(at(slot), 'day') ? 'HH:mm' : 'ccc HH:mm';
  const count = (number: number, noun: string) => `${number} ${number === 1 ? noun : `${noun}s`}`;
  const facts = `${when ?? at(slot).toFormat('ccc d LLL HH:mm')}: ${count(reports, 'report')}, ${count(calls, 'call')} on key ${key.slice(0, 8)}…; ${late} late, the last at ${at(last).toFormat(day)}.`;
  if (concurrency !== null)
    return `${facts} They wait for workers, not for the key: \`docket start --concurrency ${concurrency}\` is enough for all to be on time.`;
  if (advice === null)
    return `${facts} No \`prepare\` was found that is enough for all to be on time: move reports to other slots, or raise \`late_after\`.`;
  const { prepare_minutes, reports: prepared } = advice;
  return `${facts} \`prepare: ${prepareText(prepare_minutes)}\` on ${prepared.length} of them is enough for all to be on time.`;
}

/** A duration as in a definition: `45m`, `2h`. */
export const prepareText = (minutes: number): string => (minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`);
