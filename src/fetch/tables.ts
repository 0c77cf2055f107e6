import { DateTime } from 'luxon';
import { type Catalog, isCurrentCount } from '../contract/catalog.ts';
import type { ReportRequest, ReportResponse } from '../contract/report.ts';
import type { Section } from '../define/definition.ts';
import type { Period } from '../define/period.ts';
import type { Replacement, UndefinedTotals } from '../plan/plan.ts';
import type { Filter } from '../words/filter.ts';
import type { Lacking } from '../words/note.ts';
import type { CallAnswer } from './answer-checks/answer.ts';
import { unitMismatches } from './answer-checks/figure-checks.ts';
import { withoutComparisonBeforeData } from './compared-days.ts';
import type { Column, Row, Table, Value } from './dataset.ts';
import { notesOf } from './notes.ts';

export interface ReportTableInput {
  readonly section: Section;
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  readonly catalog: Catalog;
  readonly period: Period;
  /** Epoch ms at which the answer came. */
  readonly at: number;
  /** What `response` was joined from, where no single call gave it. */
  readonly pieces?: readonly CallAnswer[];
  readonly undefinedTotals?: UndefinedTotals;
  readonly replaced?: readonly Replacement[];
}

/**
 * One section's table, read from the answer to its call: the section's own columns in its own order, every value as it
 * came. A column or a cell that is missing is empty and noted.
 */
export function reportTable(input: ReportTableInput): Table {
  const { section, request, response, catalog, period, at } = input;
  const { meta } = response;
  const asked = new Set(section.metrics ?? []);
  const metrics = [...asked].flatMap((id) => catalog.metrics.find((metric) => metric.id === id) ?? []);
  const current = metrics.length > 0 && metrics.every(isCurrentCount);
  const answers = input.pieces ?? [{ request, response, at }];
  // In which of two units its figures are cannot be told: they are shown without one.
  const unitless = new Set(unitMismatches(answers, metrics).map(({ id }) => id));
  const columns = columnsOf(section, response, catalog).map((column) =>
    unitless.has(column.name) ? { ...column, unit: null } : column,
  );
  const names = [...asked];
  const absent = columns.filter(
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
        if (value === undefined && !absent.includes(column)) cells += 1;
        return [column.name, value ?? null];
      }),
    );
    return {
      values,
      ...(row.compare == null ? {} : { compare: comparable.ofRow(pick(row.compare, names), values.bucket) }),
      partial: row.partial === true || (running && section.granularity === undefined),
    };
  });
  const said = section.totals && response.totals != null ? totalsOf(response.totals, names) : undefined;
  const totals = said?.compare === undefined ? said : { ...said, compare: comparable.ofTotals(said.compare) };
  const compareRange = meta.compare_range == null ? null : { from: meta.compare_range.from, to: meta.compare_range.to };
  return {
    id: section.id,
    title: section.title ?? section.id,
    ...(section.description === undefined ? {} : { description: section.description }),
    granularity: section.granularity ?? null,
    current,
    range: current || meta.range == null ? null : { from: meta.range.from, to: meta.range.to },
    compared: asksCompare(request) || compareRange !== null || rows.some(({ compare }) => compare !== undefined),
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
    notes: notesOf({
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
        columns: absent.map(({ name }) => name),
        what: [...absent.map(({ label }): Lacking => ({ of: 'column', label })), ...unanswered(input, totals, names)],
        cells,
      },
      periodEnd: endOf(period.to, period.timezone),
      current,
      running,
    }),
  };
}

/** What was asked for beside the rows and did not come. */
function unanswered(
  { section, request, response }: ReportTableInput,
  totals: Table['totals'],
  names: readonly string[],
): Lacking[] {
  const absentFrom = (figures: Readonly<Record<string, unknown>> | null | undefined) =>
    names.filter((name) => numberOf(figures?.[name]) === undefined);
  const uncompared = asksCompare(request)
    ? new Set(response.rows.flatMap((row) => absentFrom(row.compare)))
    : new Set();
  const lacking = totals === undefined ? [] : absentFrom(totals.values);
  const uncomparedTotals = totals === undefined || !asksCompare(request) ? [] : absentFrom(totals.compare);
  return [
    ...lackingOf(
      'previous',
      names,
      names.filter((name) => uncompared.has(name)),
    ),
    ...(section.totals && totals === undefined ? [{ of: 'totals' } as const] : []),
    ...lacking.map((metric): Lacking => ({ of: 'total', metric })),
    ...lackingOf('previous_totals', names, uncomparedTotals),
  ];
}

