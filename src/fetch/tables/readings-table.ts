import type { Catalog } from '../../contract/catalog.ts';
import type { FiscalCalendar } from '../../definitions/periods/fiscal-calendar.ts';
import type { Period } from '../../definitions/periods/period.ts';
import { readingWindow } from '../../definitions/schedules/reading-window.ts';
import type { ComparisonKind } from '../../definitions/schema/comparison.ts';
import type { ReadingSettings } from '../../definitions/schema/readings.ts';
import type { Section } from '../../definitions/schema/report-definition.ts';
import { type Bucket, bucketsOf, type DateRange, endOfDay } from '../../plan/buckets.ts';
import { type ComparisonContext, compareTotals, partnerOf, unlikeRow, yearBefore } from '../../plan/like-for-like.ts';
import { allCallsOf, type Plan, type Replacement } from '../../plan/plan.ts';
import { type FindReadings, type Reading, readingGap } from '../../plan/reading.ts';
import type { ComparedFigures, Comparisons, Row, Table, TableNote } from '../dataset.ts';
import { isCurrentSection } from './current-counts.ts';
import { compareRows } from './row-order.ts';
import { columnsOf } from './table-columns.ts';
import { replacementNotes } from './table-notes.ts';

/** The stored readings of an organization. */
export interface ReadingsSource {
  readonly settings: ReadingSettings;
  readonly find: FindReadings;
}

export interface ReadingsTableInput {
  /** The organization's id in Docket. */
  readonly org: string;
  readonly section: Section;
  readonly catalog: Catalog;
  /** The section's own, or the report's. */
  readonly period: Period;
  readonly comparisons: readonly ComparisonKind[];
  readonly calendar?: FiscalCalendar | undefined;
  readonly replaced?: readonly Replacement[] | undefined;
  readonly readings: ReadingsSource;
  /** Epoch ms: later readings are not due yet. */
  readonly now: number;
}

/** Values of the reading of a day by group (null: the whole); undefined for a gap. */
type DayValues = ReadonlyMap<string | null, Readonly<Record<string, number | null>>> | undefined;

/**
 * The table of a section of current counts whose values are readings: of each bucket, or of the whole period, that of its
 * last day. A gap has no values, and a note names its days. Undefined where readings do not answer the section: its counts
 * are then those of now.
 */
export async function readingsTable(input: ReadingsTableInput): Promise<Table | undefined> {
  const { org, section, catalog, period, comparisons, readings, now } = input;
  if (!isCurrentSection(section, catalog) || readingGap(section, readings.settings) !== undefined) return undefined;
  const isDue = (day: string): boolean => {
    const window = readingWindow(day, readings.settings.at, period.timezone);
    return now >= (window?.until ?? endOfDay(day, period.timezone));
  };
  // A running period without a history is shown as of now.
  if (section.granularity === undefined && comparisons.length === 0 && !isDue(period.to)) return undefined;

  const range: DateRange = { from: period.from, to: period.to };
  const buckets = bucketsOf(range, section.granularity);
  const partners = comparisons.map((kind) => partnerDays(kind, range, buckets, input));
  const [dimension = null] = section.dimensions ?? [];
  const lastDays = [...buckets, ...partners.flatMap((partner) => partner.buckets)].flatMap((one) => one?.to ?? []);
  const found = await readings.find(org, dimension, lastDays);
  const whole =
    section.totals && dimension !== null
      ? await readings.find(org, null, [range.to, ...partners.flatMap((partner) => partner.range?.to ?? [])])
      : found;
  const metrics = [...new Set(section.metrics ?? [])];
  const valuesOf = (day: string | undefined): DayValues => dayValues(found.get(day ?? ''), metrics);
  const groups = dimension === null ? [null] : groupsOf(dimension, [...found.values()], catalog);

  const sortable = buckets.flatMap((bucket, index) => {
    const values = valuesOf(bucket.to);
    const due = isDue(bucket.to);
    return groups.map((group, rank) => {
      const row: Row = {
        values: {
          ...(section.granularity === undefined ? {} : { bucket: bucket.label }),
          ...(dimension === null ? {} : { [dimension]: group }),
          ...groupValues(values, group, metrics),
        },
        ...comparisonsOf(partners, ({ buckets: others, unlikeRows }) => ({
          values: groupValues(valuesOf(others[index]?.to), group, metrics),
          unlike: due ? unlikeRows[index] : 'unfinished',
        })),
        partial: !due,
      };
      return { row: row.values, table: row, bucket: index, rank };
    });
  });
  const ranks = new Map(
    dimension === null ? [] : [[dimension, (value: unknown) => groups.indexOf(value as string | null)] as const],
  );
  const rows = sortable.sort(compareRows(section.order ?? [], ranks)).map(({ table }) => table);
  const shown = section.limit === undefined ? rows : rows.slice(0, section.limit);
  const [first] = section.order ?? [];
  const latest = buckets.flatMap(({ to }) => found.get(to)?.as_of ?? []).at(-1) ?? null;
  return {
    id: section.id,
    title: section.title ?? section.id,
    ...(section.description === undefined ? {} : { description: section.description }),
    granularity: section.granularity ?? null,
    current: false,
    range,
    running: buckets.some(({ to }) => !isDue(to)),
    period,
    comparisons: partners.map(({ kind, range: days }) => ({ kind, range: days })),
    asOf: latest,
    columns: columnsOf(section, { columns: [] }, catalog),
    rows: shown,
    ...(section.totals ? { totals: totalsOf(range, partners, isDue(range.to), whole, metrics) } : {}),
    ...(section.chart === undefined ? {} : { chart: section.chart }),
    ...(section.order?.some(({ by }) => by !== 'bucket') ? { ordered: true } : {}),
    ...(first === undefined || (first.by === 'bucket' && first.dir === 'asc') ? {} : { ranked: true }),
    filters: [],
    notes: [
      ...readingNotes(section, lastDays.filter(isDue), found, latest, period.timezone),
      ...(rows.length === shown.length ? [] : [limited(shown.length)]),
      ...replacementNotes(section, input.replaced ?? [], catalog),
    ],
  };
}

