import type { AppContext } from '../base/context.ts';
import type { Scope } from '../base/scope.ts';
import { noTrace, type Trace } from '../base/trace.ts';
import { redisLedger } from '../deliver/ledger/redis-ledger.ts';
import { deleteResponses } from '../fetch/cache/redis-response-store.ts';
import { type DefinitionStore, definitionStore } from '../queue/definitions/definition-store.ts';
import { type RunQueue, runQueue } from '../queue/jobs/run-queue.ts';
import { type RedisRunStore, redisRunStore } from '../queue/runs/run-store.ts';
import { type Pauses, redisPauses } from '../queue/schedules/pauses.ts';
import type { RedisClient } from '../redis/client.ts';
import { type ClientRole, openRedis } from '../redis/connection.ts';
import { withRedisErrors } from '../redis/errors.ts';
import { DEFAULT_KEY_PREFIX, RETENTION_DAYS, redisKeys } from '../redis/keys.ts';
import { assertSuitable } from '../redis/server-check.ts';
import { type TriggerRun, triggerRun } from '../services/runs/trigger-run.ts';
import { composeFindDelivered, openIdentity } from './archive.ts';

/** What every role has: the runs that all processes share, and the way to open one. */
export interface Store {
  /** Who asks through it is told at once when Redis is away: somebody waits for the answer. */
  readonly redis: RedisClient;
  /** In front of every Redis key. */
  readonly prefix: string;
  readonly runs: RedisRunStore;
  readonly definitions: DefinitionStore;
  readonly queue: RunQueue;
  readonly pauses: Pauses;
  readonly trigger: TriggerRun;
  /** Throws `redis.unreachable` while Redis does not answer. */
  readonly ping: () => Promise<void>;
  /** A client that outlasts a restart of Redis, for what is in hand; closed with the scope. */
  readonly blockingClient: () => Promise<RedisClient>;
}

export interface StoreSettings {
  /** In front of every Redis key; two Dockets with different ones never meet. */
  readonly prefix?: string;
  /** Refuses a Redis that may forget runs and deliveries, instead of warning. */
  readonly requireDurable?: boolean;
}

/** Opens the store until the scope closes. Throws `redis.unreachable`, `redis.unsuitable`. */
export async function openStore(
  context: AppContext,
  { prefix = DEFAULT_KEY_PREFIX, requireDurable = false }: StoreSettings,
  scope: Scope,
): Promise<Store> {
  const { config, clock, log, trace } = context;
  const client = async (role: ClientRole) =>
    scope.use(await openRedis(config.REDIS_URL, role, log), (opened) => opened.disconnect());
  const redis = await client('producer');
  await assertSuitable(redis, log, { requireDurable });
  const kept = { prefix, keepDays: RETENTION_DAYS };
  const runs = redisRunStore(redis, { ...kept, log, ended: deleteResponses(redis, { prefix: `${prefix}:` }) });
  const definitions = definitionStore(redis, kept);
  const queue = scope.use(runQueue(redis, { prefix }), (opened) => opened.close());
  const ledger = redisLedger(redis, { prefix: `${prefix}:`, ttlDays: RETENTION_DAYS });
  const delivered = composeFindDelivered(context, { runs, ledger }, scope);
  const ports = { runs, definitions, queue, findDelivered: delivered, clock, log, trace };
  return {
    redis,
    prefix,
    runs,
    definitions,
    queue,
    pauses: redisPauses(redis, { prefix }),
    trigger: traceTrigger(trace, (request) => triggerRun(request, ports)),
    ping: async () => {
      // A key of ours, so that of a Cluster the very master is asked that holds them.
      await withRedisErrors(redis, () => redis.exists(redisKeys(prefix).unfinished));
    },
    blockingClient: () => client('worker'),
  };
}

/** Whatever asks for a run, its trace begins or goes on here. */
const traceTrigger =
  (trace: Trace = noTrace, open: TriggerRun): TriggerRun =>
  (request) => {
    const { org, report } = request.definition;
    return trace.span({ name: 'trigger', kind: 'producer', org, report, trigger: request.trigger }, async (tell) => {
      const triggered = await open(request);
      tell({ run: triggered.record.id, slot: triggered.record.slot, state: triggered.opened ? 'opened' : 'repeated' });
      return triggered;
    });
  };

/**
 * The store for a command that enqueues runs: refused where Redis belongs to another deployment than the archive. A machine
 * without the archive may enqueue as well. Throws `redis.unreachable`, `redis.unsuitable`, `deployment.conflict`.
 */
export async function openVerifiedStore(context: AppContext, scope: Scope): Promise<Store> {
  const store = await openStore(context, {}, scope);
  const { redis, prefix, runs } = store;
  await openIdentity(context, { redis, prefix, runs, writes: false }, scope).start();
  return store;
}
