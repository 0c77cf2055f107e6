import { type Catalog, zeroOf } from '../../../../contract/catalog.ts';
import type { ReportResponse, ReportRow } from '../../../../contract/report.ts';
import type { PartnerPlan } from '../../../../plan/plan.ts';
import { requestRange } from '../../../../plan/requests/partition.ts';
import type { CallAnswer } from '../../../answer-checks/checked-answer.ts';
import { withoutExcluded } from '../../../answer-checks/row-checks.ts';
import { withRunningRows } from '../../../answer-checks/running-check.ts';
import { numberOf } from '../../../answer-checks/value-types.ts';
import type { MetricValues } from '../../../dataset.ts';
import { withBaseValues } from '../cases.ts';
import { joinAnswers } from '../join-answers.ts';

/** A response to a call, with the id of the call. */
export interface IdentifiedAnswer extends CallAnswer {
  readonly call: string;
}

/** The figures of other days that belong to a table, with the responses that they were read from. */
export interface PartnerAnswer extends Pick<PartnerPlan, 'kind' | 'of' | 'range' | 'request'> {
  readonly response: ReportResponse;
  readonly answers: readonly CallAnswer[];
  /** Metrics whose totals neither a call nor a sum of calls gives. */
  readonly undefinedTotals?: readonly string[] | undefined;
}

/** The response to the request for a whole table: of its only call, or joined. Its rows are running by date. */
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

/** The values of these metrics that are present. */
export function pickMetrics(
  values: Readonly<Record<string, unknown>> | null | undefined,
  names: readonly string[],
): MetricValues {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = numberOf(values?.[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The totals of a partner: those of the service, or its single row without bucket or group. */
export function partnerTotals({ request, response }: Pick<PartnerAnswer, 'request' | 'response'>) {
  if (request.include !== undefined) return response.totals ?? undefined;
  const isSingle = (request.dimensions ?? []).length === 0 && request.time?.granularity === undefined;
  return isSingle ? response.rows[0] : undefined;
}

const groupKey = (bucket: string | undefined, row: Readonly<Record<string, unknown>>, dimensions: readonly string[]) =>
  JSON.stringify([bucket ?? null, ...dimensions.map((id) => row[id] ?? null)]);

/**
 * Looks up the row of the same group in a bucket of the partner. A group that is absent from a complete response had no
 * events: its counts are 0, the rest is undefined. Of a truncated response nothing is known.
 */
export function partnerRows(
  { request, response }: Pick<PartnerAnswer, 'request' | 'response'>,
  catalog: Catalog,
): (row: ReportRow, bucket: string | undefined, names: readonly string[]) => MetricValues {
  const { dimensions = [], metrics } = request;
  const requested = new Set(metrics);
  const rows = new Map(response.rows.map((row) => [groupKey(row.bucket ?? undefined, row, dimensions), row]));
  const groups = new Set(response.rows.map((row) => groupKey(undefined, row, dimensions)));
  const zeros = new Map(metrics.map((id) => [id, zeroOf(id, catalog)]));
  return (row, bucket, names) => {
    const found = rows.get(groupKey(bucket, row, dimensions));
    if (found !== undefined) return pickMetrics(found, names);
    // A group has a row in every bucket (specification §2.8, rule 1), as has a table without groups: a missing one is unknown.
    const isUnknown =
      response.meta.truncated || dimensions.length === 0 || groups.has(groupKey(undefined, row, dimensions));
    const absent = names.filter((id) => requested.has(id));
    return isUnknown ? {} : Object.fromEntries(absent.map((id) => [id, zeros.get(id) ?? null]));
  };
}

/** The days of a partner, as the service reports them. */
export const partnerRange = ({ request, response, range }: PartnerAnswer) => {
  const { from, to } = response.meta.range ?? requestRange(request) ?? range;
  return { from, to };
};
