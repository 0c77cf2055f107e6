import { type Catalog, getZeroValue } from '../../../contract/catalog.ts';
import { type ReportResponse, type ReportRow, reportResponseSchema } from '../../../contract/report.ts';
import { endOfDay } from '../../../plan/buckets.ts';
import type { Join, JoinPart } from '../../../plan/plan.ts';
import { toNumber } from '../../answer-checks/value-types.ts';
import { joinTotals } from './join-totals.ts';
import { compareRows } from './row-order.ts';

/** The response to one of the calls. */
interface PartAnswer {
  readonly response: ReportResponse;
}

type Cell = ReturnType<typeof toNumber>;

/** A part with its rows indexed by bucket of the whole range, then by group. */
interface IndexedPart {
  readonly part: JoinPart;
  readonly response: ReportResponse;
  readonly rows: ReadonlyMap<string, ReportRow>;
  /** By name. */
  readonly groups: ReadonlyMap<string, Group>;
}

/**
 * A group: its values by dimension, and the name under which its rows are indexed. "No value" (null) counts as a value.
 * Undefined means that the response omits it.
 */
interface Group {
  readonly name: string;
  readonly values: readonly unknown[];
}

const cellKey = (bucket: number, group: string): string => `${bucket} ${group}`;

/**
 * Joins the responses to the parts of a table into the response that a single call would have given (specification
 * §2.8) if it were within the limits.
 *
 * The result has every bucket of the range with every group of any part. If a part lacks a group, nothing happened in
 * that group: counts are 0, rates and medians undefined (rule 2). Values that a part should have but lacks stay absent
 * and are noted as missing. The n-th bucket of the previous period is compared with the n-th of the range. Ties in the
 * order are broken by bucket, then by the dimensions, as without an order.
 */
export function joinAnswers(join: Join, answers: ReadonlyMap<string, PartAnswer>, catalog: Catalog): ReportResponse {
  const { request, buckets, previous } = join;
  const { metrics, dimensions = [], time } = request;
  const parts = join.parts.map((part) => indexPart(part, responseTo(part, answers), join));
  const { groups, ranks } = collectGroups(parts, dimensions, catalog);
  const asOf = Math.min(...parts.map(({ response }) => parseAsOf(response.meta)));
  const covering = (period: JoinPart['period'], bucket: number, metric: string) =>
    parts.filter(
      ({ part }) =>
        part.period === period &&
        part.metrics.includes(metric) &&
        bucket >= part.first &&
        bucket < part.first + part.buckets,
    );
  const zeros = new Map(metrics.map((id) => [id, getZeroValue(id, catalog)]));

  const cells = buckets.flatMap((bucket, index) => {
    const current = new Map(metrics.map((id) => [id, covering('this', index, id)]));
    const previousParts = new Map(metrics.map((id) => [id, covering('previous', index, id)]));
    const matched = index < (previous?.buckets.length ?? 0);
    const known = [...new Set([...current.values()].flat())];
    const truncated = known.some(({ response }) => response.meta.truncated);
    const partial = isRunning(index, known, bucket.to !== '' && endOfDay(bucket.to, time?.timezone) > asOf);
    return groups.flatMap((group, rank) => {
      const key = cellKey(index, group.name);
      const cellValue = (id: string, sources: readonly IndexedPart[], pick: (row: ReportRow) => Cell): Cell =>
        sumCells(key, group.name, sources, { pick, sums: join.sums, zero: zeros.get(id) });
      const values = metrics.map(
        (id) => [id, cellValue(id, current.get(id) ?? [], (row) => toNumber(row[id]))] as const,
      );
      // A truncated response may have had the row.
      if (truncated && values.every(([, value]) => value === undefined)) return [];
      const compared = metrics.map((id) => {
        const separate = previousParts.get(id) ?? [];
        const value = !matched
          ? null
          : separate.length > 0
            ? cellValue(id, separate, (row) => toNumber(row[id]))
            : cellValue(id, current.get(id) ?? [], (row) => toNumber(row.compare?.[id]));
        return [id, value] as const;
      });
      const row = {
        ...(time?.granularity === undefined ? {} : { bucket: bucket.label }),
        ...Object.fromEntries(
          dimensions.flatMap((id, nth) => (group.values[nth] === undefined ? [] : [[id, group.values[nth]]])),
        ),
        ...present(values),
        ...(previous === undefined ? {} : { compare: present(compared) }),
        partial,
      };
      return [{ row, bucket: index, rank }];
    });
  });

  const { order = [], limit } = request;
  const sorted = order.length === 0 ? cells : cells.sort(compareRows(order, ranks));
  const kept = sorted.slice(0, limit);
  const totals = joinTotals(join, answers);
  return reportResponseSchema.parse({
    meta: mergeMeta(join, parts, kept.length, kept.length < sorted.length),
    columns: mergeColumns(parts),
    rows: kept.map(({ row }) => row),
    ...(totals === undefined ? {} : { totals }),
  });
}

function responseTo({ call }: JoinPart, answers: ReadonlyMap<string, PartAnswer>): ReportResponse {
  const answer = answers.get(call);
  if (answer === undefined) throw new Error(`no response to the call ${call}`);
  return answer.response;
}

function toGroup(values: readonly unknown[]): Group {
  // JSON has no `undefined`, which must differ from null ("no value").
  return { name: JSON.stringify(values.map((value) => (value === undefined ? false : value))), values };
}

