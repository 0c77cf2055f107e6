import { DateTime } from 'luxon';
import type { Catalog } from '../contract/catalog.ts';
import { type ReportResponse, type ReportRow, reportResponseSchema } from '../contract/report.ts';
import type { Join, Piece } from '../plan/plan.ts';
import { compareCells } from './cell-order.ts';
import { readTotals } from './join-totals.ts';

/** A call's answer. */
interface PieceAnswer {
  readonly response: ReportResponse;
}

type Figure = number | null | undefined;

/** A piece with its rows where they can be found: by bucket of the whole range, and by group. */
interface Read {
  readonly piece: Piece;
  readonly response: ReportResponse;
  readonly rows: ReadonlyMap<string, ReportRow>;
  /** By name. */
  readonly groups: ReadonlyMap<string, Group>;
}

/**
 * One group: its values by dimension, and the name under which its rows are found. "No value" (null) is a value of its
 * own; undefined is one that the answer left out.
 */
interface Group {
  readonly name: string;
  readonly values: readonly unknown[];
}

const placeOf = (bucket: number, group: string): string => `${bucket} ${group}`;

/**
 * The answers to the pieces of a table → the answer that one call would have given (specification §2.8), were it allowed.
 *
 * Every bucket of the range is there, with every group that any piece knows of. In a piece that does not know a group
 * nothing of it happened: a count is 0, a rate or a median is undefined (rule 2). What a piece should have and lacks stays
 * absent, to be noted as missing. The n-th bucket of the previous period stands beside the n-th of the range; ties in the
 * order fall by bucket and then by the dimensions, as they do without an order.
 */
export function joinAnswers(join: Join, answers: ReadonlyMap<string, PieceAnswer>, catalog: Catalog): ReportResponse {
  const { request, buckets, previous } = join;
  const { metrics, dimensions = [], time } = request;
  const reads = join.pieces.map((piece) => readPiece(piece, responseTo(piece, answers), join));
  const { groups, ranks } = groupsOf(reads, dimensions, catalog);
  const asOf = Math.min(...reads.map(({ response }) => instantOf(response.meta)));
  const covering = (of: Piece['of'], bucket: number, metric: string) =>
    reads.filter(
      ({ piece }) =>
        piece.of === of &&
        piece.metrics.includes(metric) &&
        bucket >= piece.first &&
        bucket < piece.first + piece.buckets,
    );
  const zeros = new Map(metrics.map((id) => [id, zeroOf(id, catalog)]));

  const cells = buckets.flatMap((bucket, index) => {
    const now = new Map(metrics.map((id) => [id, covering('this', index, id)]));
    const before = new Map(metrics.map((id) => [id, covering('previous', index, id)]));
    const matched = index < (previous?.buckets.length ?? 0);
    const known = [...new Set([...now.values()].flat())];
    const cut = known.some(({ response }) => response.meta.truncated);
    const partial = isRunning(index, known, endOf(bucket.to, time?.timezone) > asOf);
    return groups.flatMap((group, rank) => {
      const place = placeOf(index, group.name);
      const figure = (id: string, among: readonly Read[], pick: (row: ReportRow) => Figure): Figure =>
        figureOf(place, group.name, among, { pick, sums: join.sums, zero: zeros.get(id) });
      const figures = metrics.map((id) => [id, figure(id, now.get(id) ?? [], (row) => numberOf(row[id]))] as const);
      // Whether a cut answer would have had the row cannot be told.
      if (cut && figures.every(([, value]) => value === undefined)) return [];
      const compared = metrics.map((id) => {
        const apart = before.get(id) ?? [];
        const value = !matched
          ? null
          : apart.length > 0
            ? figure(id, apart, (row) => numberOf(row[id]))
            : figure(id, now.get(id) ?? [], (row) => numberOf(row.compare?.[id]));
        return [id, value] as const;
      });
      const row = {
        ...(time?.granularity === undefined ? {} : { bucket: bucket.label }),
        ...Object.fromEntries(
          dimensions.flatMap((id, nth) => (group.values[nth] === undefined ? [] : [[id, group.values[nth]]])),
        ),
        ...present(figures),
        ...(previous === undefined ? {} : { compare: present(compared) }),
        partial,
      };
      return [{ row, bucket: index, rank }];
    });
  });

  const { order = [], limit } = request;
  const sorted = order.length === 0 ? cells : cells.sort(compareCells(order, ranks));
  const kept = sorted.slice(0, limit);
  const totals = readTotals(join, answers);
  return reportResponseSchema.parse({
    meta: metaOf(join, reads, kept.length, kept.length < sorted.length),
    columns: columnsOf(reads),
    rows: kept.map(({ row }) => row),
    ...(totals === undefined ? {} : { totals }),
  });
}

function responseTo({ call }: Piece, answers: ReadonlyMap<string, PieceAnswer>): ReportResponse {
  const answer = answers.get(call);
  if (answer === undefined) throw new Error(`no answer was kept for the call ${call}`);
  return answer.response;
}

function groupOf(values: readonly unknown[]): Group {
  // JSON has no "undefined": without another sign for it, what was left out would pass for "no value".
  return { name: JSON.stringify(values.map((value) => (value === undefined ? false : value))), values };
}

