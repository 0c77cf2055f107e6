import { DAY_MS, SECOND_MS } from '../../base/time.ts';
import { masterNodes } from '../../redis/client.ts';
import { type ClockSteps, NO_STEPS, redisClock } from '../../redis/clock.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { type CheckResult, fail, ok, warn } from '../../services/deployment/probe.ts';
import type { Probed } from './probe-context.ts';

interface MeasuredClock {
  readonly whose: string;
  /** Skew in ms from which the check warns, and from which it fails. */
  readonly warnMs: number;
  readonly failMs: number;
}

/** Processes compare timestamps from Redis. */
export const REDIS_CLOCK: MeasuredClock = { whose: 'Redis', warnMs: 1_000, failMs: 30_000 };
/** A `Date` header has a resolution of one second. */
export const API_CLOCK: MeasuredClock = { whose: 'The API', warnMs: 5_000, failMs: 120_000 };

/** @param skewMs the server's time minus ours; positive: it is ahead */
export function evaluateClockSkew(skewMs: number, { whose, warnMs, failMs }: MeasuredClock): CheckResult {
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
 * @param otherwise the result if there was no recent step
 */
export function evaluateClockSteps({ steps, last }: ClockSteps, now: number, otherwise: CheckResult): CheckResult {
  if (last === null || Math.abs(now - last.at) > STEP_WARNING_PERIOD_MS) return otherwise;
  const seconds = Number((Math.abs(last.ms) / 1000).toFixed(1));
  return warn(
    `Redis was set ${seconds} s ${last.ms > 0 ? 'ahead' : 'back'} at ${new Date(last.at).toISOString()}; ${steps} steps in all`,
    'The budget does not depend on this clock, but slots and expiry do: let a time server slew it (chrony), not step it.',
  );
}

/** Checks the clock of Redis. If it is far from ours, slots open at the wrong time. */
export async function checkRedisClock({ redis, prefix, clock }: Probed): Promise<CheckResult | undefined> {
  const [server] = masterNodes(redis);
  if (server === undefined) return undefined;
  const before = clock.now();
  const [seconds, micros] = await withRedisErrors(redis, () => server.time());
  const wall = Number(seconds) * SECOND_MS + Number(micros) / 1000;
  const skew = evaluateClockSkew(wall - (before + clock.now()) / 2, REDIS_CLOCK);
  if (skew.state === 'fail') return { ...skew, problem: 'clock.skew' };
  if (skew.state === 'warn') return skew;
  return evaluateClockSteps(
    await redisClock(redis, { prefix })
      .read()
      .catch(() => NO_STEPS),
    wall,
    skew,
  );
}
