import type { Catalog } from '../../../../contract/catalog.ts';
import type { Granularity } from '../../../../contract/report.ts';
import type { FiscalCalendar } from '../../../../definitions/periods/fiscal-calendar.ts';
import type { Period } from '../../../../definitions/periods/period.ts';
import type { ComparisonKind } from '../../../../definitions/schema/comparison.ts';
import type { Section } from '../../../../definitions/schema/report-definition.ts';
import { isAnsweredByReadings, isReadingDue, type ReadingSchedule } from '../../../../plan/answered-sections.ts';
import { type Bucket, buildBuckets, type DateRange, sameDays } from '../../../../plan/buckets.ts';
import {
  type ComparisonContext,
  compareTotals,
  differentLengths,
  findPartner,
  findRowMismatch,
  type NotComparableReason,
  type TotalsComparison,
  yearBefore,
  yearBeforeRange,
} from '../../../../plan/like-for-like.ts';
import type { Replacement } from '../../../../plan/plan.ts';
import { type FindReadings, questionId } from '../../../../plan/reading.ts';
import type { Row, Table, TableComparison, TableReading } from '../../../dataset.ts';
import type { TableNote } from '../../../notes.ts';
import { buildColumns } from '../columns/table-columns.ts';
import { collectComparisons, comparedFigures, comparedTotals } from '../comparisons/compare-figures.ts';
import { comparisonNotes, type NotedComparison } from '../comparisons/comparison-notes.ts';
import { compareRows } from '../row-order.ts';
import { sectionFields } from '../section-fields.ts';
import { replacementNotes } from '../table-notes.ts';
import { collectGroups, type DayReadings, dayReadings, groupValues } from './reading-values.ts';

/** The stored readings of an organization. */
export interface ReadingsSource extends ReadingSchedule {
  readonly find: FindReadings;
}

export interface ReadingsTableInput {
  /** The organization's id in Docket. */
  readonly org: string;
  readonly section: Section;
  readonly catalog: Catalog;
  /** The section's own period, or the report's. */
  readonly period: Period;
  readonly comparisons: readonly ComparisonKind[];
  readonly calendar?: FiscalCalendar | undefined;
  readonly replaced?: readonly Replacement[] | undefined;
  readonly readings: ReadingsSource;
  /** Epoch ms; readings after it are not due yet. */
  readonly now: number;
}

/**
 * The table of a section of current counts with stored readings as values: for each bucket, or for the whole period,
 * the reading of its last day. A gap has no values, and a note names its days. Undefined if readings cannot answer the
 * section; it then gets the current counts.
 */
