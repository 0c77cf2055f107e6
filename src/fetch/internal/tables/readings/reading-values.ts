import type { Catalog } from '../../../../contract/catalog.ts';
import { localDay } from '../../../../definitions/schedules/reading-window.ts';
import type { Reading } from '../../../../plan/reading.ts';
import type { MetricValues } from '../../../dataset.ts';

/** The reading of a day. */
export interface DayReading {
  readonly reading: Reading;
  readonly groups: ReadonlyMap<string | null, MetricValues>;
}

/** The readings of one kind that a table shows, by day. */
export interface DayReadings {
  readonly question: string;
  /** Undefined for a gap. */
  readonly of: (day: string | undefined) => DayReading | undefined;
}

/**
 * Indexes readings by day. A day is a gap if it has no reading, if the reading lacks a metric (a row is either whole or
 * has no values), or if it was taken on another day in the report's time zone.
 */
export function dayReadings(
  question: string,
  found: ReadonlyMap<string, Reading>,
  metrics: readonly string[],
  timezone: string,
): DayReadings {
  const days = new Map(
    [...found].flatMap(([day, reading]): [string, DayReading][] => {
      const isWhole = metrics.every((id) => reading.metrics.includes(id));
      if (!isWhole || localDay(Date.parse(reading.as_of), timezone) !== day) return [];
      return [[day, { reading, groups: new Map(reading.rows.map(({ group, values }) => [group, values])) }]];
    }),
  );
  return { question, of: (day) => (day === undefined ? undefined : days.get(day)) };
}

/**
 * The values of a group on a day. Readings are complete, so a group that is absent has a count of 0. In a gap all
 * values are null.
 */
export function groupValues(
  day: DayReading | undefined,
  group: string | null,
  metrics: readonly string[],
): MetricValues {
  const values = day?.groups.get(group);
  return Object.fromEntries(
    metrics.map((id) => [id, day === undefined ? null : values === undefined ? 0 : (values[id] ?? null)]),
  );
}

/** The groups of all readings, those of the catalog first and in its order. */
export function collectGroups(
  dimension: string,
  days: readonly DayReading[],
  catalog: Catalog,
): readonly (string | null)[] {
  const present = new Set(days.flatMap(({ groups }) => [...groups.keys()]));
  const known = catalog.dimensions.find(({ id }) => id === dimension)?.values.map(({ value }) => value) ?? [];
  const listed = known.filter((value) => present.has(value) || present.size === 0);
  return [...listed, ...[...present].filter((group) => group === null || !known.includes(group))];
}
