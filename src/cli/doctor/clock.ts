import type { ClockSteps } from '../../queue/redis-clock.ts';
import { fail, ok, type Verdict, warn } from './finding.ts';

/** How far a server's clock may be off before it is said, and before it is a fault; ms. */
export interface SkewLimits {
  readonly warnMs: number;
  readonly failMs: number;
}

/** Redis dates what all processes decide by. */
export const REDIS_SKEW: SkewLimits = { warnMs: 1_000, failMs: 30_000 };
/** A `Date` header has whole seconds. */
export const API_SKEW: SkewLimits = { warnMs: 5_000, failMs: 120_000 };

/** @param skewMs the server's time less ours; positive: it is ahead */
export function judgeSkew(skewMs: number, whose: string, { warnMs, failMs }: SkewLimits): Verdict {
  const off = Math.abs(skewMs);
  if (off < warnMs) return ok(`${whose} and this machine agree within ${warnMs / 1000} s`);
  const seconds = Number((off / 1000).toFixed(1));
  const detail = `${whose} is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} this machine`;
  const remedy =
    'Let both follow a time server (chrony, systemd-timesyncd): slots, tokens and expiry are told by clocks.';
  return off < failMs ? warn(detail, remedy) : fail(detail, remedy);
}

/** For this long (ms) a step of the clock of Redis is told. */
const TOLD_MS = 86_400_000;

/**
 * @param now epoch ms by the clock of Redis
 * @param otherwise where there is no step to tell
 */
export function judgeSteps({ steps, last }: ClockSteps, now: number, otherwise: Verdict): Verdict {
  if (last === null || Math.abs(now - last.at) > TOLD_MS) return otherwise;
  const seconds = Number((Math.abs(last.ms) / 1000).toFixed(1));
  return warn(
    `Redis was set ${seconds} s ${last.ms > 0 ? 'ahead' : 'back'} at ${new Date(last.at).toISOString()}; ${steps} such steps were seen`,
    'The budget does not go by this clock, but slots and expiry do: let a time server slew it (chrony) instead of stepping it.',
  );
}
