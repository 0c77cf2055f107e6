import type { AppContext } from '../base/context.ts';
import { toDocketError } from '../base/error.ts';
import { type Log, silentLog } from '../base/log.ts';
import type { RedisClient } from '../redis/client.ts';
import { DEFAULT_KEY_PREFIX } from '../redis/keys.ts';
import { type AuditEntry, type AuditLog, logAuditEntry, redisAuditLog } from '../services/audit-log.ts';
import { withOptionalRedis } from './redis.ts';

type Recorder = AuditLog;

const auditLogOf = (redis: RedisClient, { clock }: Pick<AppContext, 'clock'>, log: Log): Recorder =>
  redisAuditLog(redis, { prefix: DEFAULT_KEY_PREFIX, clock, log });

/** The audit log for actions of commands. Entries are not logged as well: the command prints what it did. A failed write is logged. */
export const openAuditLog = (redis: RedisClient, context: Pick<AppContext, 'clock' | 'log'>): Recorder =>
  auditLogOf(redis, context, { ...silentLog, error: context.log.error });

/** Records in the audit log of `REDIS_URL`; without a reachable Redis, in the log alone. Throws no error about Redis. */
export async function recordOrLog(entry: AuditEntry, context: AppContext): Promise<void> {
  const { log } = context;
  const recorded = await withOptionalRedis(context, async (redis) => {
    await auditLogOf(redis, context, log).record(entry);
    return true;
  }).catch((thrown: unknown) => {
    log.warn('The audit log in Redis could not be written', { error: toDocketError(thrown).toJSON() });
    return undefined;
  });
  if (!recorded) logAuditEntry(log, entry);
}
