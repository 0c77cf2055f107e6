import type { MetricBase } from '../../../contract/bases.ts';
import { type Catalog, isCurrentCount, type Metric } from '../../../contract/catalog.ts';
import type { ReportRequest, ReportResponse, ReportRow } from '../../../contract/report.ts';
import type { FiscalCalendar } from '../../../definitions/periods/fiscal-calendar.ts';
import type { Period } from '../../../definitions/periods/period.ts';
import type { ComparisonKind, ToDate } from '../../../definitions/schema/comparison.ts';
import type { Section } from '../../../definitions/schema/report-definition.ts';
import type { MissingData } from '../../../i18n/note.ts';
import { buildBuckets, endOfDay } from '../../../plan/buckets.ts';
import type { Replacement, UndefinedTotals } from '../../../plan/plan.ts';
import { checkAnswers } from '../../answer-checks/check-answers.ts';
import type { CallAnswer } from '../../answer-checks/checked-answer.ts';
import { unitMismatches } from '../../answer-checks/figure-checks.ts';
import { withRunningRows } from '../../answer-checks/running-check.ts';
import { toNumber } from '../../answer-checks/value-types.ts';
import type { Comparisons, MetricValues, Row, Table, Value } from '../../dataset.ts';
import { type CaseReader, caseReader } from './cases.ts';
import { buildColumns, describeFilters } from './columns/table-columns.ts';
import { collectComparisons, findCoveredRange, tableComparer } from './comparisons/compare-figures.ts';
import {
  type PartnerAnswer,
  partnerRange,
  partnerRows,
  partnerTotals,
  pickMetrics,
} from './comparisons/partner-answers.ts';
import { withoutValuesOfNoData } from './data-start.ts';
import { sectionFields } from './section-fields.ts';
import { collectTableNotes } from './table-notes.ts';
import { answeredTrend } from './table-trend.ts';
import { withWrongFigures } from './wrong-figures.ts';

export interface ReportTableInput {
  readonly section: Section;
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  readonly catalog: Catalog;
  /** The catalog with the service's own names; absent if the report has no `labels`. */
  readonly published?: Catalog;
  readonly period: Period;
  /** Epoch ms at which the response was received. */
  readonly at: number;
  /** The calls with their responses as received. Absent: `response` is that of `request`. */
  readonly parts?: readonly CallAnswer[];
  readonly undefinedTotals?: UndefinedTotals;
  readonly replaced?: readonly Replacement[];
  readonly comparisons: readonly ComparisonKind[];
  /** Figures of other days that the table is compared with. */
  readonly partners?: readonly PartnerAnswer[];
  readonly toDate?: ToDate | undefined;
  readonly calendar?: FiscalCalendar | undefined;
  /** The bases of the section's ratios and durations. */
  readonly bases?: readonly MetricBase[];
}

/**
 * Builds the table of a section from the response to its call: the section's columns in its order, with unchanged
 * values. Missing columns and cells are empty and noted.
 */
