import { type Catalog, isCurrentCount } from '../../contract/catalog.ts';
import type { ReportRequest, ReportResponse } from '../../contract/report.ts';
import type { Period } from '../../definitions/periods/period.ts';
import type { Section } from '../../definitions/schema/report-definition.ts';
import type { FilterDescription, MissingData } from '../../i18n/note.ts';
import { endOfDay } from '../../plan/buckets.ts';
import type { Replacement, UndefinedTotals } from '../../plan/plan.ts';
import type { CallAnswer } from '../answer-checks/checked-answer.ts';
import { unitMismatches } from '../answer-checks/figure-checks.ts';
import { numberOf } from '../answer-checks/value-types.ts';
import type { Column, Row, Table, Value } from '../dataset.ts';
import { withoutComparisonBeforeData } from './comparison-range.ts';
import { collectTableNotes } from './table-notes.ts';

export interface ReportTableInput {
  readonly section: Section;
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  readonly catalog: Catalog;
  readonly period: Period;
  /** Epoch ms at which the response was received. */
  readonly at: number;
  /** The calls that `response` was joined from, if several. */
  readonly parts?: readonly CallAnswer[];
  readonly undefinedTotals?: UndefinedTotals;
  readonly replaced?: readonly Replacement[];
}

/**
 * The table of a section from the response to its call: the section's columns in its order, with unchanged values. Missing
 * columns and cells are empty and noted.
 */
export function reportTable(input: ReportTableInput): Table {
  const { section, request, response, catalog, period, at } = input;
  const { meta } = response;
  const requestedIds = new Set(section.metrics ?? []);
  const metrics = [...requestedIds].flatMap((id) => catalog.metrics.find((metric) => metric.id === id) ?? []);
  const current = metrics.length > 0 && metrics.every(isCurrentCount);
  const answers = input.parts ?? [{ request, response, at }];
  // Of two possible units the right answer is unknown: the values are shown without answer.
  const unitless = new Set(unitMismatches(answers, metrics).map(({ id }) => id));
  const columns = columnsOf(section, response, catalog).map((column) =>
    unitless.has(column.name) ? { ...column, unit: null } : column,
  );
  const names = [...requestedIds];
  const missingColumns = columns.filter(
    ({ name }) =>
      !response.columns.some((column) => column.name === name) && !response.rows.some((row) => row[name] !== undefined),
  );
  const running = !current && isRunning(input);
  const comparable = withoutComparisonBeforeData(input, metrics);
  let cells = 0;
  const rows = response.rows.map((row): Row => {
    const values = Object.fromEntries(
      columns.map((column) => {
        const value = scalarOf(row[column.name]);
        if (value === undefined && !missingColumns.includes(column)) cells += 1;
        return [column.name, value ?? null];
      }),
    );
    return {
      values,
      ...(row.compare == null ? {} : { compare: comparable.ofRow(pick(row.compare, names), values.bucket) }),
      partial: row.partial === true || (running && section.granularity === undefined),
    };
  });
  const described = section.totals && response.totals != null ? totalsOf(response.totals, names) : undefined;
  const totals =
    described?.compare === undefined ? described : { ...described, compare: comparable.ofTotals(described.compare) };
  const compareRange = meta.compare_range == null ? null : { from: meta.compare_range.from, to: meta.compare_range.to };
  return {
    id: section.id,
    title: section.title ?? section.id,
    ...(section.description === undefined ? {} : { description: section.description }),
    granularity: section.granularity ?? null,
    current,
    range: current || meta.range == null ? null : { from: meta.range.from, to: meta.range.to },
    compared: requestsCompare(request) || compareRange !== null || rows.some(({ compare }) => compare !== undefined),
    compareRange,
    asOf: meta.as_of,
    running,
    columns,
    rows,
    ...(totals === undefined ? {} : { totals }),
    ...(section.chart === undefined ? {} : { chart: section.chart }),
    ...(section.order?.some(({ by }) => by !== 'bucket') ? { ordered: true } : {}),
    ...(isRanked(section) ? { ranked: true } : {}),
    filters: filtersOf(section, catalog),
    notes: collectTableNotes({
      section,
      request,
      response,
      answers,
      undefinedTotals: input.undefinedTotals,
      replaced: input.replaced ?? [],
      catalog,
      period,
      metrics,
      columns,
      rows,
      missing: {
        columns: missingColumns.map(({ name }) => name),
        what: [
          ...missingColumns.map(({ label }): MissingData => ({ of: 'column', label })),
          ...missingData(input, totals, names),
        ],
        cells,
      },
      periodEnd: endOfDay(period.to, period.timezone),
      current,
      running,
    }),
  };
}

