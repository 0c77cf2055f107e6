import { type Catalog, getZeroValue, isCurrentCount } from '../../contract/catalog.ts';
import type { ReportRequest, ReportResponse, ReportRow } from '../../contract/report.ts';
import { buildBuckets, endOfDay, previousPeriod } from '../../plan/buckets.ts';
import { requestRange } from '../../plan/requests/partition.ts';
import { buildRank } from '../internal/tables/join-answers.ts';
import { compareRows } from '../internal/tables/row-order.ts';

/** Responses grouped by a dimension. They answer the calls of every single value. */
export interface GroupedResponses {
  /** Grouped by the dimensions of the call and by this dimension. */
  readonly rows: ReportResponse;
  /** Grouped by this dimension alone; absent if the call requests no totals. */
  readonly totals?: ReportResponse;
}

type Figures = Readonly<Record<string, unknown>>;

/**
 * Makes the response that a call with the filter `<by> eq <value>` would have got, from responses for all values. It
 * contains nothing of other values: rows, columns, counts and totals are rebuilt, and fields that Docket does not know
 * are left out.
 *
 * The service omits a group without rows, but a call without dimensions has a row for every bucket: counts are then 0,
 * and ratios and durations undefined (specification §2.8, rules 1 and 2). Nothing is added to a truncated response.
 * @param request for the single value: its `order` and `limit` are applied here, to the rows of that value
 */
export function sliceResponse(
  request: ReportRequest,
  { by, value, catalog }: { readonly by: string; readonly value: string; readonly catalog: Catalog },
  { rows: grouped, totals }: GroupedResponses,
): ReportResponse {
  const { metrics, dimensions = [], time, order = [], limit, include } = request;
  const isOwn = (row: ReportRow): boolean => row[by] === value;
  const own = grouped.rows.filter(isOwn);
  const zeros = emptyFigures(request, catalog);
  const isMissing = own.length === 0 && dimensions.length === 0 && !grouped.meta.truncated;
  const rows = isMissing
    ? emptyRows(request, grouped, catalog)
    : own.map(
        (row): ReportRow => ({
          ...(row.bucket === undefined ? {} : { bucket: row.bucket }),
          ...picked(row, [...dimensions, ...metrics]),
          ...(row.compare === undefined ? {} : { compare: row.compare && picked(row.compare, metrics) }),
          ...(row.partial === undefined ? {} : { partial: row.partial }),
        }),
      );
  const filled =
    isMissing || dimensions.length > 0 || grouped.meta.truncated
      ? rows
      : withEmptyBuckets(rows, request, grouped, catalog);
  const sorted = order.length === 0 ? filled : sortedRows(filled, request, catalog);
  const kept = limit === undefined ? sorted : sorted.slice(0, limit);
  const names = new Set([...(time?.granularity === undefined ? [] : ['bucket']), ...dimensions, ...metrics]);
  const { meta } = grouped;
  const total = totals?.rows.find(isOwn);
  return {
    meta: {
      as_of: meta.as_of,
      cached: meta.cached,
      timezone: meta.timezone,
      ...(meta.range === undefined ? {} : { range: meta.range && { from: meta.range.from, to: meta.range.to } }),
      ...(meta.compare_range == null
        ? {}
        : { compare_range: { from: meta.compare_range.from, to: meta.compare_range.to } }),
      granularity: time?.granularity ?? null,
      row_count: kept.length,
      truncated: meta.truncated || kept.length < sorted.length,
      registry_version: meta.registry_version,
    },
    columns: grouped.columns
      .filter(({ name }) => names.has(name))
      .map(({ name, label, kind, type, unit }) => ({
        name,
        label,
        kind,
        type,
        ...(unit === undefined ? {} : { unit }),
      })),
    rows: kept,
    ...(include === undefined || totals === undefined
      ? {}
      : { totals: total === undefined ? (totals.meta.truncated ? null : zeros(0)) : toTotals(total, metrics) }),
  };
}

const picked = (values: Figures, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])));

const toTotals = (row: ReportRow, metrics: readonly string[]): NonNullable<ReportResponse['totals']> => ({
  ...picked(row, metrics),
  ...(row.compare == null ? {} : { compare: picked(row.compare, metrics) }),
});

