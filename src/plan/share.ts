import { LIMITS } from '../contract/limits.ts';
import type { ReportRequest } from '../contract/report.ts';
import { canonical } from './call.ts';

/** What a section, or a part of one, would ask alone. */
export interface Wanted {
  readonly key: string;
  readonly request: ReportRequest;
}

/**
 * The fewest bodies that answer everything wanted, by its key: those that may share one get the same.
 *
 * Sharing adds metrics to a call, and a section then reads its own columns. That leaves its table as it was only where
 * the other metrics can neither add, drop nor reorder rows:
 * - without dimensions, where there is one row a bucket (empty ones are filled, specification §2.8) whatever is asked,
 *   in the order of the buckets;
 * - with dimensions, or sorted by a metric, only for the very same metrics: a group is there when something of it
 *   happened, so another section's metric could bring in groups that the section by itself would not show, and which
 *   groups it brought in cannot be told from the answer.
 * Totals are each metric's own, so asking for them too changes nothing for a section that does not show them.
 */
export function shareRequests(
  wanted: readonly Wanted[],
  maxMetrics: number = LIMITS.max_metrics,
): ReadonlyMap<string, ReportRequest> {
  const shared: { readonly question: string; readonly keys: string[]; request: ReportRequest }[] = [];
  for (const { key, request } of wanted) {
    const question = shareKey(request);
    const fits = shared.find((one) => one.question === question && union(one.request, request).length <= maxMetrics);
    if (fits === undefined) {
      shared.push({ question, keys: [key], request });
      continue;
    }
    fits.keys.push(key);
    fits.request = {
      ...fits.request,
      metrics: union(fits.request, request),
      ...(request.include === undefined ? {} : { include: request.include }),
    };
  }
  return new Map(shared.flatMap(({ keys, request }) => keys.map((key) => [key, request] as const)));
}

const union = (a: ReportRequest, b: ReportRequest): string[] => [...new Set([...a.metrics, ...b.metrics])];

/** Two sections may share a call when these are equal. */
function shareKey({ metrics, include: _include, ...rest }: ReportRequest): string {
  const byBucket = (rest.order ?? []).every(({ by }) => by === 'bucket');
  const rowsAreBuckets = rest.dimensions === undefined && byBucket;
  return canonical(rowsAreBuckets ? rest : { ...rest, metrics: [...metrics].sort() });
}
