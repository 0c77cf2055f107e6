import type { Period } from '../../define/period.ts';
import { CALL_TIMEOUT_MS } from '../client.ts';
import type { TableNote } from '../dataset.ts';
import { type CallAnswer, finding } from './answer.ts';

const HOUR_MS = 3_600_000;
/** By how much the service's clock and ours may differ. */
const CLOCK_SKEW_MS = 60_000;

export interface FreshnessContext {
  readonly period: Period;
  /** Epoch ms at which the period is over. */
  readonly periodEnd: number;
  /** Of current counts, which are the state now, whatever the period. */
  readonly current: boolean;
}

/** When the figures were computed, against when they came. The first answer that is wrong speaks for all. */
export function freshnessFindings(answers: readonly CallAnswer[], context: FreshnessContext): TableNote[] {
  return answers.flatMap((answer) => freshnessOf(answer, context)).slice(0, 1);
}

function freshnessOf({ request, response: { meta }, at }: CallAnswer, context: FreshnessContext): TableNote[] {
  const { as_of, cached } = meta;
  if (as_of === null) {
    return [{ code: 'stale', says: { id: 'computed_unknown', of: { cached } }, incomplete: cached }];
  }
  const computed = Date.parse(as_of);
  const { periodEnd, current, period } = context;
  const { timezone } = period;
  if (computed > at + CLOCK_SKEW_MS) {
    return [finding('computed_in_future', { id: 'computed_in_future', of: { at: as_of, timezone } })];
  }
  // The period was over when we asked, but not when the service counted: its last days are not whole.
  const last = request.time?.to === undefined || request.time.to === period.to;
  if (!current && last && at >= periodEnd && computed < periodEnd) {
    return [finding('stale', { id: 'computed_early', of: { at: as_of, to: period.to, timezone } })];
  }
  // An answer that was computed for a call is no older than the call when it comes.
  if (!cached && at - computed > CALL_TIMEOUT_MS + CLOCK_SKEW_MS) {
    return [finding('stale', { id: 'computed_before_call', of: { at: as_of, timezone } })];
  }
  // The service keeps answers for an hour at most.
  if (cached && at - computed > HOUR_MS + CLOCK_SKEW_MS) {
    return [finding('stale', { id: 'computed_long_ago', of: { at: as_of, timezone } })];
  }
  return [];
}
