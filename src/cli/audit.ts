import type { Audit } from '../admin/auth/audit.ts';
import type { RedisClient } from '../base/redis-client.ts';
import type { Surroundings } from '../compose/ports.ts';

/**
 * The audit log for what a command has done: the same entries as the admin route's, without an address. The command says
 * itself what it did; only an entry that Redis refuses makes a line in the log, as an error.
 */
export async function openAudit(
  redis: RedisClient,
  { clock, log }: Pick<Surroundings, 'clock' | 'log'>,
): Promise<Pick<Audit, 'tell'>> {
  const [{ redisAudit }, { silentLog }, { DEFAULT_PREFIX }] = await Promise.all([
    import('../admin/auth/audit.ts'),
    import('../base/log.ts'),
    import('../queue/keys.ts'),
  ]);
  return redisAudit(redis, { prefix: DEFAULT_PREFIX, clock, log: { ...silentLog, error: log.error } });
}
