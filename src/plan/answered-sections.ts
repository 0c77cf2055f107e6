import { type Catalog, isCurrentCount } from '../contract/catalog.ts';
import { readingWindow } from '../definitions/schedules/reading-window.ts';
import type { ReadingSettings } from '../definitions/schema/readings.ts';
import type { Section } from '../definitions/schema/report-definition.ts';
import { endOfDay } from './buckets.ts';
import { collectAllCalls, type Plan, type SectionPlan } from './plan.ts';
import { readingGap } from './reading.ts';

/** When an organization's current counts are read each day. */
export interface ReadingSchedule {
  readonly settings: ReadingSettings;
  /** The organization's time zone, which determines the days of its readings. */
  readonly timezone: string;
}

/** Whether the section shows current counts only. */
export const isCurrentSection = ({ metrics = [] }: Section, catalog: Catalog): boolean =>
  metrics.length > 0 &&
  metrics.every((id) => catalog.metrics.some((metric) => metric.id === id && isCurrentCount(metric)));

/**
 * Whether the hour for a day's reading has passed, so that it is either stored or missed.
 * @param now epoch ms
 */
export const isReadingDue = (day: string, { settings: { at }, timezone }: ReadingSchedule, now: number): boolean =>
  now >= (readingWindow(day, at, timezone)?.until ?? endOfDay(day, timezone));

/**
 * Whether readings answer a section, so that it needs no calls. Without granularity they do so only after the last day
 * of its period was read; until then it has the current counts.
 *
 * @param now epoch ms
 */
export const isAnsweredByReadings = (
  { section, period }: Pick<SectionPlan, 'section' | 'period'>,
  schedule: ReadingSchedule,
  catalog: Catalog,
  now: number,
): boolean =>
  isCurrentSection(section, catalog) &&
  readingGap(section, schedule.settings) === undefined &&
  (section.granularity !== undefined || isReadingDue(period.to, schedule, now));

/**
 * Ids of the sections that readings answer.
 * @param now epoch ms
 */
export const answeredSections = (
  { sections }: Plan,
  schedule: ReadingSchedule,
  catalog: Catalog,
  now: number,
): ReadonlySet<string> =>
  new Set(sections.filter((one) => isAnsweredByReadings(one, schedule, catalog, now)).map(({ section }) => section.id));

/** Removes the calls that only answered sections need. */
export function withoutAnswered(plan: Plan, answered: ReadonlySet<string>): Plan {
  if (answered.size === 0) return plan;
  const needed = new Set(
    plan.sections.flatMap((section) => (answered.has(section.section.id) ? [] : collectAllCalls(section))),
  );
  return { ...plan, calls: plan.calls.filter(({ id }) => needed.has(id)) };
}