function readPiece(piece: Piece, response: ReportResponse, { request, buckets, previous }: Join): Read {
  const dimensions = request.dimensions ?? [];
  const labels = (piece.of === 'this' ? buckets : (previous?.buckets ?? [])).map(({ label }) => label);
  const places = new Map(labels.map((label, index) => [label, index]));
  const rows = new Map<string, ReportRow>();
  // Without dimensions there is one group, whether or not the answer has a row of it.
  const groups = new Map((dimensions.length === 0 ? [groupOf([])] : []).map((group) => [group.name, group]));
  if (piece.metrics.length === 0) return { piece, response, rows, groups };
  for (const row of response.rows) {
    const group = groupOf(dimensions.map((id) => row[id]));
    groups.set(group.name, group);
    const bucket = request.time?.granularity === undefined ? piece.first : places.get(row.bucket ?? '');
    if (bucket !== undefined) rows.set(placeOf(bucket, group.name), row);
  }
  return { piece, response, rows, groups };
}

/**
 * Whether a bucket is still running: as any row of it says, for all of them alike.
 * @param byDate what its last day says; for a piece that has no row of it
 */
function isRunning(bucket: number, among: readonly Read[], byDate: boolean): boolean {
  return among.some(({ rows, groups }) => {
    const said = [...groups.keys()].flatMap((name) => rows.get(placeOf(bucket, name))?.partial ?? []);
    return said.length === 0 ? byDate : said.includes(true);
  });
}

type Rank = (value: unknown) => number;

/**
 * The place of each value of a dimension, by which they are sorted: first those that the catalog lists, in its order, then
 * the others by name, and "no value" last.
 */
function rankOf(id: string, found: readonly unknown[], { dimensions }: Catalog): Rank {
  const listed = dimensions.find((dimension) => dimension.id === id)?.values.map(({ value }) => value) ?? [];
  const others = new Set(found.filter((value) => typeof value === 'string'));
  for (const value of listed) others.delete(value);
  const ranks = new Map<unknown, number>([...listed, ...[...others].sort()].map((value, index) => [value, index]));
  return (value) => ranks.get(value) ?? ranks.size;
}

/** All groups, by each dimension in turn, and the ranks of each dimension's values. */
function groupsOf(
  reads: readonly Read[],
  dimensions: readonly string[],
  catalog: Catalog,
): { readonly groups: readonly Group[]; readonly ranks: ReadonlyMap<string, Rank> } {
  const found = new Map(
    reads.filter(({ piece }) => piece.metrics.length > 0).flatMap(({ groups }) => [...groups.entries()]),
  );
  const valuesOf = (nth: number) => [...found.values()].map(({ values }) => values[nth]);
  const ranks = dimensions.map((id, nth) => [id, rankOf(id, valuesOf(nth), catalog)] as const);
  const groups = [...found.values()].sort((a, b) => {
    for (const [nth, [, rank]] of ranks.entries()) {
      const by = rank(a.values[nth]) - rank(b.values[nth]);
      if (by !== 0) return by;
    }
    return a.name < b.name ? -1 : 1;
  });
  return { groups, ranks: new Map(ranks) };
}

const numberOf = (value: unknown): Figure => (typeof value === 'number' || value === null ? value : undefined);

/** The figure of a cell: the only one that a piece has, or the sum of those that add up. Undefined: one of them lacks it. */
function figureOf(
  place: string,
  group: string,
  among: readonly Read[],
  how: { readonly pick: (row: ReportRow) => Figure; readonly sums: boolean; readonly zero: Figure },
): Figure {
  const found: (number | null)[] = [];
  let lacking = false;
  for (const { rows, groups, response } of among) {
    const row = rows.get(place);
    const value = row === undefined ? undefined : how.pick(row);
    if (value !== undefined) found.push(value);
    else if (row !== undefined || groups.has(group) || response.meta.truncated) lacking = true;
  }
  if (lacking && (how.sums || found.length === 0)) return undefined;
  const [first, ...more] = found;
  if (first === undefined) return how.zero;
  return more.reduce((sum, value) => (sum === null || value === null ? null : sum + value), first);
}

/** A metric's figure where nothing happened (specification §2.8, rule 2); undefined for a unit we do not know. */
function zeroOf(id: string, { metrics }: Catalog): Figure {
  const unit = metrics.find((metric) => metric.id === id)?.unit;
  return unit === 'count' ? 0 : unit === 'ratio' || unit === 'seconds' ? null : undefined;
}

const present = (figures: readonly (readonly [string, Figure])[]): Record<string, number | null> =>
  Object.fromEntries(figures.flatMap(([id, value]) => (value === undefined ? [] : [[id, value]])));

/** When an answer was computed; one that does not say it may be older than any. */
const instantOf = ({ as_of }: { readonly as_of: string | null }): number => Date.parse(as_of ?? '') || 0;

/** The first instant after a day, in its zone. */
const endOf = (day: string, zone = 'UTC'): number =>
  day === '' ? 0 : DateTime.fromISO(day, { zone }).plus({ days: 1 }).startOf('day').toMillis();

/** What the pieces say of themselves, as if one had said it: whichever says something worse speaks for all. */
function metaOf(
  { request, previous }: Join,
  reads: readonly Read[],
  rows: number,
  cut: boolean,
): ReportResponse['meta'] {
  const metas = reads.map(({ response }) => response.meta);
  const [first] = metas;
  if (first === undefined) throw new Error('a table was to be joined from no pieces');
  const oldest = metas.reduce((a, b) => (instantOf(b) < instantOf(a) ? b : a), first);
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
    truncated: cut || metas.some(({ truncated }) => truncated),
    registry_version: first.registry_version,
  };
}

/** The columns that any piece describes, each once. */
function columnsOf(reads: readonly Read[]): ReportResponse['columns'] {
  const columns = reads.flatMap(({ response }) => response.columns);
  return [...new Map(columns.map((column) => [column.name, column])).values()];
}
