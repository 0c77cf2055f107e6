import type { Catalog, Metric } from '../../contract/catalog.ts';
import type { Granularity, ReportRequest, ReportResponse, ReportRow } from '../../contract/report.ts';
import type { NoteMessage } from '../../i18n/note.ts';
import { buildBuckets, type DateRange, previousPeriod } from '../../plan/buckets.ts';
import { requestRange } from '../../plan/requests/partition.ts';
import type { NoteCode, TableNote } from '../notes.ts';

/** A call with its response. */
export interface CallAnswer {
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  /** Epoch ms at which the response was received. */
  readonly at: number;
}

/** What responses are checked against, in addition to their requests. */
export interface CheckContext {
  readonly catalog: Catalog;
  /** The catalog with the service's names, without the report's `labels`. */
  readonly published: Catalog;
  /** The metrics of the table. A call that several sections share has others as well. */
  readonly metrics: readonly Metric[];
  /** Request and response for the whole table: those of its only call, or joined from several. */
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  /** The service computed it before its range had ended. */
  readonly running: boolean;
  /** Metrics without a known total: no call reports it, and no sum of calls gives it. */
  readonly undefinedTotals?: readonly string[] | undefined;
}

/** A note about a violation of the specification, which makes the table incomplete. */
export const incompleteNote = (code: NoteCode, message: NoteMessage): TableNote => ({
  code,
  message,
  incomplete: true,
});

/** A response, together with what its request lets us expect. */
export interface CheckedAnswer {
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  readonly granularity: Granularity | undefined;
  readonly range: DateRange | undefined;
  /** The expected buckets by date; null without granularity. */
  readonly buckets: readonly (string | null)[];
  /** The previous period; undefined without comparison. */
  readonly previous: { readonly range: DateRange; readonly buckets: number } | undefined;
  /** The table's metrics that this call requested. */
  readonly metrics: readonly Metric[];
}

export function toCheckedAnswer(
  { request, response }: Pick<CallAnswer, 'request' | 'response'>,
  { metrics }: Pick<CheckContext, 'metrics'>,
): CheckedAnswer {
  const range = requestRange(request);
  const granularity = request.time?.granularity;
  const previousRange = range === undefined ? undefined : previousPeriod(range);
  return {
    request,
    response,
    granularity,
    range,
    buckets:
      range === undefined || granularity === undefined
        ? [null]
        : buildBuckets(range, granularity).map(({ label }) => label),
    previous:
      previousRange === undefined || request.time?.compare === undefined
        ? undefined
        : { range: previousRange, buckets: buildBuckets(previousRange, granularity).length },
    metrics: metrics.filter(({ id }) => request.metrics.includes(id)),
  };
}

/** The bucket of a row; null without granularity, undefined if the row has none. */
export const readBucket = ({ granularity }: CheckedAnswer, row: ReportRow): string | null | undefined =>
  granularity === undefined ? null : (row.bucket ?? undefined);

/** The values of a row's dimensions; null where it has no value. */
export const readGroup = (
  row: Readonly<Record<string, unknown>>,
  dimensions: readonly string[] = [],
): readonly (string | null)[] =>
  dimensions.map((id) => {
    const value = row[id];
    return typeof value === 'string' ? value : null;
  });
