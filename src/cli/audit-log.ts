import type { AppContext } from '../base/context.ts';
import { toDocketError } from '../base/error.ts';
import { DEFAULT_KEY_PREFIX } from '../redis/keys.ts';
import { type AuditEntry, logAuditEntry, redisAuditLog } from '../services/audit-log.ts';
import { withOptionalRedis } from './redis.ts';

/** Records in the audit log of `REDIS_URL`; without a reachable Redis, in the log alone. Throws no error about Redis. */
export async function recordOrLog(entry: AuditEntry, context: AppContext): Promise<void> {
  const { clock, log } = context;
  const recorded = await withOptionalRedis(context, async (redis) => {
    await redisAuditLog(redis, { prefix: DEFAULT_KEY_PREFIX, clock, log }).record(entry);
    return true;
  }).catch((thrown: unknown) => {
    log.warn('The audit log in Redis could not be written', { error: toDocketError(thrown).toJSON() });
    return undefined;
  });
  if (!recorded) logAuditEntry(log, entry);
}