/** What is absent as a whole goes by one name, a part of it by the metrics that lack it. */
function lackingOf(of: 'previous' | 'previous_totals', names: readonly string[], absent: readonly string[]): Lacking[] {
  if (absent.length === 0) return [];
  return [{ of, metrics: absent.length === names.length ? [] : absent }];
}

const asksCompare = ({ time }: ReportRequest): boolean => time?.compare !== undefined;

const numberOf = (value: unknown): number | null | undefined =>
  typeof value === 'number' || value === null ? value : undefined;

const scalarOf = (value: unknown): Value | undefined =>
  typeof value === 'string' || typeof value === 'boolean' ? value : numberOf(value);

/** The first instant after a day, in its zone: not always 24 hours after its midnight. */
const endOf = (day: string, zone: string): number =>
  DateTime.fromISO(day, { zone }).plus({ days: 1 }).startOf('day').toMillis();

/**
 * Whether the range was not over when the figures were computed: as any row says, and by the date, because `limit` may
 * have cut the row that would say it.
 */
function isRunning({ request, response, period, at, pieces = [] }: ReportTableInput): boolean {
  const { meta, rows } = response;
  const last = meta.range?.to ?? request.time?.to ?? period.to;
  // Of several calls those count that brought the last day: others may be older, and whole all the same.
  const ends = pieces.filter(({ request: { time } }) => time?.to === last);
  const answers = ends.length > 0 ? ends : [{ response, at }];
  // An answer was not computed after it came, whatever its clock says.
  const computed = Math.min(
    ...answers.map((one) => Math.min(Date.parse(one.response.meta.as_of ?? '') || one.at, one.at)),
  );
  return rows.some(({ partial }) => partial === true) || endOf(last, period.timezone) > computed;
}

/** Without an order the service's rows go by time, then by group. */
function isRanked({ order = [], granularity }: Section): boolean {
  const [first] = order;
  return first !== undefined && !(granularity !== undefined && first.by === 'bucket' && first.dir === 'asc');
}

/** Bucket, dimensions and metrics of the section, with what the answer and the catalog know of each. */
export function columnsOf(section: Section, response: Pick<ReportResponse, 'columns'>, catalog: Catalog): Column[] {
  const said = new Map(response.columns.map((column) => [column.name, column]));
  const time: Column[] =
    section.granularity === undefined
      ? []
      : [{ name: 'bucket', label: said.get('bucket')?.label ?? 'bucket', kind: 'time', type: 'date', unit: null }];
  const dimensions = (section.dimensions ?? []).map((id): Column => {
    const known = catalog.dimensions.find((dimension) => dimension.id === id);
    return {
      name: id,
      label: said.get(id)?.label ?? known?.label ?? id,
      kind: 'dimension',
      type: said.get(id)?.type ?? known?.type ?? 'enum',
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
      label: said.get(id)?.label ?? known?.label ?? id,
      kind: 'metric',
      type: said.get(id)?.type ?? known?.type ?? 'number',
      unit: said.get(id)?.unit ?? known?.unit ?? null,
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

/** The figures of these metrics that are there. */
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

/** Risk is High or Severe: with the catalog's labels. */
export function filtersOf(section: Section, catalog: Catalog): Filter[] {
  return (section.filters ?? []).map(({ dimension: id, op, values }) => {
    const dimension = catalog.dimensions.find((candidate) => candidate.id === id);
    const label = dimension?.label ?? id;
    const labels = values.map((value) => dimension?.values.find((known) => known.value === value)?.label ?? value);
    return op === 'not_in' ? { label, isNot: labels } : { label, is: labels };
  });
}