/** A metric that was not read on that day makes the day a gap: a row is whole or has no values. */
function dayValues(reading: Reading | undefined, metrics: readonly string[]): DayValues {
  if (reading === undefined || !metrics.every((id) => reading.metrics.includes(id))) return undefined;
  return new Map(reading.rows.map(({ group, values }) => [group, values]));
}

/** A group that is absent from a stored reading has a count of 0: readings are complete. */
function groupValues(
  day: DayValues,
  group: string | null,
  metrics: readonly string[],
): Readonly<Record<string, number | null>> {
  const values = day?.get(group);
  return Object.fromEntries(
    metrics.map((id) => [id, day === undefined ? null : values === undefined ? 0 : (values[id] ?? null)]),
  );
}

/** The groups of all readings, those of the catalog first and in its order. */
function groupsOf(dimension: string, readings: readonly Reading[], catalog: Catalog): readonly (string | null)[] {
  const present = new Set(readings.flatMap(({ rows }) => rows.map(({ group }) => group)));
  const known = catalog.dimensions.find(({ id }) => id === dimension)?.values.map(({ value }) => value) ?? [];
  const listed = known.filter((value) => present.has(value) || present.size === 0);
  return [...listed, ...[...present].filter((group) => group === null || !known.includes(group))];
}

/** The days of a comparison: a reading of the last day of each is the value. */
interface PartnerDays {
  readonly kind: ComparisonKind;
  readonly range: DateRange | null;
  /** Of each bucket of the table. */
  readonly buckets: readonly (Bucket | undefined)[];
  readonly unlikeRows: readonly ComparedFigures['unlike'][];
  readonly unlike: ComparedFigures['unlike'];
}

function partnerDays(
  kind: ComparisonKind,
  range: DateRange,
  buckets: readonly Bucket[],
  { section: { granularity }, period: { timezone }, calendar = {} }: ReadingsTableInput,
): PartnerDays {
  const days = partnerOf(range, kind, calendar);
  // Whether a bucket has ended is known from its reading, which is taken on its last day.
  const context: ComparisonContext = { timezone, asOf: Number.POSITIVE_INFINITY, calendar };
  const totals = compareTotals(range, days, context);
  const unlike = totals.compared ? undefined : totals.unlike;
  if (granularity === undefined) {
    const bucket = days === undefined ? undefined : { label: days.from, ...days };
    return { kind, range: days ?? null, buckets: [bucket], unlikeRows: [unlike], unlike };
  }
  const previous = kind === 'previous_period' && days !== undefined ? bucketsOf(days, granularity) : [];
  const others = buckets.map((bucket, index) =>
    kind === 'previous_period' ? previous[index] : yearBefore(bucket, granularity),
  );
  const unlikeRows = buckets.map((bucket, index) => unlikeRow(bucket, others[index], granularity, context));
  return { kind, range: days ?? null, buckets: others, unlikeRows, unlike };
}

function comparisonsOf(
  partners: readonly PartnerDays[],
  figures: (partner: PartnerDays) => {
    readonly values: ComparedFigures['values'];
    readonly unlike: ComparedFigures['unlike'];
  },
): { readonly compare?: Comparisons } {
  if (partners.length === 0) return {};
  const entries = partners.map((partner) => {
    const { values, unlike } = figures(partner);
    return [partner.kind, { values, ...(unlike === undefined ? {} : { unlike }) }] as const;
  });
  return { compare: Object.fromEntries(entries) };
}

/** The counts at the end of the period: those of the whole, never sums. */
function totalsOf(
  range: DateRange,
  partners: readonly PartnerDays[],
  due: boolean,
  whole: ReadonlyMap<string, Reading>,
  metrics: readonly string[],
): NonNullable<Table['totals']> {
  const at = (day: string | undefined) => groupValues(dayValues(whole.get(day ?? ''), metrics), null, metrics);
  return {
    values: at(range.to),
    ...comparisonsOf(partners, ({ range: days, unlike }) => ({
      values: at(days?.to),
      unlike: due ? unlike : 'unfinished',
    })),
  };
}

/** When the values were read, and the days without a reading. Not incomplete: a retry would not help. */
function readingNotes(
  { granularity }: Section,
  days: readonly string[],
  found: ReadonlyMap<string, Reading>,
  latest: string | null,
  timezone: string,
): TableNote[] {
  const missed = [...new Set(days.filter((day) => !found.has(day)))].sort();
  return [
    ...(latest === null
      ? []
      : [
          {
            code: 'read_at' as const,
            message: { id: 'read_at' as const, of: { at: latest, timezone, granularity: granularity ?? null } },
            incomplete: false,
          },
        ]),
    ...(missed.length === 0
      ? []
      : [
          {
            code: 'reading_missing' as const,
            message: { id: 'readings_missing' as const, of: { days: missed } },
            incomplete: false,
          },
        ]),
  ];
}

const limited = (rows: number): TableNote => ({
  code: 'truncated',
  message: { id: 'limited', of: { rows } },
  incomplete: false,
});

/** The plan without the calls of sections that readings answer. */
export function withoutAnswered(plan: Plan, answered: ReadonlySet<string>): Plan {
  if (answered.size === 0) return plan;
  const needed = new Set(
    plan.sections.flatMap((section) => (answered.has(section.section.id) ? [] : allCallsOf(section))),
  );
  return { ...plan, calls: plan.calls.filter(({ id }) => needed.has(id)) };
}