export async function readingsTable(input: ReadingsTableInput): Promise<Table | undefined> {
  const { org, section, catalog, period, readings, now, calendar = {} } = input;
  if (!isAnsweredByReadings(input, readings, catalog, now)) return undefined;
  const { granularity, dimensions: [dimension = null] = [] } = section;
  const { timezone } = period;
  const metrics = [...new Set(section.metrics ?? [])];
  const range: DateRange = { from: period.from, to: period.to };
  const buckets = buildBuckets(range, granularity);

  // The partners' days are always the same. Only whether they are compared depends on what is stored.
  const partnersIf = (isSettled: (day: string) => boolean): PartnerDays[] =>
    input.comparisons.map((kind) => partnerDays(kind, { range, buckets, granularity, timezone, calendar, isSettled }));
  const expected = partnersIf(() => true);
  const rowDays = [...buckets, ...expected.flatMap((partner) => partner.buckets)].flatMap((one) => one?.to ?? []);
  const totalDays = [range.to, ...expected.flatMap(({ comparison }) => comparison.range?.to ?? [])];
  const load = async (of: string | null, days: readonly string[]): Promise<DayReadings> =>
    dayReadings(questionId(of), await readings.find(org, of, days), metrics, timezone);
  const found = await load(dimension, dimension === null ? [...new Set([...rowDays, ...totalDays])] : rowDays);
  const whole = section.totals && dimension !== null ? await load(null, totalDays) : found;

  const isDue = (day: string): boolean => isReadingDue(day, readings, now);
  const isSettled = (day: string): boolean => isDue(day) || found.of(day) !== undefined;
  const partners = partnersIf(isSettled);
  const shownReadings = rowDays.flatMap((day) => found.of(day) ?? []);
  const groups = dimension === null ? [null] : collectGroups(dimension, shownReadings, catalog);

  const sortable = buckets.flatMap((bucket, index) =>
    groups.map((group, rank) => {
      const compare = collectComparisons(partners, ({ buckets: others, rowMismatches }) =>
        comparedFigures(groupValues(found.of(others[index]?.to), group, metrics), rowMismatches[index]),
      );
      const row: Row = {
        values: {
          ...(granularity === undefined ? {} : { bucket: bucket.label }),
          ...(dimension === null ? {} : { [dimension]: group }),
          ...groupValues(found.of(bucket.to), group, metrics),
        },
        ...(compare === undefined ? {} : { compare }),
        partial: !isSettled(bucket.to),
      };
      return { row: row.values, table: row, bucket: index, rank };
    }),
  );
  const ranks = new Map(
    dimension === null ? [] : [[dimension, (value: unknown) => groups.indexOf(value as string | null)] as const],
  );
  const rows = sortable.sort(compareRows(section.order ?? [], ranks)).map(({ table }) => table);
  const shown = section.limit === undefined ? rows : rows.slice(0, section.limit);
  const latest = buckets.flatMap(({ to }) => found.of(to)?.reading.as_of ?? []).at(-1) ?? null;
  const totals = section.totals ? buildTotals(range, partners, whole, metrics) : undefined;
  const unread = [
    ...new Set([
      ...rowDays.filter((day) => found.of(day) === undefined),
      ...(totals === undefined ? [] : totalDays.filter((day) => whole.of(day) === undefined)),
    ]),
  ].sort();
  return {
    ...sectionFields(section, period),
    current: false,
    range,
    running: !isSettled(range.to),
    comparisons: partners.map(({ comparison }) => comparison),
    asOf: latest,
    readings: [
      ...rowReadings(buckets, partners, granularity !== undefined, found),
      ...(totals === undefined ? [] : totalReadings(range, partners, whole)),
    ],
    columns: buildColumns(section, { columns: [] }, catalog),
    rows: shown,
    ...(totals === undefined ? {} : { totals }),
    filters: [],
    notes: [
      ...(latest === null || granularity === undefined ? [] : [readAt(latest, timezone, granularity)]),
      ...unreadNotes(unread, isDue),
      ...comparisonNotes({
        granularity,
        range,
        rows: shown,
        metrics: catalog.metrics.filter(({ id }) => metrics.includes(id)),
        comparers: partners,
        hasTotals: totals !== undefined,
        ofReadings: true,
      }),
      ...(rows.length === shown.length ? [] : [limited(shown.length)]),
      ...replacementNotes(section, input.replaced ?? [], catalog),
    ],
  };
}

/** The counts at the end of the period, from the reading without groups. They are never sums. */
function buildTotals(
  range: DateRange,
  partners: readonly PartnerDays[],
  whole: DayReadings,
  metrics: readonly string[],
): NonNullable<Table['totals']> {
  const compare = collectComparisons(partners, ({ comparison, totalsComparison }) =>
    comparedTotals(groupValues(whole.of(comparison.range?.to), null, metrics), totalsComparison),
  );
  return {
    values: groupValues(whole.of(range.to), null, metrics),
    ...(compare === undefined ? {} : { compare }),
  };
}

/** Which reading the values come from, or which gap. Empty for a comparison without a partner. */
function tableReading(
  readings: DayReadings,
  day: string | undefined,
  of: Pick<TableReading, 'of' | 'bucket' | 'comparison'>,
): TableReading[] {
  if (day === undefined) return [];
  const reading = readings.of(day)?.reading;
  return [
    {
      ...of,
      day,
      question: readings.question,
      asOf: reading?.as_of ?? null,
      correlationId: reading?.correlation_id ?? null,
    },
  ];
}

