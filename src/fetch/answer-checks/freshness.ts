import { HOUR_MS } from '../../base/time.ts';
import type { Period } from '../../definitions/periods/period.ts';
import { CALL_TIMEOUT_MS } from '../client/compliance-client.ts';
import type { TableNote } from '../notes.ts';
import { type CallAnswer, incompleteNote } from './checked-answer.ts';

const MAX_SERVICE_CACHE_AGE_MS = HOUR_MS;
/** Tolerated difference between the service's clock and ours. */
const MAX_CLOCK_SKEW_MS = 60_000;

export interface FreshnessContext {
  readonly period: Period;
  /** Epoch ms at which the period ends. */
  readonly periodEnd: number;
  /** The table shows current counts, for which the period does not matter. */
  readonly current: boolean;
}

/** Compares when the values were computed with when they were received. Returns only the first finding. */
export function freshnessFindings(answers: readonly CallAnswer[], context: FreshnessContext): TableNote[] {
  return answers.flatMap((answer) => checkFreshness(answer, context)).slice(0, 1);
}

function checkFreshness({ request, response: { meta }, at }: CallAnswer, context: FreshnessContext): TableNote[] {
  const { as_of, cached } = meta;
  if (as_of === null) {
    return [{ code: 'stale', message: { id: 'computed_unknown', of: { cached } }, incomplete: cached }];
  }
  const computed = Date.parse(as_of);
  const { periodEnd, current, period } = context;
  const { timezone } = period;
  if (computed > at + MAX_CLOCK_SKEW_MS) {
    return [incompleteNote('computed_in_future', { id: 'computed_in_future', of: { at: as_of, timezone } })];
  }
  // The period had ended when we requested it, but not when the service computed it: its last days are incomplete.
  const last = request.time?.to === undefined || request.time.to === period.to;
  if (!current && last && at >= periodEnd && computed < periodEnd) {
    return [incompleteNote('stale', { id: 'computed_early', of: { at: as_of, to: period.to, timezone } })];
  }
  // The service cannot have computed a response for this call before the call was made.
  if (!cached && at - computed > CALL_TIMEOUT_MS + MAX_CLOCK_SKEW_MS) {
    return [incompleteNote('stale', { id: 'computed_before_call', of: { at: as_of, timezone } })];
  }
  // The service caches responses for an hour at most.
  if (cached && at - computed > MAX_SERVICE_CACHE_AGE_MS + MAX_CLOCK_SKEW_MS) {
    return [incompleteNote('stale', { id: 'computed_long_ago', of: { at: as_of, timezone } })];
  }
  return [];
}
