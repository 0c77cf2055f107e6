import { z } from 'zod';
import { lineSchema, printedLineSchema } from './primitives.ts';

/** The units in which durations are shown, with their seconds. */
export const DURATION_UNITS = { minutes: 60, hours: 3_600, days: 86_400 } as const;
export type DurationUnit = keyof typeof DURATION_UNITS;

/**
 * The unit for the largest of these durations (seconds): minutes below two hours, hours below two days, otherwise days.
 */
export function durationUnitFor(largest: number): DurationUnit {
  if (largest < 2 * DURATION_UNITS.hours) return 'minutes';
  return largest < 2 * DURATION_UNITS.days ? 'hours' : 'days';
}

const UNIT_NAMES = Object.keys(DURATION_UNITS) as [DurationUnit, ...DurationUnit[]];

const MAX_ENTRIES = 200;

/**
 * The measure of a metric: its id without the statistic at the end. The median and the 90th percentile of one measure
 * share a unit.
 */
export const toMeasure = (metric: string): string => metric.replace(/_(?:p\d{1,3}|mean|avg|median|min|max)$/i, '');

/** The unit of each metric, as written. Two metrics of one measure must not differ. */
export const unitsSchema = z
  .record(lineSchema(200), z.enum(UNIT_NAMES))
  .superRefine((units, context) => {
    const first = new Map<string, readonly [metric: string, unit: DurationUnit]>();
    for (const [metric, unit] of Object.entries(units)) {
      const [other, same] = first.get(toMeasure(metric)) ?? [];
      if (other === undefined) first.set(toMeasure(metric), [metric, unit]);
      else if (same !== unit) {
        context.addIssue({
          code: 'custom',
          path: [metric],
          message: `${same}, as for ${other}: figures of one thing share a unit`,
          params: { next: 'give both the same unit, or remove one of them' },
        });
      }
    }
  })
  .describe(
    'The unit of a duration by metric: minutes, hours or days, everywhere in the report; in org.yaml, in all reports that say no other. Metrics that differ only in the statistic (`…_p50`, `…_p90`) share it. Default: chosen from the largest total.',
  );

/** Names, by the id that they replace. */
export const labelsSchema = z
  .record(lineSchema(200), printedLineSchema(200))
  .refine((labels) => Object.keys(labels).length <= MAX_ENTRIES, `at most ${MAX_ENTRIES} labels`)
  .describe(
    'Other names, by id, in this report or, in org.yaml, in all reports that say no other: of metrics (`profiles.created`), dimensions (`profile.risk`), fields of a list (`review_status`) and codes (`AP`).',
  );
