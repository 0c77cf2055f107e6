import type { AppContext } from '../base/context.ts';
import { createScope, type Scope } from '../base/scope.ts';
import type { Archive } from '../deliver/archive/archive.ts';
import { redisLedger } from '../deliver/ledger/redis-ledger.ts';
import { deleteResponses } from '../fetch/cache/redis-response-store.ts';
import { definitionStore } from '../queue/definitions/definition-store.ts';
import { runQueue } from '../queue/jobs/run-queue.ts';
import { redisNoticeOutbox } from '../queue/runs/notice-outbox.ts';
import { type RedisRunStore, redisRunStore } from '../queue/runs/run-store.ts';
import type { RedisClient } from '../redis/client.ts';
import { openRedis } from '../redis/connection.ts';
import { DEFAULT_KEY_PREFIX, RETENTION_DAYS } from '../redis/keys.ts';
import { reportFileSchema } from '../services/definitions/built-in-kinds.ts';
import { createDecisionArchive, type DecisionArchivePorts } from '../services/deliveries/decision-archive.ts';
import {
  createDecisionService,
  type DecisionService,
  type DecisionServicePorts,
} from '../services/deliveries/decisions.ts';
import { openArchive, openIdentity } from './archive.ts';

/** The decision service over parts that the process has opened. */
export const composeDecisionService = (
  ports: Omit<DecisionServicePorts, 'archive'> & DecisionArchivePorts,
): DecisionService => createDecisionService({ ...ports, archive: createDecisionArchive(ports) });

/** What a command needs to inspect deliveries and to decide about them. */
export interface DecisionContext {
  readonly decisions: DecisionService;
  readonly runs: RedisRunStore;
  readonly archive: Archive;
  readonly redis: RedisClient;
}

/**
 * Opens runs and deliveries of `REDIS_URL` for as long as `use` takes. Throws `redis.unreachable`.
 *
 * @param decides whether the command changes deliveries: it then throws `deployment.conflict` before any change
 */
export async function withDecisions<T>(
  context: AppContext,
  use: (decisions: DecisionContext) => Promise<T>,
  { decides = false }: { readonly decides?: boolean } = {},
): Promise<T> {
  const scope = createScope();
  try {
    return await use(await openDecisions(context, decides, scope));
  } finally {
    await scope.close();
  }
}

async function openDecisions(context: AppContext, decides: boolean, scope: Scope): Promise<DecisionContext> {
  const { config, clock, log } = context;
  const prefix = DEFAULT_KEY_PREFIX;
  const redis = scope.use(await openRedis(config.REDIS_URL, 'producer', log), (opened) => opened.disconnect());
  const ended = deleteResponses(redis, { prefix: `${prefix}:` });
  const runs = redisRunStore(redis, { prefix, keepDays: RETENTION_DAYS, log, ended });
  const queue = scope.use(runQueue(redis, { prefix }), (opened) => opened.close());
  const identity = openIdentity(context, { redis, prefix, runs, writes: true }, scope);
  if (decides) await identity.id();
  const { archive, storage } = openArchive(context, scope, identity);
  const ledger = redisLedger(redis, { prefix: `${prefix}:`, ttlDays: RETENTION_DAYS });
  const noticeOutbox = redisNoticeOutbox(redis, { prefix });
  const definitions = definitionStore(redis, { prefix, keepDays: RETENTION_DAYS, reportSchema: reportFileSchema });
  const ports = { runs, queue, ledger, noticeOutbox, archive, storage, definitions, clock, log };
  return { decisions: composeDecisionService(ports), runs, archive, redis };
}