/** Requested data other than rows that the response lacks. */
function missingData(
  { section, request, response }: ReportTableInput,
  totals: Table['totals'],
  names: readonly string[],
): MissingData[] {
  const absentFrom = (values: Readonly<Record<string, unknown>> | null | undefined) =>
    names.filter((name) => numberOf(values?.[name]) === undefined);
  const uncompared = requestsCompare(request)
    ? new Set(response.rows.flatMap((row) => absentFrom(row.compare)))
    : new Set();
  const missingTotals = totals === undefined ? [] : absentFrom(totals.values);
  const uncomparedTotals = totals === undefined || !requestsCompare(request) ? [] : absentFrom(totals.compare);
  return [
    ...missingMetrics(
      'previous',
      names,
      names.filter((name) => uncompared.has(name)),
    ),
    ...(section.totals && totals === undefined ? [{ of: 'totals' } as const] : []),
    ...missingTotals.map((metric): MissingData => ({ of: 'total', metric })),
    ...missingMetrics('previous_totals', names, uncomparedTotals),
  ];
}

/** Without metrics if all of them lack it. */
function missingMetrics(
  of: 'previous' | 'previous_totals',
  names: readonly string[],
  missingColumns: readonly string[],
): MissingData[] {
  if (missingColumns.length === 0) return [];
  return [{ of, metrics: missingColumns.length === names.length ? [] : missingColumns }];
}

const requestsCompare = ({ time }: ReportRequest): boolean => time?.compare !== undefined;

const scalarOf = (value: unknown): Value | undefined =>
  typeof value === 'string' || typeof value === 'boolean' ? value : numberOf(value);

/**
 * Whether the range had not ended when the values were computed: by any partial row, and by date, because `limit` may
 * have removed that row.
 */
function isRunning({ request, response, period, at, parts = [] }: ReportTableInput): boolean {
  const { meta, rows } = response;
  const last = meta.range?.to ?? request.time?.to ?? period.to;
  // Of several calls only those with the last day count: others may be older and complete.
  const lastParts = parts.filter(({ request: { time } }) => time?.to === last);
  const answers = lastParts.length > 0 ? lastParts : [{ response, at }];
  // A response is not computed after it was received, whatever the service's clock says.
  const computed = Math.min(
    ...answers.map((answer) => Math.min(Date.parse(answer.response.meta.as_of ?? '') || answer.at, answer.at)),
  );
  return rows.some(({ partial }) => partial === true) || endOfDay(last, period.timezone) > computed;
}

/** Without an order the service sorts rows by time, then by group. */
function isRanked({ order = [], granularity }: Section): boolean {
  const [first] = order;
  return first !== undefined && !(granularity !== undefined && first.by === 'bucket' && first.dir === 'asc');
}

/** Bucket, dimensions and metrics of the section, described by the response and the catalog. */
export function columnsOf(section: Section, response: Pick<ReportResponse, 'columns'>, catalog: Catalog): Column[] {
  const described = new Map(response.columns.map((column) => [column.name, column]));
  const time: Column[] =
    section.granularity === undefined
      ? []
      : [{ name: 'bucket', label: described.get('bucket')?.label ?? 'bucket', kind: 'time', type: 'date', unit: null }];
  const dimensions = (section.dimensions ?? []).map((id): Column => {
    const known = catalog.dimensions.find((dimension) => dimension.id === id);
    return {
      name: id,
      label: described.get(id)?.label ?? known?.label ?? id,
      kind: 'dimension',
      type: described.get(id)?.type ?? known?.type ?? 'enum',
      unit: null,
      ...(known === undefined
        ? {}
        : {
            ...(known.description === '' ? {} : { description: known.description }),
            values: known.values.map(({ value, label }) => ({ value, label })),
          }),
    };
  });
  const metrics = [...new Set(section.metrics ?? [])].map((id): Column => {
    const known = catalog.metrics.find((metric) => metric.id === id);
    return {
      name: id,
      label: described.get(id)?.label ?? known?.label ?? id,
      kind: 'metric',
      type: described.get(id)?.type ?? known?.type ?? 'number',
      unit: described.get(id)?.unit ?? known?.unit ?? null,
      ...(known === undefined
        ? {}
        : {
            ...(known.description === '' ? {} : { description: known.description }),
            ...(known.aggregation === '' ? {} : { aggregation: known.aggregation }),
            counts: known.time_field,
            ...(known.data_available?.from == null ? {} : { availableFrom: known.data_available.from }),
            ...(known.deprecated_at == null ? {} : { replacedBy: known.replaced_by ?? null }),
          }),
    };
  });
  return [...time, ...dimensions, ...metrics];
}

/** The present values of these metrics. */
function pick(values: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, number | null> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = numberOf(values[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function totalsOf(
  { compare, ...totals }: NonNullable<ReportResponse['totals']>,
  names: readonly string[],
): NonNullable<Table['totals']> {
  return { values: pick(totals, names), ...(compare == null ? {} : { compare: pick(compare, names) }) };
}

/** The filters with the catalog's labels: Risk is High or Severe. */
export function filtersOf(section: Section, catalog: Catalog): FilterDescription[] {
  return (section.filters ?? []).map(({ dimension: id, op, values }) => {
    const dimension = catalog.dimensions.find((candidate) => candidate.id === id);
    const label = dimension?.label ?? id;
    const labels = values.map((value) => dimension?.values.find((known) => known.value === value)?.label ?? value);
    return op === 'not_in' ? { label, isNot: labels } : { label, is: labels };
  });
}
