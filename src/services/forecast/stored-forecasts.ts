import { DAY_MS, isoInstant, MINUTE_MS } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';

/** For how many days forecasts are compared with deliveries. */
const COMPARED_DAYS = 30;
const KEPT_MS = (COMPARED_DAYS + 1) * DAY_MS;
/** For this long, only one process makes the forecasts. */
const CLAIM_MS = 4 * MINUTE_MS;

/** Forecasts of runs, made minutes before their slots. Losing them does no harm. */
export type StoredForecasts = ReturnType<typeof redisForecasts>;

/** Stores forecasts in Redis. Throws `redis.unreachable`. */
export function redisForecasts(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const keys = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  const formatDay = (at: number): string => isoInstant(at).slice(0, 10);
  return {
    /** Claims the next minutes' forecasts for this process. False if another process has them. */
    claim: mapped(async () => (await redis.set(keys.forecastClaim, '1', 'PX', CLAIM_MS, 'NX')) === 'OK'),
    /** By run of a slot on the day of `at`: the expected delivery, epoch ms, and whether it was compared. */
    ofDay: mapped(async (at: number) => {
      const stored = Object.entries(await redis.hgetall(keys.forecasts(formatDay(at))));
      return new Map(
        stored.map(([run, text]) => [run, { at: Number.parseInt(text, 10), isCompared: text.endsWith('=') }]),
      );
    }),
    /** Stores a run's forecast. The first one stays. */
    put: mapped(async (run: string, slot: number, delivered: number) => {
      await redis.hsetnx(keys.forecasts(formatDay(slot)), run, Math.round(delivered));
      await redis.pexpire(keys.forecasts(formatDay(slot)), KEPT_MS);
    }),
    /** @param errorMs undefined for a run that a person delayed */
    compare: mapped(async (run: string, slot: number, delivered: number, errorMs: number | undefined) => {
      await redis.hset(keys.forecasts(formatDay(slot)), run, `${delivered}=`);
      if (errorMs === undefined) return;
      const errors = keys.forecastErrors(formatDay(slot));
      await redis.hincrby(errors, 'runs', 1);
      await redis.hincrby(errors, 'ms', Math.round(errorMs));
      await redis.pexpire(errors, KEPT_MS);
    }),
    /** Mean difference between forecast and delivery in the last 30 days, ms; null without any. */
    meanErrorMs: mapped(async (now: number) => {
      const days = Array.from({ length: COMPARED_DAYS }, (_, index) => formatDay(now - index * DAY_MS));
      const found = await Promise.all(days.map((day) => redis.hgetall(keys.forecastErrors(day))));
      const sum = (name: string): number => found.reduce((all, one) => all + Number(one[name] ?? 0), 0);
      return sum('runs') === 0 ? null : sum('ms') / sum('runs');
    }),
  };
}
