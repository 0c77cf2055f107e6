import { type BaseSettings, metricBases } from '../../contract/bases.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { ReportRequest } from '../../contract/report.ts';
import type { Join, JoinPart, ReportCall } from '../plan.ts';
import { type CallLimits, canonicalJson } from './call.ts';
import type { RequestSplit, SubRequest } from './split-request.ts';

/** The body of a call, with the bases that were added to it. */
export interface BasedBody extends Pick<ReportCall, 'bases'> {
  readonly request: ReportRequest;
}

/**
 * Adds the bases of ratios and durations to calls that are made anyway, as far as each has room. The number of calls
 * stays the same, so a body that would become equal to another one is not changed.
 * @param bodies by key; those of one call are equal
 */
export function addBases(
  bodies: ReadonlyMap<string, ReportRequest>,
  catalog: Catalog,
  { max_metrics }: Pick<CallLimits, 'max_metrics'>,
  settings: BaseSettings,
): ReadonlyMap<string, BasedBody> {
  const ids = new Map([...bodies].map(([key, request]) => [key, canonicalJson(request)] as const));
  const taken = new Set(ids.values());
  const based = new Map<string, BasedBody>();
  return new Map(
    [...bodies].map(([key, request]) => {
      const id = ids.get(key) ?? '';
      const known = based.get(id) ?? withBases(request, catalog, max_metrics, settings, taken);
      based.set(id, known);
      return [key, known] as const;
    }),
  );
}

function withBases(
  request: ReportRequest,
  catalog: Catalog,
  maxMetrics: number,
  settings: BaseSettings,
  taken: Set<string>,
): BasedBody {
  const bases = basesFor(request, catalog, settings).slice(0, Math.max(0, maxMetrics - request.metrics.length));
  const extended = { ...request, metrics: [...request.metrics, ...bases] };
  const id = canonicalJson(extended);
  if (bases.length === 0 || taken.has(id)) return { request };
  taken.add(id);
  return { request: extended, bases };
}

/** The bases that a call lacks, and that would not replace any of its rows. */
function basesFor(request: ReportRequest, catalog: Catalog, settings: BaseSettings): string[] {
  const { metrics, dimensions = [], filters = [], time, order, limit } = request;
  const isGrouped = dimensions.length > 0;
  // A group that only the base has could take the place of another one.
  if (isGrouped && (order !== undefined || limit !== undefined)) return [];
  const needed = [...dimensions, ...filters.map(({ dimension }) => dimension)];
  const found = metricBases(metrics, catalog, settings).flatMap(({ base, atMost }): string[] => {
    // For an upper bound, a group may have a row although it has no value for the metric.
    if (metrics.includes(base) || (isGrouped && atMost === true)) return [];
    const count = catalog.metrics.find(({ id }) => id === base);
    const { granularity } = time ?? {};
    const takes =
      count !== undefined &&
      needed.every((id) => count.dimensions.includes(id)) &&
      (granularity === undefined || count.granularities.includes(granularity));
    return takes ? [base] : [];
  });
  return [...new Set(found)];
}

/** A part of a request, with its calls. */
export interface BasedPart {
  readonly split: RequestSplit;
  readonly callOf: (subRequest: SubRequest) => ReportCall;
}

/**
 * How to join the bases of a table from several calls, as far as its own join does not do it. A base is read from the
 * calls of one part of the metrics, although others may have it as well.
 * @param join of the table
 */
export function joinBases(join: Join, parts: readonly BasedPart[], bases: readonly string[]): Join | undefined {
  const wanted = [...new Set(bases)].filter((id) => !join.request.metrics.includes(id));
  // Only the responses to these calls are available for the table.
  const answered = new Set(join.parts.map(({ call }) => call));
  const isAnswered = (callOf: BasedPart['callOf'], one: SubRequest): boolean => answered.has(callOf(one).id);
  const found: JoinPart[] = [];
  const read: string[] = [];
  for (const { split, callOf } of parts) {
    const rows = split.requests.filter((one) => one.rows);
    const has = (one: SubRequest, id: string): boolean => callOf(one).request.metrics.includes(id);
    const own = wanted.filter(
      (id) => !read.includes(id) && rows.every((one) => has(one, id) && isAnswered(callOf, one)),
    );
    if (own.length === 0) continue;
    read.push(...own);
    const ofTotals = split.requests.find((one) => !one.rows);
    for (const one of split.requests) {
      const totals = own.filter((id) =>
        ofTotals !== undefined && has(ofTotals, id)
          ? one === ofTotals
          : one.rows && callOf(one).request.include !== undefined,
      );
      if (!isAnswered(callOf, one) || (!one.rows && totals.length === 0)) continue;
      const { period, first, buckets } = one;
      found.push({ call: callOf(one).id, period, first, buckets, metrics: one.rows ? own : [], totals });
    }
  }
  if (read.length === 0) return undefined;
  const { undefinedTotals: _undefinedTotals, request, ...rest } = join;
  const { order: _order, limit: _limit, ...body } = request;
  return { ...rest, request: { ...body, metrics: read }, parts: found };
}
