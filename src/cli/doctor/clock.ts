import { DAY_MS } from '../../base/time.ts';
import type { ClockSteps } from '../../redis/clock.ts';
import { type CheckResult, fail, ok, warn } from './finding.ts';

/** Clock skew from which a check warns and fails, ms. */
export interface SkewLimits {
  readonly warnMs: number;
  readonly failMs: number;
}

/** Processes compare timestamps of Redis. */
export const REDIS_SKEW_LIMITS: SkewLimits = { warnMs: 1_000, failMs: 30_000 };
/** A `Date` header has a resolution of one second. */
export const API_SKEW_LIMITS: SkewLimits = { warnMs: 5_000, failMs: 120_000 };

/** @param skewMs the server's time less ours; positive: it is ahead */
export function evaluateClockSkew(skewMs: number, whose: string, { warnMs, failMs }: SkewLimits): CheckResult {
  const off = Math.abs(skewMs);
  if (off < warnMs) return ok(`${whose} and this machine agree within ${warnMs / 1000} s`);
  const seconds = Number((off / 1000).toFixed(1));
  const detail = `${whose} is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} this machine`;
  const remedy =
    'Synchronize both with a time server (chrony, systemd-timesyncd): slots, tokens and expiry depend on clocks.';
  return off < failMs ? warn(detail, remedy) : fail(detail, remedy);
}

/** How long a clock step of Redis is reported, ms. */
const STEP_WARNING_PERIOD_MS = DAY_MS;

/**
 * @param now epoch ms by the clock of Redis
 * @param otherwise the result without a recent step
 */
export function evaluateClockSteps({ steps, last }: ClockSteps, now: number, otherwise: CheckResult): CheckResult {
  if (last === null || Math.abs(now - last.at) > STEP_WARNING_PERIOD_MS) return otherwise;
  const seconds = Number((Math.abs(last.ms) / 1000).toFixed(1));
  return warn(
    `Redis was set ${seconds} s ${last.ms > 0 ? 'ahead' : 'back'} at ${new Date(last.at).toISOString()}; ${steps} steps in all`,
    'The budget does not depend on this clock, but slots and expiry do: let a time server slew it (chrony), not step it.',
  );
}