const rowReadings = (
  buckets: ReturnType<typeof buildBuckets>,
  partners: readonly PartnerDays[],
  hasBuckets: boolean,
  found: DayReadings,
): TableReading[] =>
  buckets.flatMap(({ label, to }, index) => {
    const of = { of: 'rows' as const, bucket: hasBuckets ? label : null };
    return [
      ...tableReading(found, to, { ...of, comparison: null }),
      ...partners.flatMap(({ comparison: { kind }, buckets: others }) =>
        tableReading(found, others[index]?.to, { ...of, comparison: kind }),
      ),
    ];
  });

function totalReadings(range: DateRange, partners: readonly PartnerDays[], whole: DayReadings): TableReading[] {
  const of = { of: 'totals' as const, bucket: null };
  return [
    ...tableReading(whole, range.to, { ...of, comparison: null }),
    ...partners.flatMap(({ comparison: { kind, range: days } }) =>
      tableReading(whole, days?.to, { ...of, comparison: kind }),
    ),
  ];
}

// These notes do not make the table incomplete, because a retry would not help.
const readAt = (at: string, timezone: string, granularity: NonNullable<Table['granularity']>): TableNote => ({
  code: 'read_at',
  message: { id: 'read_at', of: { at, timezone, granularity } },
  incomplete: false,
});

/** Notes on days without a reading: those that were missed, and those whose reading is not due yet. */
function unreadNotes(days: readonly string[], isDue: (day: string) => boolean): TableNote[] {
  const missed = days.filter(isDue);
  const coming = days.filter((day) => !isDue(day));
  return [
    ...(missed.length === 0
      ? []
      : [
          {
            code: 'reading_missing' as const,
            message: { id: 'readings_missing' as const, of: { days: missed } },
            incomplete: false,
          },
        ]),
    ...(coming.length === 0
      ? []
      : [
          {
            code: 'partial' as const,
            message: { id: 'readings_to_come' as const, of: { days: coming } },
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

/** The days that a table of readings is compared with. The value of each partner is the reading of its last day. */
interface PartnerDays extends NotedComparison {
  readonly comparison: TableComparison;
  /** The partner of each bucket, or of the whole range. */
  readonly buckets: readonly (Bucket | undefined)[];
  readonly rowMismatches: readonly (NotComparableReason | undefined)[];
}

interface PartnerInput {
  readonly range: DateRange;
  readonly buckets: readonly Bucket[];
  readonly granularity: Granularity | undefined;
  readonly timezone: string;
  readonly calendar: FiscalCalendar;
  /** Whether the reading of a day is stored, or the time to take it has passed. */
  readonly isSettled: (day: string) => boolean;
}

function partnerDays(
  kind: ComparisonKind,
  { range, buckets, granularity, timezone, calendar, isSettled }: PartnerInput,
): PartnerDays {
  const days = findPartner(range, kind, calendar);
  // A reading is final before its day has ended, so `isSettled` decides instead of `asOf`.
  const context: ComparisonContext = { timezone, asOf: Number.POSITIVE_INFINITY, calendar };
  const totalsComparison: TotalsComparison = isSettled(range.to)
    ? compareTotals(range, days, context)
    : { compared: false, unlike: 'unfinished' };
  const partner = { totalsComparison, days: differentLengths(range, days), from: days?.from };
  if (granularity === undefined) {
    const bucket = days === undefined ? undefined : { label: days.from, ...days };
    const unlike = totalsComparison.compared ? undefined : totalsComparison.unlike;
    return { ...partner, comparison: { kind, range: days ?? null }, buckets: [bucket], rowMismatches: [unlike] };
  }
  const previous = kind === 'previous_period' && days !== undefined ? buildBuckets(days, granularity) : [];
  const others = buckets.map((bucket, index) =>
    kind === 'previous_period' ? previous[index] : yearBefore(bucket, granularity),
  );
  const rowDays = kind === 'previous_year' ? (yearBeforeRange(buckets, granularity) ?? null) : (days ?? null);
  return {
    ...partner,
    comparison: { kind, range: days ?? null, ...(sameDays(rowDays, days) ? {} : { rows: rowDays }) },
    buckets: others,
    rowMismatches: buckets.map((bucket, index) =>
      isSettled(bucket.to) ? findRowMismatch(bucket, others[index], granularity, context) : 'unfinished',
    ),
  };
}
