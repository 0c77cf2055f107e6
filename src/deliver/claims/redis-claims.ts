import { DAY_MS } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { beforeSending, mapRedisErrors } from '../../redis/errors.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import { type Claim, type ClaimedPeriod, type ClaimStore, claimText, parseClaim, type StoredClaim } from './claim.ts';

/**
 * Stores claims in Redis: one string per report and period, `<prefix>claim:<org>/<report>:<first day>..<last
 * day>:<zone>`.
 *
 * @param prefix of every key, with its separator, e.g. `docket:`
 * @param ttlDays after which an unchanged claim expires; the archive keeps it longer
 */
export function redisClaims(
  redis: RedisClient,
  { prefix, ttlDays }: { readonly prefix: string; readonly ttlDays: number },
): ClaimStore {
  const script = loadLuaScript('./write-claim-1.lua', import.meta.url);
  const mapped = mapRedisErrors(undefined, beforeSending('The claim of the period'));
  const keyOf = ({ org, report, period: { from, to, timezone } }: ClaimedPeriod): string =>
    `${prefix}claim:${org}/${report}:${from}..${to}:${timezone}`;
  return {
    read: mapped(async (of: ClaimedPeriod) => {
      const text = await redis.get(keyOf(of));
      return text === null ? undefined : parseClaim(text, text);
    }),
    write: mapped(async (of: ClaimedPeriod, claim: Claim, before: StoredClaim | undefined) => {
      const args = [before?.version ?? '', claimText(of, claim), ttlDays * DAY_MS];
      return (await runLuaScript(redis, script, [keyOf(of)], args)) === 1;
    }),
  };
}
