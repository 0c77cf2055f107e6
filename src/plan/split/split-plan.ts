import type { Catalog } from '../../contract/catalog.ts';
import { LIMITS } from '../../contract/limits.ts';
import type { OrgRef } from '../../contract/organization.ts';
import type { Filter, ReportRequest } from '../../contract/report.ts';
import { type Call, collectAllCalls, type Plan, type ReportCall } from '../plan.ts';
import { buildCalls, type RequestCalls } from '../requests/build-calls.ts';
import { type CallLimits, callLimits, canonicalJson } from '../requests/call.ts';
import type { KeyedRequest } from '../requests/merge-requests.ts';
import { type SplitRefusal, splitRequest } from '../requests/split-request.ts';

/** The calls that provide the reports of all values of a dimension at once. */
export interface SplitPlan {
  /** The dimension. Each of its values gets a report of its own. */
  readonly by: string;
  /** In the order of the sections. Sections that are the same in every report have the same calls as in its plan. */
  readonly calls: readonly Call[];
  /** The ids of the sections that need each call, by call id. */
  readonly sections: ReadonlyMap<string, readonly string[]>;
  /** The calls of a grouped request, by `requestKey`. */
  readonly requests: ReadonlyMap<string, RequestCalls>;
}

/** The requests, grouped by the dimension, that provide one call of every single value. */
export interface GroupedRequests {
  readonly rows: ReportRequest;
  /** Absent if the call requests no totals. */
  readonly totals?: ReportRequest;
}

export const requestKey = (request: ReportRequest): string => canonicalJson(request);

/** Whether a filter selects one value of the dimension. A definition with `split` has no other filter on it. */
const selects = ({ dimension }: Filter, by: string): boolean => dimension === by;

/** Whether a call is for one value of the dimension. */
export const isSliced = (call: Call, by: string): call is ReportCall =>
  call.kind === 'report' && (call.request.filters ?? []).some((filter) => selects(filter, by));

/**
 * The requests for all values at once. They have neither `order` nor `limit`, which would choose among all values.
 * Totals are grouped by the dimension alone, so a rate or a median of one value is the service's figure, never a sum.
 */
export function groupedRequests(request: ReportRequest, by: string): GroupedRequests {
  const { order: _order, limit: _limit, include, dimensions = [], filters = [], metrics, time } = request;
  const others = filters.filter((filter) => !selects(filter, by));
  const grouped = (own: readonly string[], days: ReportRequest['time']): ReportRequest => ({
    metrics,
    dimensions: own.includes(by) ? [...own] : [...own, by],
    ...(others.length === 0 ? {} : { filters: others }),
    ...(days === undefined ? {} : { time: days }),
  });
  const { granularity: _granularity, ...whole } = time ?? {};
  return {
    rows: grouped(dimensions, time),
    ...(include === undefined ? {} : { totals: grouped([], time === undefined ? undefined : whole) }),
  };
}

/** Rows grouped by the dimension alone are looked up by value and bucket, so other metrics may add rows. */
const isLookup = ({ dimensions }: ReportRequest): boolean => dimensions?.length === 1;

const keyedRequests = (plan: Pick<Plan, 'calls'>, by: string): readonly KeyedRequest[] => {
  const found = plan.calls.flatMap((call) => {
    if (!isSliced(call, by)) return [];
    const { rows, totals } = groupedRequests(call.request, by);
    return [rows, ...(totals === undefined ? [] : [totals])];
  });
  const keyed = found.map((request) => ({ key: requestKey(request), request, lookup: isLookup(request) }));
  return [...new Map(keyed.map((one) => [one.key, one])).values()];
};

/**
 * The calls for all values at once, made from the plan of any one value, because the plans of all values need the same
 * calls. `splitRefusals` must be empty for the plan.
 * @param one the plan of one value; each of its sections has either an `eq` filter on the dimension or no filter on it
 */
export function splitPlan(
  one: Plan,
  by: string,
  { org, catalog, limits }: { readonly org: OrgRef; readonly catalog: Catalog; readonly limits?: Partial<CallLimits> },
): SplitPlan {
  const requests = buildCalls(keyedRequests(one, by), org, catalog, callLimits(catalog, limits));
  const calls = new Map<string, Call>();
  const sections = new Map<string, string[]>();
  for (const call of one.calls) {
    const named = one.sections
      .filter((each) => collectAllCalls(each).includes(call.id))
      .map(({ section }) => section.id);
    for (const needed of isSliced(call, by) ? callsOfGrouped(call, by, requests) : [call]) {
      calls.set(needed.id, needed);
      sections.set(needed.id, [...new Set([...(sections.get(needed.id) ?? []), ...named])]);
    }
  }
  return { by, calls: [...calls.values()], sections, requests };
}

function callsOfGrouped({ request }: ReportCall, by: string, requests: SplitPlan['requests']): readonly ReportCall[] {
  const { rows, totals } = groupedRequests(request, by);
  return [rows, ...(totals === undefined ? [] : [totals])].flatMap((one) => requests.get(requestKey(one))?.calls ?? []);
}

/** Why a section cannot be requested for all values at once. */
export type GroupedRefusal = { readonly kind: 'dimensions' } | SplitRefusal;

/** The sections of a plan that cannot be requested for all values at once, with the reason for each. */
export function splitRefusals(
  one: Plan,
  by: string,
  catalog: Catalog,
  limits?: Partial<CallLimits>,
): readonly { readonly section: string; readonly refused: GroupedRefusal }[] {
  const refusals = new Map<string, GroupedRefusal>();
  for (const call of one.calls) {
    if (!isSliced(call, by)) continue;
    const refused = findRefusal(call.request, by, catalog, limits);
    if (refused !== undefined) refusals.set(call.id, refused);
  }
  return one.sections.flatMap((each) => {
    const [refused] = collectAllCalls(each).flatMap((id) => refusals.get(id) ?? []);
    return refused === undefined ? [] : [{ section: each.section.id, refused }];
  });
}

function findRefusal(
  request: ReportRequest,
  by: string,
  catalog: Catalog,
  limits?: Partial<CallLimits>,
): GroupedRefusal | undefined {
  const { rows, totals } = groupedRequests(request, by);
  if ((rows.dimensions ?? []).length > LIMITS.max_dimensions) return { kind: 'dimensions' };
  for (const grouped of [rows, ...(totals === undefined ? [] : [totals])]) {
    const split = splitRequest(grouped, catalog, callLimits(catalog, limits));
    if ('refused' in split) return split.refused;
  }
  return undefined;
}
