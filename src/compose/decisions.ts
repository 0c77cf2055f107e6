import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { type Archive, attemptFromDecision, type PublishedManifest } from '../deliver/archive/archive.ts';
import type { ArchiveStorage } from '../deliver/archive/storage/archive-storage.ts';
import type { DeliveryRow, Ledger, Resolution } from '../deliver/ledger/ledger.ts';
import { redisLedger } from '../deliver/ledger/redis-ledger.ts';
import { deleteResponses } from '../fetch/cache/redis-response-store.ts';
import { type DefinitionStore, definitionStore } from '../queue/definitions/definition-store.ts';
import { type RunQueue, runQueue } from '../queue/jobs/run-queue.ts';
import { type NoticeOutbox, redisNoticeOutbox } from '../queue/runs/notice-outbox.ts';
import { type RedisRunStore, redisRunStore } from '../queue/runs/run-store.ts';
import type { RedisClient } from '../redis/client.ts';
import { openRedis } from '../redis/connection.ts';
import { DEFAULT_KEY_PREFIX, RETENTION_DAYS } from '../redis/keys.ts';
import { reportFileSchema } from '../services/definitions/built-in-kinds.ts';
import { restoreOrder } from '../services/deliveries/decision-archive.ts';
import {
  createDecisionService,
  type DecisionService,
  type DecisionServicePorts,
} from '../services/deliveries/decisions.ts';
import { recoverRowsOf } from '../services/deliveries/undecided-deliveries.ts';
import { openArchive, openIdentity } from './archive.ts';
import type { AppContext } from './run-ports.ts';

/** What decisions about one deployment's deliveries go through. */
export interface DecisionServiceParts {
  readonly runs: RedisRunStore;
  readonly queue: RunQueue;
  readonly ledger: Ledger;
  readonly noticeOutbox: NoticeOutbox;
  readonly archive: Archive;
  /** What the archive stands on, to search it. */
  readonly storage: Pick<ArchiveStorage, 'listRuns'>;
  readonly definitions: Pick<DefinitionStore, 'touch' | 'get'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Decisions over the parts that a worker or a command has opened. */
export const composeDecisionService = (parts: DecisionServiceParts): DecisionService =>
  createDecisionService({ ...parts, archive: decisionArchive(parts) });

function decisionArchive(parts: DecisionServiceParts): DecisionServicePorts['archive'] {
  const { archive } = parts;
  return {
    recover: async (delivery, orgs) => {
      await recoverRowsOf([delivery], parts, orgs);
    },
    orderOf: (row) => restoreOrder(row, parts),
    isPublished: async (order) => {
      const sealed = await archive.find(order);
      if (sealed !== undefined) await archive.discardCheckout(sealed);
      return sealed !== undefined;
    },
    recordDecision: async (row, decision) => {
      const sealed = await archive.peek({ id: row.run, org: row.org, report: row.report });
      if (sealed === undefined) return;
      await archive.putAttempt(sealed, attemptFromDecision(row, decision));
      await archive.putReceipts(sealed, await updatedReceipts(archive, sealed, row, decision));
    },
    release: async (order, release) => {
      const sealed = await archive.peek(order);
      if (sealed !== undefined) await archive.putRelease(sealed, release);
    },
  };
}

async function updatedReceipts(
  archive: Archive,
  sealed: PublishedManifest,
  { id, state, detail }: DeliveryRow,
  { to }: Resolution,
) {
  const receipts = await archive.getReceipts(sealed);
  const messageId = to === 'pending' ? { messageId: null } : {};
  return receipts.map((receipt) => (receipt.delivery === id ? { ...receipt, state, detail, ...messageId } : receipt));
}

/** What a command needs to look at deliveries and to decide. */
export interface DecisionContext {
  readonly decisions: DecisionService;
  readonly runs: RedisRunStore;
  readonly archive: Archive;
  readonly redis: RedisClient;
  readonly scope: Scope;
}

/**
 * Opens Redis and the archive for a command; its scope closes them. Throws `redis.unreachable`, and for one that decides
 * `deployment.conflict` before anything is changed.
 */
export async function openDecisions(
  around: AppContext,
  { decides = false }: { readonly decides?: boolean } = {},
): Promise<DecisionContext> {
  const scope = createScope();
  try {
    return await openContext(around, decides, scope);
  } catch (error) {
    await scope.close();
    throw error;
  }
}

async function openContext(around: AppContext, decides: boolean, scope: Scope): Promise<DecisionContext> {
  const { config, clock, log } = around;
  const redis = scope.use(await openRedis(config.REDIS_URL, 'producer', log), (opened) => opened.disconnect());
  const ended = deleteResponses(redis, { prefix: `${DEFAULT_KEY_PREFIX}:` });
  const runs = redisRunStore(redis, { prefix: DEFAULT_KEY_PREFIX, keepDays: RETENTION_DAYS, log, ended });
  const queue = scope.use(runQueue(redis, { prefix: DEFAULT_KEY_PREFIX }), (opened) => opened.close());
  const identity = openIdentity(around, { redis, prefix: DEFAULT_KEY_PREFIX, runs, writes: true }, scope);
  if (decides) await identity.id();
  const { archive, storage } = openArchive(around, scope, identity);
  const ledger = redisLedger(redis, { prefix: `${DEFAULT_KEY_PREFIX}:`, ttlDays: RETENTION_DAYS });
  const noticeOutbox = redisNoticeOutbox(redis, { prefix: DEFAULT_KEY_PREFIX });
  const definitions = definitionStore(redis, {
    prefix: DEFAULT_KEY_PREFIX,
    keepDays: RETENTION_DAYS,
    reportSchema: reportFileSchema,
  });
  const parts = { runs, queue, ledger, noticeOutbox, archive, storage, definitions, clock, log };
  return { decisions: composeDecisionService(parts), runs, archive, redis, scope };
}