export function reportTable(given: ReportTableInput): Table {
  const answers = given.parts ?? [given];
  const input = given.parts === undefined ? { ...given, response: withRunningRows(given) } : given;
  const { section, request, response, catalog, published = catalog, period, partners = [], calendar } = input;
  const { meta } = response;
  const requestedIds = new Set(section.metrics ?? []);
  const metrics = [...requestedIds].flatMap((id) => catalog.metrics.find((metric) => metric.id === id) ?? []);
  const current = metrics.length > 0 && metrics.every(isCurrentCount);
  // If responses have different units for a metric, nobody knows which is right: the values are shown without a unit.
  const allAnswers = [...answers, ...partners.flatMap((partner) => partner.answers)];
  const unitless = new Set(unitMismatches(allAnswers, metrics).map(({ id }) => id));
  const columns = buildColumns(section, response, catalog).map((column) =>
    unitless.has(column.name) ? { ...column, unit: null } : column,
  );
  const names = [...requestedIds];
  const missingColumns = columns.filter(
    ({ name }) =>
      !response.columns.some((column) => column.name === name) && !response.rows.some((row) => row[name] !== undefined),
  );
  const computed = computedAt(input);
  const running = !current && isRunning(input, computed);
  const context = { timezone: period.timezone, asOf: computed, ...(calendar === undefined ? {} : { calendar }) };
  const { metrics: read, split, splitTrend } = caseReader(metrics, input.bases ?? [], catalog);
  const compareInput = { request, response, partners, catalog, metrics: read, context, running };
  const comparers = current ? [] : input.comparisons.map((kind) => tableComparer(kind, compareInput));
  const toDate = toDateFigures(input.toDate, partners, read, catalog);
  const trend = answeredTrend(partners, read, catalog, context);
  const withData = dataFilter(input, read);
  const readIds = read.map(({ id }) => id);
  /** The compared figures of a row or of the totals. */
  const sides = (
    values: Readonly<Record<string, unknown>>,
    bucket: string | null | undefined,
    compare: Comparisons | undefined,
    to: MetricValues | undefined,
  ): Pick<Row, 'cases' | 'compare' | 'toDate' | 'toDateCases'> => {
    const { cases } = split(withData(pickMetrics(values, readIds), bucket));
    const { values: own, cases: toDateCases } = to === undefined ? {} : split(to);
    return {
      ...(compare === undefined ? {} : { compare: splitComparisons(compare, split) }),
      ...(own === undefined ? {} : { toDate: own }),
      ...(cases === undefined ? {} : { cases }),
      ...(toDateCases === undefined ? {} : { toDateCases }),
    };
  };
  let cells = 0;
  const rows = response.rows.map((row): Row => {
    const values = Object.fromEntries(
      columns.map((column) => {
        const value = toScalar(row[column.name]);
        if (value === undefined && !missingColumns.includes(column)) cells += 1;
        return [column.name, value ?? null];
      }),
    );
    const compare = collectComparisons(comparers, ({ ofRow }) => ofRow(row));
    return {
      values: withData(values, row.bucket),
      ...sides(row, row.bucket, compare, toDate?.ofRow(row)),
      partial: row.partial === true,
    };
  });
  const totals =
    section.totals && response.totals != null
      ? {
          values: withData(pickMetrics(response.totals, names), undefined),
          ...sides(
            response.totals,
            undefined,
            collectComparisons(comparers, ({ ofTotals }) => ofTotals()),
            toDate?.ofTotals(),
          ),
        }
      : undefined;
  const undefinedTotals = input.undefinedTotals?.metrics;
  const expected = { catalog, published, metrics, request, response, running, undefinedTotals };
  const findings = checkAnswers(answers, expected);
  const table: Table = {
    ...sectionFields(section, period),
    current,
    range: current || meta.range == null ? null : { from: meta.range.from, to: meta.range.to },
    comparisons: comparers.map(({ comparison }) => comparison),
    ...(toDate === undefined ? {} : { toDate: toDate.toDate }),
    asOf: meta.as_of,
    running,
    columns,
    rows,
    ...(totals === undefined ? {} : { totals }),
    ...(trend === undefined ? {} : { trend: splitTrend(trend) }),
    filters: describeFilters(section, catalog),
    notes: collectTableNotes({
      section,
      request,
      response,
      answers,
      partners,
      undefinedTotals: input.undefinedTotals,
      replaced: input.replaced ?? [],
      catalog,
      published,
      findings: findings.notes,
      period,
      metrics,
      columns,
      rows,
      comparers,
      toDate: toDate?.toDate,
      hasTotals: totals !== undefined,
      missing: {
        columns: missingColumns.map(({ name }) => name),
        what: [
          ...missingColumns.map(({ label }): MissingData => ({ of: 'column', label })),
          ...missingData(input, totals, names),
        ],
        cells,
      },
      periodEnd: endOfDay(period.to, period.timezone),
      computed,
      current,
      running,
    }),
  };
  // If the response for other days has another unit, nobody knows either which is right.
  const wrong = [...findings.wrong, ...[...unitless].map((metric) => ({ metric, at: 'column' as const }))];
  return withWrongFigures(table, wrong, catalog);
}

/** Replaces figures for days before a metric's first day with data by null. */
type DataFilter = <Values extends Readonly<Record<string, Value>>>(
  values: Values,
  bucket: string | null | undefined,
) => Values | (Values & Record<string, null>);

/** Filters by bucket, or by the whole range without buckets. Current counts have no days. */
function dataFilter(input: ReportTableInput, metrics: readonly Metric[]): DataFilter {
  const range = findCoveredRange(input);
  if (range === undefined) return (values) => values;
  const granularity = input.request.time?.granularity;
  const buckets = new Map(buildBuckets(range, granularity).map((bucket) => [bucket.label, bucket]));
  return (values, bucket) => withoutValuesOfNoData(values, buckets.get(bucket ?? '') ?? range, metrics);
}

const toScalar = (value: unknown): Value | undefined =>
  typeof value === 'string' || typeof value === 'boolean' ? value : toNumber(value);

/** When the last day was computed (epoch ms): never after it was received, whatever the service's clock says. */
function computedAt({ request, response, period, at, parts = [] }: ReportTableInput): number {
  const last = response.meta.range?.to ?? request.time?.to ?? period.to;
  // Only calls with the last day count: other calls may be older and still complete.
  const lastParts = parts.filter(({ request: { time } }) => time?.to === last);
  const answers = lastParts.length > 0 ? lastParts : [{ response, at }];
  return Math.min(
    ...answers.map((answer) => Math.min(Date.parse(answer.response.meta.as_of ?? '') || answer.at, answer.at)),
  );
}

