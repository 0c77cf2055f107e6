import { type Catalog, getZeroValue } from '../../../../contract/catalog.ts';
import type { ReportResponse, ReportRow } from '../../../../contract/report.ts';
import type { PartnerPlan } from '../../../../plan/plan.ts';
import { requestRange } from '../../../../plan/requests/partition.ts';
import type { CallAnswer } from '../../../answer-checks/checked-answer.ts';
import { withoutExcluded } from '../../../answer-checks/row-checks.ts';
import { withRunningRows } from '../../../answer-checks/running-check.ts';
import { toNumber } from '../../../answer-checks/value-types.ts';
import type { MetricValues } from '../../../dataset.ts';
import { withBaseValues } from '../cases.ts';
import { joinAnswers } from '../join-answers.ts';

/** A response to a call, with the id of the call. */
export interface IdentifiedAnswer extends CallAnswer {
  readonly call: string;
}

/** The figures of other days that a table is compared with, and the responses that they were read from. */
export interface PartnerAnswer extends Pick<PartnerPlan, 'kind' | 'of' | 'range' | 'request'> {
  readonly response: ReportResponse;
  readonly answers: readonly CallAnswer[];
  /** Metrics without a known total: no call reports it, and no sum of calls gives it. */
  readonly undefinedTotals?: readonly string[] | undefined;
}

/**
 * The response for a whole table: that of its only call, or joined from several. Its rows are marked as running by
 * date.
 */
export function tableResponse(
  { join, baseJoin }: Pick<PartnerPlan, 'join' | 'baseJoin'>,
  answers: readonly [IdentifiedAnswer, ...IdentifiedAnswer[]],
  catalog: Catalog,
): ReportResponse {
  if (join === undefined) return withRunningRows(answers[0]);
  const responses = answers.map((answer) => {
    const { call, request } = answer;
    return [call, { response: withoutExcluded(request, withRunningRows(answer)) }] as const;
  });
  const byCall = new Map(responses);
  const joined = joinAnswers(join, byCall, catalog);
  return baseJoin === undefined
    ? joined
    : withBaseValues(joined, joinAnswers(baseJoin, byCall, catalog), baseJoin.request);
}

/** Picks the values of these metrics, as far as they are present. */
export function pickMetrics(
  values: Readonly<Record<string, unknown>> | null | undefined,
  names: readonly string[],
): MetricValues {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = toNumber(values?.[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The totals of a partner: those from the service, or its single row without bucket and group. */
export function partnerTotals({ request, response }: Pick<PartnerAnswer, 'request' | 'response'>) {
  if (request.include !== undefined) return response.totals ?? undefined;
  const isSingle = (request.dimensions ?? []).length === 0 && request.time?.granularity === undefined;
  return isSingle ? response.rows[0] : undefined;
}

const groupKey = (bucket: string | undefined, row: Readonly<Record<string, unknown>>, dimensions: readonly string[]) =>
  JSON.stringify([bucket ?? null, ...dimensions.map((id) => row[id] ?? null)]);

/**
 * Finds the row of the same group in a bucket of the partner. A group that is absent from a complete response had no
 * events: its counts are 0, and the rest is undefined. In a truncated response nothing is known about it.
 */
export function partnerRows(
  { request, response }: Pick<PartnerAnswer, 'request' | 'response'>,
  catalog: Catalog,
): (row: ReportRow, bucket: string | undefined, names: readonly string[]) => MetricValues {
  const { dimensions = [], metrics } = request;
  const requested = new Set(metrics);
  const rows = new Map(response.rows.map((row) => [groupKey(row.bucket ?? undefined, row, dimensions), row]));
  const groups = new Set(response.rows.map((row) => groupKey(undefined, row, dimensions)));
  const zeros = new Map(metrics.map((id) => [id, getZeroValue(id, catalog)]));
  return (row, bucket, names) => {
    const found = rows.get(groupKey(bucket, row, dimensions));
    if (found !== undefined) return pickMetrics(found, names);
    // Every group has a row in every bucket (specification §2.8, rule 1), and so does a table without groups. If such a
    // row is missing, its figures are unknown.
    const isUnknown =
      response.meta.truncated || dimensions.length === 0 || groups.has(groupKey(undefined, row, dimensions));
    const absent = names.filter((id) => requested.has(id));
    return isUnknown ? {} : Object.fromEntries(absent.map((id) => [id, zeros.get(id) ?? null]));
  };
}

/** The days of a partner that the service reports. */
export const partnerRange = ({ request, response, range }: PartnerAnswer) => {
  const { from, to } = response.meta.range ?? requestRange(request) ?? range;
  return { from, to };
};
