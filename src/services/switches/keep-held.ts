import { splitBatches } from '../../base/concurrency.ts';
import { DAY_MS } from '../../base/time.ts';
import { execPipeline, masterNodes, type RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { RETENTION_DAYS } from '../../redis/keys.ts';
import type { Deployment } from '../deployment/deployment.ts';

/** Keys that would expire sooner are extended to this, because workers may be down for weeks. */
const FLOOR_MS = 60 * DAY_MS;
const KEPT_MS = RETENTION_DAYS * DAY_MS;
const SCAN_COUNT = 1_000;
const BATCH_SIZE = 200;

/** Records, ledger rows, claims, definitions and sent figures. Their value names the organization. */
const BY_VALUE = /^(record|deliveries|definition):/;
/** Keys whose name contains the organization. Indexes of everything contain none. */
const BY_NAME = /^(?:claim|index|states|begins|to):([^/:]*)|^figures:\{([^/]*)/;
const OF_ALL: ReadonlySet<string> = new Set([
  'index',
  'ids',
  'orgs',
  'reports',
  'recipients',
  'first-days',
  'unfinished',
]);

/**
 * Extends the expiry of keys in Redis that a legal hold covers; of all keys if the holds cannot be read. Run it
 * periodically. Processes of version 0.2.0 only ever set longer expiries, so they do not make anything expire.
 *
 * @returns the number of extended keys
 */
export async function keepHeld({
  redis,
  prefix,
  switches,
}: Pick<Deployment, 'redis' | 'prefix' | 'switches'>): Promise<number> {
  const holds = await switches.read().then(
    (state) => state.switches.filter(({ kind }) => kind === 'hold').map(({ org }) => org),
    (): (string | null)[] => [null],
  );
  if (holds.length === 0) return 0;
  const isHeld = (org: string | undefined): boolean =>
    org === undefined || org === '' || holds.includes(null) || holds.includes(org);
  return withRedisErrors(redis, async () => {
    let extended = 0;
    for (const server of masterNodes(redis)) {
      let cursor = '0';
      do {
        const pattern = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}:*`;
        const [next, keys] = await server.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT);
        cursor = next;
        for (const batch of splitBatches(
          keys.filter((key) => isKept(nameOf(key, prefix))),
          BATCH_SIZE,
        )) {
          const expiring = await findExpiring(redis, batch);
          const held: string[] = [];
          for (const key of expiring) if (isHeld(await findOrg(redis, key, nameOf(key, prefix)))) held.push(key);
          const pipeline = redis.pipeline();
          for (const key of held) pipeline.pexpire(key, KEPT_MS);
          if (held.length > 0) await execPipeline(pipeline);
          extended += held.length;
        }
      } while (cursor !== '0');
    }
    return extended;
  });
}

const nameOf = (key: string, prefix: string): string => key.slice(prefix.length + 1);

const isKept = (name: string): boolean => OF_ALL.has(name) || BY_VALUE.test(name) || BY_NAME.test(name);

async function findExpiring(redis: RedisClient, keys: readonly string[]): Promise<readonly string[]> {
  const pipeline = redis.pipeline();
  for (const key of keys) pipeline.pttl(key);
  const ttls = await execPipeline(pipeline);
  return keys.filter((_, index) => Number(ttls[index]) >= 0 && Number(ttls[index]) < FLOOR_MS);
}

/** The organization of a key. Undefined if it belongs to all, or if its value cannot be read. */
async function findOrg(redis: RedisClient, key: string, name: string): Promise<string | undefined> {
  const [, kind] = BY_VALUE.exec(name) ?? [];
  if (kind === undefined) {
    const [, named, braced] = BY_NAME.exec(name) ?? [];
    return named ?? braced;
  }
  const text =
    kind === 'record'
      ? await redis.hget(key, 'order')
      : kind === 'definition'
        ? await redis.get(key)
        : Object.entries(await redis.hgetall(key)).find(([field]) => field.endsWith(':row'))?.[1];
  const [, org] = /"org":"([^"]*)"/.exec(text ?? '') ?? [];
  return org;
}
