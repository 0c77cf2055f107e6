import type { Catalog } from '../../contract/catalog.ts';
import type { ReportRequest } from '../../contract/report.ts';
import { type CallLimits, canonicalJson } from './call.ts';
import type { KeyedRequest } from './merge-requests.ts';
import { splitRequest } from './split-request.ts';

/**
 * Changes requests for totals alone to rows with totals if another request has rows for the same days and filters, so
 * that `mergeRequests` makes one call for both. Every metric must accept the other's dimensions and granularity, and
 * the call must stay within its number of metrics; its rows stay the same number. Returns the same list if no request
 * qualifies.
 */
export function shareTotals(
  requests: readonly KeyedRequest[],
  catalog: Catalog,
  limits: CallLimits,
): readonly KeyedRequest[] {
  let changed = false;
  // The other request ("carrier") takes the metrics of several requests.
  const carriers = requests
    .filter(isCarrier)
    .flatMap(({ request }) => rowParts(request, catalog, limits))
    .map((request) => ({ request, carries: request.metrics }));
  const shared = requests.map((one) => {
    if (!isTotalsOnly(one)) return one;
    for (const carrier of carriers) {
      const request = carriedBy(one.request, carrier.request, catalog);
      if (request === undefined) continue;
      const metrics = [...new Set([...carrier.carries, ...request.metrics])];
      if (metrics.length > limits.max_metrics) continue;
      carrier.carries = metrics;
      changed = true;
      return { ...one, request };
    }
    return one;
  });
  return changed ? shared : requests;
}

const isTotalsOnly = ({ lookup, request }: KeyedRequest): boolean =>
  lookup === true && request.dimensions === undefined && request.time?.granularity === undefined;

/** Whether other metrics can be added to its call: its rows are looked up, or there is one for each bucket. */
const isCarrier = ({ lookup, request: { dimensions, time, order, limit } }: KeyedRequest): boolean =>
  (dimensions !== undefined || time?.granularity !== undefined) &&
  (lookup === true || dimensions === undefined) &&
  order === undefined &&
  limit === undefined &&
  time?.compare === undefined;

/** The calls that its rows need. One part of a long range may have the same days as other totals. */
function rowParts(request: ReportRequest, catalog: Catalog, limits: CallLimits): ReportRequest[] {
  const split = splitRequest(request, catalog, limits);
  if ('refused' in split) return [];
  return split.requests.flatMap((part) => (part.rows ? part.request : []));
}

/** Changes the request to the carrier's rows with totals; undefined if the carrier has other days or filters. */
function carriedBy(request: ReportRequest, carrier: ReportRequest, catalog: Catalog): ReportRequest | undefined {
  const { dimensions, time } = carrier;
  if (time === undefined) return undefined;
  const { granularity, ...days } = time;
  if (canonicalJson([days, carrier.filters]) !== canonicalJson([request.time, request.filters])) return undefined;
  const takes = request.metrics.every((id) => {
    const metric = catalog.metrics.find((candidate) => candidate.id === id);
    return (
      metric !== undefined &&
      (dimensions ?? []).every((dimension) => metric.dimensions.includes(dimension)) &&
      (granularity === undefined || metric.granularities.includes(granularity))
    );
  });
  if (!takes) return undefined;
  return { ...request, ...(dimensions === undefined ? {} : { dimensions }), time, include: ['totals'] };
}
