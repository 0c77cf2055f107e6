import type { AppContext } from '../base/context.ts';
import type { Log } from '../base/log.ts';
import type { Scope } from '../base/scope.ts';
import { noTrace, type Trace } from '../base/trace.ts';
import { redisLedger } from '../deliver/ledger/redis-ledger.ts';
import { deleteResponses } from '../fetch/cache/redis-response-store.ts';
import { type DefinitionStore, definitionStore } from '../queue/definitions/definition-store.ts';
import { type RunQueue, runQueue } from '../queue/jobs/run-queue.ts';
import { type RedisRunStore, redisRunStore } from '../queue/runs/run-store.ts';
import { redisSearchIndex, type SearchIndex, type SearchIndexOptions } from '../queue/runs/search-index.ts';
import { type Pauses, redisPauses } from '../queue/schedules/pauses.ts';
import type { RedisClient } from '../redis/client.ts';
import { type ClientRole, openRedis, redisAddress } from '../redis/connection.ts';
import { withRedisErrors } from '../redis/errors.ts';
import { DEFAULT_KEY_PREFIX, RETENTION_DAYS, redisKeys } from '../redis/keys.ts';
import { assertSuitable } from '../redis/server-check.ts';
import { type TriggerRun, triggerRun } from '../services/runs/trigger-run.ts';
import { composeFindDelivered, openIdentity } from './archive.ts';
import { reportFileSchema } from './built-in-kinds.ts';
import { withPrivateRedis } from './redis.ts';

/** The shared state of all processes in Redis. */
export interface Store {
  /** Fails fast while Redis is unreachable: a user waits for the answer. */
  readonly redis: RedisClient;
  /** Prefix of all Redis keys. */
  readonly prefix: string;
  readonly runs: RedisRunStore;
  readonly definitions: DefinitionStore;
  readonly queue: RunQueue;
  readonly pauses: Pauses;
  readonly searchIndex: SearchIndex;
  readonly trigger: TriggerRun;
  /** Throws `redis.unreachable`. */
  readonly ping: () => Promise<void>;
  /** Opens a client that waits while Redis restarts, for running runs; closed with the scope. */
  readonly blockingClient: () => Promise<RedisClient>;
}

export interface StoreSettings {
  /** Prefix of all Redis keys: deployments with different ones are independent. */
  readonly prefix?: string;
  /** Rejects a Redis that may lose data, instead of a warning. */
  readonly requireDurable?: boolean;
}

/**
 * The records, the definitions, the ledger and the search indexes of runs.
 *
 * @param search of the search indexes
 */
export function openRunStores(
  redis: RedisClient,
  prefix: string,
  log: Log,
  search: Pick<SearchIndexOptions, 'clock' | 'maxWaitMs'> = {},
) {
  const kept = { prefix, keepDays: RETENTION_DAYS };
  const keyPrefix = { prefix: `${prefix}:` };
  return {
    runs: redisRunStore(redis, { ...kept, log, ended: deleteResponses(redis, keyPrefix) }),
    definitions: definitionStore(redis, { ...kept, reportSchema: reportFileSchema }),
    ledger: redisLedger(redis, { ...keyPrefix, ttlDays: RETENTION_DAYS }),
    searchIndex: redisSearchIndex(redis, { ...kept, ...search, log }),
  };
}

/** Opens the store until the scope closes. Throws `redis.unreachable`, `redis.unsuitable`. */
export async function openStore(
  context: AppContext,
  { prefix = DEFAULT_KEY_PREFIX, requireDurable = false }: StoreSettings,
  scope: Scope,
): Promise<Store> {
  const { clock, log, trace } = context;
  const client = async (role: ClientRole) =>
    scope.use(await openRedis(redisAddress(context), role, log), (opened) => opened.disconnect());
  const redis = await client('producer');
  await assertSuitable(redis, log, { requireDurable });
  const { runs, definitions, ledger, searchIndex } = openRunStores(redis, prefix, log, { clock });
  const queue = scope.add(runQueue(redis, { prefix }));
  const findDelivered = composeFindDelivered(context, { runs, ledger }, scope);
  const ports = { runs, queue, findDelivered, clock, log, trace };
  return {
    redis,
    prefix,
    runs,
    definitions,
    queue,
    pauses: redisPauses(redis, { prefix }),
    searchIndex,
    trigger: traceTrigger(trace, (request) => triggerRun(request, ports)),
    ping: async () => {
      // A key with the prefix: in a Cluster this reaches the master that holds Docket's keys.
      await withRedisErrors(redis, () => redis.exists(redisKeys(prefix).unfinished));
    },
    blockingClient: () => client('worker'),
  };
}

/** Starts or continues the trace of a run. */
const traceTrigger =
  (trace: Trace = noTrace, open: TriggerRun): TriggerRun =>
  (request) => {
    const { org, report } = request.definition;
    return trace.span(
      { name: 'trigger', kind: 'producer', org, report, trigger: request.trigger },
      async (setAttributes) => {
        const triggered = await open(request);
        setAttributes({
          run: triggered.record.id,
          slot: triggered.record.slot,
          state: triggered.opened ? 'opened' : 'repeated',
        });
        return triggered;
      },
    );
  };

/**
 * The store for a command that enqueues runs. Throws `deployment.conflict` where Redis and the archive belong to different
 * deployments; a machine without the archive may enqueue as well. Throws `redis.unreachable`, `redis.unsuitable`.
 */
export async function openVerifiedStore(given: AppContext, scope: Scope): Promise<Store> {
  const context = await withPrivateRedis(given, scope);
  const store = await openStore(context, {}, scope);
  const { redis, prefix, runs } = store;
  await openIdentity(context, { redis, prefix, runs, writes: false }, scope).start();
  return store;
}