function indexPart(part: JoinPart, response: ReportResponse, { request, buckets, previous }: Join): IndexedPart {
  const dimensions = request.dimensions ?? [];
  const labels = (part.period === 'this' ? buckets : (previous?.buckets ?? [])).map(({ label }) => label);
  const places = new Map(labels.map((label, index) => [label, index]));
  const rows = new Map<string, ReportRow>();
  // Without dimensions there is one group, even without rows.
  const groups = new Map((dimensions.length === 0 ? [toGroup([])] : []).map((group) => [group.name, group]));
  if (part.metrics.length === 0) return { part, response, rows, groups };
  for (const row of response.rows) {
    const group = toGroup(dimensions.map((id) => row[id]));
    groups.set(group.name, group);
    const bucket = request.time?.granularity === undefined ? part.first : places.get(row.bucket ?? '');
    if (bucket !== undefined) rows.set(cellKey(bucket, group.name), row);
  }
  return { part, response, rows, groups };
}

/**
 * Whether a bucket is running: it is if any of its rows is partial.
 * @param byDate whether its last day has not ended; used for a part without a row in the bucket
 */
function isRunning(bucket: number, sources: readonly IndexedPart[], byDate: boolean): boolean {
  return sources.some(({ rows, groups }) => {
    const flags = [...groups.keys()].flatMap((name) => rows.get(cellKey(bucket, name))?.partial ?? []);
    return flags.length === 0 ? byDate : flags.includes(true);
  });
}

type Rank = (value: unknown) => number;

/** Ranks the values of a dimension: first those in the catalog, in its order, then others by name, "no value" last. */
export function buildRank(id: string, found: readonly unknown[], { dimensions }: Catalog): Rank {
  const listed = dimensions.find((dimension) => dimension.id === id)?.values.map(({ value }) => value) ?? [];
  const others = new Set(found.filter((value) => typeof value === 'string'));
  for (const value of listed) others.delete(value);
  const ranks = new Map<unknown, number>([...listed, ...[...others].sort()].map((value, index) => [value, index]));
  return (value) => ranks.get(value) ?? ranks.size;
}

/** All groups, sorted by each dimension in turn, and the ranks of each dimension's values. */
function collectGroups(
  parts: readonly IndexedPart[],
  dimensions: readonly string[],
  catalog: Catalog,
): { readonly groups: readonly Group[]; readonly ranks: ReadonlyMap<string, Rank> } {
  const found = new Map(
    parts.filter(({ part }) => part.metrics.length > 0).flatMap(({ groups }) => [...groups.entries()]),
  );
  const collectValues = (nth: number) => [...found.values()].map(({ values }) => values[nth]);
  const ranks = dimensions.map((id, nth) => [id, buildRank(id, collectValues(nth), catalog)] as const);
  const groups = [...found.values()].sort((a, b) => {
    for (const [nth, [, rank]] of ranks.entries()) {
      const by = rank(a.values[nth]) - rank(b.values[nth]);
      if (by !== 0) return by;
    }
    return a.name < b.name ? -1 : 1;
  });
  return { groups, ranks: new Map(ranks) };
}

/**
 * The value of a cell: from the only part that has it, or the sum over additive parts. Undefined if one of them lacks
 * it.
 */
function sumCells(
  key: string,
  group: string,
  sources: readonly IndexedPart[],
  options: { readonly pick: (row: ReportRow) => Cell; readonly sums: boolean; readonly zero: Cell },
): Cell {
  const found: (number | null)[] = [];
  let isMissing = false;
  for (const { rows, groups, response } of sources) {
    const row = rows.get(key);
    const value = row === undefined ? undefined : options.pick(row);
    if (value !== undefined) found.push(value);
    else if (row !== undefined || groups.has(group) || response.meta.truncated) isMissing = true;
  }
  if (isMissing && (options.sums || found.length === 0)) return undefined;
  const [first, ...more] = found;
  if (first === undefined) return options.zero;
  return more.reduce((sum, value) => (sum === null || value === null ? null : sum + value), first);
}

const present = (values: readonly (readonly [string, Cell])[]): Record<string, number | null> =>
  Object.fromEntries(values.flatMap(([id, value]) => (value === undefined ? [] : [[id, value]])));

/** When a response was computed. Without `as_of` it counts as the oldest. */
const parseAsOf = ({ as_of }: { readonly as_of: string | null }): number => Date.parse(as_of ?? '') || 0;

/** Combines the meta of the parts; where they differ, the worst value wins. */
function mergeMeta(
  { request, previous }: Join,
  parts: readonly IndexedPart[],
  rows: number,
  truncated: boolean,
): ReportResponse['meta'] {
  const metas = parts.map(({ response }) => response.meta);
  const [first] = metas;
  if (first === undefined) throw new Error('cannot join a table without parts');
  const oldest = metas.reduce((a, b) => (parseAsOf(b) < parseAsOf(a) ? b : a), first);
  const elsewhere = metas.find(({ timezone }) => timezone !== request.time?.timezone);
  const { from, to } = request.time ?? {};
  return {
    as_of: oldest.as_of,
    cached: oldest.cached,
    timezone: (elsewhere ?? first).timezone,
    range: from === undefined || to === undefined ? first.range : { from, to },
    ...(previous === undefined ? {} : { compare_range: { from: previous.from, to: previous.to } }),
    granularity: request.time?.granularity ?? null,
    row_count: rows,
    truncated: truncated || metas.some(({ truncated }) => truncated),
    registry_version: first.registry_version,
  };
}

/** The columns of all parts, without repetitions. */
function mergeColumns(parts: readonly IndexedPart[]): ReportResponse['columns'] {
  const columns = parts.flatMap(({ response }) => response.columns);
  return [...new Map(columns.map((column) => [column.name, column])).values()];
}
