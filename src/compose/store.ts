import type { RedisClient } from '../base/redis-client.ts';
import type { Scope } from '../base/scope.ts';
import { noTrace, type Trace } from '../base/trace.ts';
import { redisLedger } from '../deliver/redis-ledger.ts';
import { dropAnswers } from '../fetch/redis-store.ts';
import { asking, assertSuitable, type ClientRole, openRedis } from '../queue/connection.ts';
import { type DefinitionStore, definitionStore } from '../queue/definition-store.ts';
import { type RunQueue, runQueue } from '../queue/jobs.ts';
import { DEFAULT_PREFIX, keysOf } from '../queue/keys.ts';
import { type Pauses, redisPauses } from '../queue/pauses.ts';
import { type RedisRunStore, redisRunStore } from '../queue/run-store.ts';
import { type Trigger, trigger } from '../queue/trigger.ts';
import { findDelivered } from './delivered.ts';
import { KEEP_DAYS } from './keep-days.ts';
import type { Surroundings } from './ports.ts';

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
  readonly trigger: Trigger;
  /** Throws `redis.unreachable` while Redis does not answer. */
  readonly ping: () => Promise<void>;
  /** A client that outlasts a restart of Redis, for what is in hand; closed with the scope. */
  readonly patient: () => Promise<RedisClient>;
}

export interface StoreSettings {
  /** In front of every Redis key; two Dockets with different ones never meet. */
  readonly prefix?: string;
  /** Refuses a Redis that may forget runs and deliveries, instead of warning. */
  readonly requireDurable?: boolean;
}

/** Opens the store until the scope closes. Throws `redis.unreachable`, `redis.unsuitable`. */
export async function openStore(
  around: Surroundings,
  { prefix = DEFAULT_PREFIX, requireDurable = false }: StoreSettings,
  scope: Scope,
): Promise<Store> {
  const { config, clock, log, trace } = around;
  const client = async (role: ClientRole) =>
    scope.use(await openRedis(config.REDIS_URL, role, log), (opened) => opened.disconnect());
  const redis = await client('producer');
  await assertSuitable(redis, log, { requireDurable });
  const kept = { prefix, keepDays: KEEP_DAYS };
  const runs = redisRunStore(redis, { ...kept, log, ended: dropAnswers(redis, { prefix: `${prefix}:` }) });
  const definitions = definitionStore(redis, kept);
  const queue = scope.use(runQueue(redis, { prefix }), (opened) => opened.close());
  const ledger = redisLedger(redis, { prefix: `${prefix}:`, ttlDays: KEEP_DAYS });
  const delivered = findDelivered(around, { runs, ledger }, scope);
  const ports = { runs, definitions, queue, findDelivered: delivered, clock, log, trace };
  return {
    redis,
    prefix,
    runs,
    definitions,
    queue,
    pauses: redisPauses(redis, { prefix }),
    trigger: traced(trace, (request) => trigger(request, ports)),
    ping: async () => {
      // A key of ours, so that of a Cluster the very master is asked that holds them.
      await asking(redis, () => redis.exists(keysOf(prefix).unfinished));
    },
    patient: () => client('worker'),
  };
}

/** Whatever asks for a run, its trace begins or goes on here. */
const traced =
  (trace: Trace = noTrace, open: Trigger): Trigger =>
  (request) => {
    const { org, report } = request.definition;
    return trace.span({ name: 'trigger', kind: 'producer', org, report, trigger: request.trigger }, async (tell) => {
      const triggered = await open(request);
      tell({ run: triggered.record.id, slot: triggered.record.slot, state: triggered.opened ? 'opened' : 'repeated' });
      return triggered;
    });
  };
