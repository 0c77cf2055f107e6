import type { Catalog, Metric } from '../../contract/catalog.ts';
import type { Granularity, ReportRequest, ReportResponse, ReportRow } from '../../contract/report.ts';
import { rangeOf } from '../../plan/arrange.ts';
import { bucketsOf, type Days, previousPeriod } from '../../plan/buckets.ts';
import type { Said } from '../../words/note.ts';
import type { NoteCode, TableNote } from '../dataset.ts';

/** One call with its answer. */
export interface CallAnswer {
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  /** Epoch ms at which the answer came. */
  readonly at: number;
}

/** What an answer is held against, beside its own request. */
export interface CheckContext {
  readonly catalog: Catalog;
  /** The metrics of the table: a call that sections share has others' as well, which are not its own to judge. */
  readonly metrics: readonly Metric[];
  /** The table's own question and what answers it: the only call's, or what several were joined to. */
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  /** Its range was not over when it was computed. */
  readonly running: boolean;
}

/** A way in which an answer breaks the specification: the table is incomplete, whatever else it holds. */
export const finding = (code: NoteCode, says: Said): TableNote => ({ code, says, incomplete: true });

/** An answer with what its request makes due. */
export interface Checked {
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  readonly granularity: Granularity | undefined;
  readonly range: Days | undefined;
  /** The bucket of each row by its date; null where the range is folded. */
  readonly buckets: readonly (string | null)[];
  /** The period before; undefined where nothing is compared. */
  readonly previous: { readonly range: Days; readonly buckets: number } | undefined;
  /** The table's metrics that this call asked for. */
  readonly metrics: readonly Metric[];
}

export function readAnswer(
  { request, response }: Pick<CallAnswer, 'request' | 'response'>,
  { metrics }: Pick<CheckContext, 'metrics'>,
): Checked {
  const range = rangeOf(request);
  const granularity = request.time?.granularity;
  const before = range === undefined ? undefined : previousPeriod(range);
  return {
    request,
    response,
    granularity,
    range,
    buckets:
      range === undefined || granularity === undefined
        ? [null]
        : bucketsOf(range, granularity).map(({ label }) => label),
    previous:
      before === undefined || request.time?.compare === undefined
        ? undefined
        : { range: before, buckets: bucketsOf(before, granularity).length },
    metrics: metrics.filter(({ id }) => request.metrics.includes(id)),
  };
}

/** The bucket in which a row counts; null where the range is folded, undefined where the row names none. */
export const bucketOf = ({ granularity }: Checked, row: ReportRow): string | null | undefined =>
  granularity === undefined ? null : (row.bucket ?? undefined);
