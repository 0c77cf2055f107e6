import { DocketError } from '../base/error.ts';
import { asking, redisName } from './connection.ts';
import { keysOf } from './keys.ts';
import type { RedisClient } from './script.ts';

const PROBE_TTL_MS = 60_000;

/**
 * Writes a key of ours, and looks whether Redis keeps what was written. Throws what a write throws (`redis.out_of_memory`,
 * `redis.unwritable`, `redis.unreachable`), and `redis.unsuitable` where the policy has become one that evicts keys. A Redis
 * that does not tell its policy, as a hosted one may not, was accepted at the start.
 */
export async function assertWritable(redis: RedisClient, prefix: string): Promise<void> {
  await asking(redis, () => redis.set(keysOf(prefix).writable, '1', 'PX', PROBE_TTL_MS));
  const servers = 'nodes' in redis ? redis.nodes('master') : [redis];
  const infos = await Promise.all(servers.map((server) => server.info('memory').catch(() => '')));
  const policies = infos.map((info) => /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction');
  const evicting = policies.find((policy) => policy !== 'noeviction');
  if (evicting === undefined) return;
  throw new DocketError(
    'redis.unsuitable',
    `Redis at ${redisName(redis)} may throw away keys when its memory is full.`,
    {
      where: 'REDIS_URL',
      expected: 'maxmemory-policy noeviction',
      got: `maxmemory-policy ${evicting}`,
      next: 'Run `redis-cli config set maxmemory-policy noeviction`, and find out who has changed it.',
    },
  );
}
