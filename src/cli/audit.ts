import type { AuditLog } from '../admin/auth/audit.ts';
import type { RedisClient } from '../base/redis-client.ts';
import type { AppContext } from '../compose/ports.ts';

/**
 * The audit log for what a command has done: the same entries as the admin route's, without an address. The command says
 * itself what it did; only an entry that Redis refuses makes a line in the log, as an error.
 */
export async function openAuditLog(
  redis: RedisClient,
  { clock, log }: Pick<AppContext, 'clock' | 'log'>,
): Promise<Pick<AuditLog, 'record'>> {
  const [{ redisAuditLog }, { silentLog }, { DEFAULT_KEY_PREFIX }] = await Promise.all([
    import('../admin/auth/audit.ts'),
    import('../base/log.ts'),
    import('../queue/keys.ts'),
  ]);
  return redisAuditLog(redis, { prefix: DEFAULT_KEY_PREFIX, clock, log: { ...silentLog, error: log.error } });
}