/** The figures of the n-th bucket if nothing happened in it, with the figures that it is compared with. */
function emptyFigures(
  { metrics, time }: ReportRequest,
  catalog: Catalog,
): (nth: number) => NonNullable<ReportResponse['totals']> {
  const range = time?.from === undefined || time.to === undefined ? undefined : { from: time.from, to: time.to };
  const compared =
    time?.compare === undefined || range === undefined
      ? undefined
      : buildBuckets(previousPeriod(range), time.granularity).length;
  const present = (ids: readonly string[], figure: (id: string) => number | null | undefined) =>
    Object.fromEntries(ids.flatMap((id) => (figure(id) === undefined ? [] : [[id, figure(id)]])));
  const current = new Set(catalog.metrics.filter(isCurrentCount).map(({ id }) => id));
  return (nth) => ({
    ...present(metrics, (id) => getZeroValue(id, catalog)),
    ...(compared === undefined
      ? {}
      : {
          compare: present(metrics, (id) => (nth >= compared || current.has(id) ? null : getZeroValue(id, catalog))),
        }),
  });
}

/**
 * Whether a bucket that ends on `to` is running: as the response says for another value, otherwise by the time when it
 * was computed.
 */
function partialIn({ meta, rows }: ReportResponse, timezone: string | undefined) {
  const said = new Map(rows.map((row) => [row.bucket ?? null, row.partial]));
  const asOf = Date.parse(meta.as_of ?? '') || 0;
  return (bucket: string | null, to: string | undefined): boolean =>
    said.get(bucket) ?? (to !== undefined && endOfDay(to, timezone) > asOf);
}

/** The rows of a value that has none in the response: one for every bucket. */
function emptyRows(request: ReportRequest, grouped: ReportResponse, catalog: Catalog): ReportRow[] {
  const zeros = emptyFigures(request, catalog);
  const range = requestRange(request);
  const { granularity, timezone } = request.time ?? {};
  const partialOf = partialIn(grouped, timezone);
  if (range === undefined || granularity === undefined) return [{ ...zeros(0), partial: partialOf(null, range?.to) }];
  return buildBuckets(range, granularity).map(({ label, to }, nth) => ({
    bucket: label,
    ...zeros(nth),
    partial: partialOf(label, to),
  }));
}

/**
 * Adds a row for each missing bucket: a service may leave out a value in a bucket where it has nothing. What such a
 * bucket is compared with is then unknown.
 */
function withEmptyBuckets(
  own: ReportRow[],
  request: ReportRequest,
  grouped: ReportResponse,
  catalog: Catalog,
): ReportRow[] {
  const range = requestRange(request);
  const { granularity, timezone } = request.time ?? {};
  if (range === undefined || granularity === undefined) return own;
  const known = new Map(own.map((row) => [row.bucket, row]));
  const { compare, ...zeros } = emptyFigures(request, catalog)(0);
  const unknown = compare && { compare: Object.fromEntries(Object.keys(compare).map((id) => [id, null])) };
  const partialOf = partialIn(grouped, timezone);
  return buildBuckets(range, granularity).map(
    ({ label, to }) => known.get(label) ?? { bucket: label, ...zeros, ...unknown, partial: partialOf(label, to) },
  );
}

/** Sorts the rows as the service would. Ties keep the order of the grouped response. */
function sortedRows(
  rows: readonly ReportRow[],
  { dimensions = [], order = [] }: ReportRequest,
  catalog: Catalog,
): ReportRow[] {
  const ranks = new Map(
    dimensions.map((id) => [
      id,
      buildRank(
        id,
        rows.map((row) => row[id]),
        catalog,
      ),
    ]),
  );
  const buckets = [...new Set(rows.map(({ bucket }) => bucket ?? ''))].sort();
  const places = new Map(buckets.map((bucket, index) => [bucket, index]));
  return rows
    .map((row, rank) => ({ row, rank, bucket: places.get(row.bucket ?? '') ?? 0 }))
    .sort(compareRows(order, ranks))
    .map(({ row }) => row);
}
