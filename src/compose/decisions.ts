import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { RedisClient } from '../base/redis-client.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { type Archive, decidedAttempt, type SealedRun } from '../deliver/archive.ts';
import type { DeliveryRow, Ledger, Resolution } from '../deliver/ledger.ts';
import { redisLedger } from '../deliver/redis-ledger.ts';
import type { Shelf } from '../deliver/shelf.ts';
import { dropAnswers } from '../fetch/redis-store.ts';
import { openRedis } from '../queue/connection.ts';
import { type DecisionPorts, type Decisions, decisions } from '../queue/decisions.ts';
import { type DefinitionStore, definitionStore } from '../queue/definition-store.ts';
import { type RunQueue, runQueue } from '../queue/jobs.ts';
import { DEFAULT_PREFIX } from '../queue/keys.ts';
import { type OwedNotices, owedNotices } from '../queue/owed-notices.ts';
import { type RedisRunStore, redisRunStore } from '../queue/run-store.ts';
import { openArchive, openIdentity } from './archive.ts';
import { archivedOrder } from './archived-order.ts';
import { KEEP_DAYS } from './keep-days.ts';
import type { Surroundings } from './ports.ts';
import { recoverUndecided } from './undecided.ts';

/** What decisions about one deployment's deliveries go through. */
export interface DecisionParts {
  readonly runs: RedisRunStore;
  readonly queue: RunQueue;
  readonly ledger: Ledger;
  readonly owed: OwedNotices;
  readonly archive: Archive;
  /** What the archive stands on, to search it. */
  readonly shelf: Pick<Shelf, 'runs'>;
  readonly definitions: Pick<DefinitionStore, 'keep' | 'get'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Decisions over the parts that a worker or a command has opened. */
export const bindDecisions = (parts: DecisionParts): Decisions =>
  decisions({ ...parts, archive: decisionArchive(parts) });

function decisionArchive(parts: DecisionParts): DecisionPorts['archive'] {
  const { archive } = parts;
  return {
    recover: async (delivery, orgs) => {
      await recoverUndecided([delivery], parts, orgs);
    },
    orderOf: (row) => archivedOrder(row, parts),
    sealed: async (order) => {
      const sealed = await archive.find(order);
      if (sealed !== undefined) await archive.letGo(sealed);
      return sealed !== undefined;
    },
    keep: async (row, decision) => {
      const sealed = await archive.peek({ id: row.run, org: row.org, report: row.report });
      if (sealed === undefined) return;
      await archive.keepAttempt(sealed, decidedAttempt(row, decision));
      await archive.keepReceipts(sealed, await receiptsWith(archive, sealed, row, decision));
    },
    release: async (order, release) => {
      const sealed = await archive.peek(order);
      if (sealed !== undefined) await archive.keepRelease(sealed, release);
    },
  };
}

async function receiptsWith(
  archive: Archive,
  sealed: SealedRun,
  { id, state, detail }: DeliveryRow,
  { to }: Resolution,
) {
  const receipts = await archive.receipts(sealed);
  const messageId = to === 'pending' ? { messageId: null } : {};
  return receipts.map((receipt) => (receipt.delivery === id ? { ...receipt, state, detail, ...messageId } : receipt));
}

/** What a command needs to look at deliveries and to decide. */
export interface Desk {
  readonly decisions: Decisions;
  readonly runs: RedisRunStore;
  readonly archive: Archive;
  readonly redis: RedisClient;
  readonly scope: Scope;
}

/**
 * Opens Redis and the archive for a command; its scope closes them. Throws `redis.unreachable`, and for one that decides
 * `deployment.conflict` before anything is changed.
 */
export async function openDesk(
  around: Surroundings,
  { decides = false }: { readonly decides?: boolean } = {},
): Promise<Desk> {
  const scope = createScope();
  try {
    return await open(around, decides, scope);
  } catch (error) {
    await scope.close();
    throw error;
  }
}

async function open(around: Surroundings, decides: boolean, scope: Scope): Promise<Desk> {
  const { config, clock, log } = around;
  const redis = scope.use(await openRedis(config.REDIS_URL, 'producer', log), (opened) => opened.disconnect());
  const ended = dropAnswers(redis, { prefix: `${DEFAULT_PREFIX}:` });
  const runs = redisRunStore(redis, { prefix: DEFAULT_PREFIX, keepDays: KEEP_DAYS, log, ended });
  const queue = scope.use(runQueue(redis, { prefix: DEFAULT_PREFIX }), (opened) => opened.close());
  const identity = openIdentity(around, { redis, prefix: DEFAULT_PREFIX, runs, writes: true }, scope);
  if (decides) await identity.id();
  const { archive, shelf } = openArchive(around, scope, identity);
  const ledger = redisLedger(redis, { prefix: `${DEFAULT_PREFIX}:`, ttlDays: KEEP_DAYS });
  const owed = owedNotices(redis, { prefix: DEFAULT_PREFIX });
  const definitions = definitionStore(redis, { prefix: DEFAULT_PREFIX, keepDays: KEEP_DAYS });
  const parts = { runs, queue, ledger, owed, archive, shelf, definitions, clock, log };
  return { decisions: bindDecisions(parts), runs, archive, redis, scope };
}