/**
 * Whether the range had not ended when the values were computed. `limit` may have removed the rows that are partial.
 */
function isRunning({ request, response: { meta, rows }, period }: ReportTableInput, computed: number): boolean {
  const last = meta.range?.to ?? request.time?.to ?? period.to;
  return rows.some(({ partial }) => partial === true) || endOfDay(last, period.timezone) > computed;
}

const splitComparisons = (compare: Comparisons, split: CaseReader['split']): Comparisons =>
  Object.fromEntries(
    Object.entries(compare).map(([kind, figures]) => [kind, { ...figures, ...split(figures.values) }]),
  );

/** The figures of a table since the start of a year or quarter. */
interface ToDateFigures {
  readonly toDate: NonNullable<Table['toDate']>;
  /** Undefined for rows with a bucket. */
  readonly ofRow: (row: ReportRow) => MetricValues | undefined;
  readonly ofTotals: () => MetricValues | undefined;
}

/** Undefined if the section shows no such figures. */
function toDateFigures(
  unit: ToDate | undefined,
  partners: readonly PartnerAnswer[],
  metrics: readonly Metric[],
  catalog: Catalog,
): ToDateFigures | undefined {
  const planned = partners.filter(({ kind }) => kind === 'to_date');
  const [first] = planned;
  if (unit === undefined || first === undefined) return undefined;
  const { range } = first;
  // If the service answers for other days, its figures are not figures to date.
  const found = planned.filter((partner) => {
    const { from, to } = partnerRange(partner);
    return from === range.from && to === range.to;
  });
  const names = metrics.map(({ id }) => id);
  const ofRows = found.find(({ of }) => of === 'rows');
  const ofTotals = found.find(({ of }) => of === 'totals');
  const lookUp = ofRows === undefined ? undefined : partnerRows(ofRows, catalog);
  // A single row is the total.
  const isSingle = planned.every(({ of }) => of === 'totals');
  const totals = ofTotals === undefined ? undefined : partnerTotals(ofTotals);
  const totalFigures = () =>
    ofTotals === undefined ? undefined : withoutValuesOfNoData(pickMetrics(totals, names), range, metrics);
  return {
    toDate: { unit, range },
    ofRow: (row) => {
      if (row.bucket != null) return undefined;
      if (isSingle) return totalFigures();
      return lookUp && withoutValuesOfNoData(lookUp(row, undefined, names), range, metrics);
    },
    ofTotals: totalFigures,
  };
}

const requestsCompare = ({ time }: ReportRequest): boolean => time?.compare !== undefined;

const absentFrom = (values: Readonly<Record<string, unknown>> | null | undefined, names: readonly string[]) =>
  names.filter((name) => toNumber(values?.[name]) === undefined);

interface AnsweredSection {
  readonly section: Section;
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  readonly partners?: readonly PartnerAnswer[];
}

/** Finds requested data, other than rows, that the responses lack. */
function missingData(
  { section, request, response, partners = [] }: AnsweredSection,
  totals: Table['totals'],
  names: readonly string[],
): MissingData[] {
  const compares = requestsCompare(request);
  const uncompared = compares ? new Set(response.rows.flatMap((row) => absentFrom(row.compare, names))) : new Set();
  const missingTotals = totals === undefined ? [] : absentFrom(totals.values, names);
  const uncomparedTotals = totals === undefined || !compares ? [] : absentFrom(response.totals?.compare, names);
  return [
    ...missingMetrics(
      'previous',
      names,
      names.filter((name) => uncompared.has(name)),
    ),
    ...(section.totals && totals === undefined ? [{ of: 'totals' } as const] : []),
    ...missingTotals.map((metric): MissingData => ({ of: 'total', metric })),
    ...missingMetrics('previous_totals', names, uncomparedTotals),
    ...partners.flatMap((partner) => missingOfPartner(partner, names)),
  ];
}

function missingOfPartner(partner: PartnerAnswer, names: readonly string[]): MissingData[] {
  const { kind, of, request, response } = partner;
  const requested = names.filter((name) => request.metrics.includes(name));
  if (of === 'totals') {
    const what = kind === 'to_date' ? 'to_date' : 'year_before_totals';
    return missingMetrics(what, requested, absentFrom(partnerTotals(partner), requested));
  }
  const absent = new Set(response.rows.flatMap((row) => absentFrom(row, requested)));
  return missingMetrics(
    kind === 'previous_year' ? 'year_before' : kind,
    requested,
    requested.filter((name) => absent.has(name)),
  );
}

/** Finds the missing metrics; none if all of them are missing. */
function missingMetrics(
  of: Extract<MissingData, { readonly metrics: readonly string[] }>['of'],
  names: readonly string[],
  missing: readonly string[],
): MissingData[] {
  if (missing.length === 0) return [];
  return [{ of, metrics: missing.length === names.length ? [] : missing }];
}
