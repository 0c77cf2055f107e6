import type { AppContext } from '../base/context.ts';
import { DocketError } from '../base/error.ts';
import type { Outcome } from '../base/outcome.ts';
import type { Scope } from '../base/scope.ts';
import type { Archive } from '../deliver/archive/archive.ts';
import { mirroredArchive } from '../deliver/archive/inline-archive.ts';
import { redisLastSentFigures } from '../deliver/last-sent-figures.ts';
import { fileLedger } from '../deliver/ledger/file-ledger.ts';
import { redisLedger } from '../deliver/ledger/redis-ledger.ts';
import { deleteResponses } from '../fetch/cache/redis-response-store.ts';
import { definitionStore, type FrozenDefinition } from '../queue/definitions/definition-store.ts';
import { redisInlineLeases } from '../queue/runs/inline-leases.ts';
import { type InlineWork, recordInlineRun } from '../queue/runs/inline-run.ts';
import { redisLiveProgress } from '../queue/runs/live-progress.ts';
import { redisRunStore } from '../queue/runs/run-store.ts';
import type { RedisClient } from '../redis/client.ts';
import { DEFAULT_KEY_PREFIX, RETENTION_DAYS } from '../redis/keys.ts';
import type { OnRunEvent } from '../run/run-events.ts';
import type { RunOrder } from '../run/run-record.ts';
import type { RunResult } from '../run/run-result.ts';
import type { ActiveOrgs } from '../services/budgets/key-limits.ts';
import { archiveOnlyIdentity } from '../services/deployment/deployment-identity.ts';
import { type FindEarlierDelivery, findDeliveredInArchive } from '../services/runs/already-delivered.ts';
import { composeFindDelivered, openArchive, openIdentity } from './archive.ts';
import { composeInline, type DeliveryStores, type InlineContext } from './run-ports.ts';

/** A run of a command that delivers, and what is kept of it. */
export interface DeliveringRun extends InlineContext {
  /** The workers' Redis; undefined where none is named. */
  readonly redis: RedisClient | undefined;
  /** Where the run is sealed. */
  readonly archive: Archive;
  /** Before a call is spent: throws `archive.unwritable` where the ledger of a run without Redis could not be kept. */
  readonly assertLedgerWritable: () => Promise<void>;
  /** Undefined where nobody is refused. */
  readonly findDelivered: FindEarlierDelivery | undefined;
  /** Makes the run; with a Redis it is on record meanwhile and afterwards. */
  readonly execute: (
    frozen: FrozenDefinition,
    context: { readonly signal: AbortSignal; readonly observe: OnRunEvent },
    work: InlineWork,
  ) => Promise<Outcome<RunResult>>;
}

type DeliveringParts = Omit<DeliveringRun, keyof InlineContext> & { readonly stores: DeliveryStores };

/**
 * Ports of an inline run that delivers. With a `REDIS_URL` in the environment it has the ledger, archive and records of the
 * workers; `out` gets a copy of what the archive gets. Without one, `out` alone holds its files, and a ledger in the archive's
 * folder says what was sent. Throws as `composeInline`.
 */
export async function composeDeliveringRun(
  app: AppContext,
  order: RunOrder,
  { out, orgs }: { readonly out: Archive; readonly orgs?: ActiveOrgs | undefined },
): Promise<DeliveringRun> {
  const kept: { made?: DeliveringParts } = {};
  const inline = await composeInline(app, out, {
    orgs,
    stores: (redis, scope) => {
      const made =
        redis === undefined ? withoutRedis(app, order, out, scope) : withRedis(app, order, out, redis, scope);
      kept.made = made;
      return made.stores;
    },
  });
  const { made } = kept;
  if (made === undefined) throw new Error('composeInline asked for no stores');
  const { stores: _, ...rest } = made;
  return { ...inline, ...rest };
}

function withRedis(app: AppContext, order: RunOrder, out: Archive, redis: RedisClient, scope: Scope): DeliveringParts {
  const { clock, log } = app;
  const kept = { prefix: DEFAULT_KEY_PREFIX, keepDays: RETENTION_DAYS };
  const prefix = `${DEFAULT_KEY_PREFIX}:`;
  const runs = redisRunStore(redis, { ...kept, log, ended: deleteResponses(redis, { prefix }) });
  const ledger = redisLedger(redis, { prefix, ttlDays: RETENTION_DAYS });
  const identity = openIdentity(app, { redis, prefix: DEFAULT_KEY_PREFIX, runs, writes: true }, scope);
  const archive = mirroredArchive(openArchive(app, scope, identity).archive, out);
  const ports = {
    runs,
    definitions: definitionStore(redis, kept),
    leases: redisInlineLeases(redis, kept),
    live: redisLiveProgress(redis, kept),
    clock,
    log,
  };
  return {
    redis,
    archive,
    stores: { archive, ledger, sentFigures: redisLastSentFigures(redis, { prefix }) },
    assertLedgerWritable: async () => {},
    findDelivered: composeFindDelivered(app, { runs, ledger }, scope),
    execute: (frozen, context, work) => recordInlineRun(order, frozen, ports, context, work),
  };
}

function withoutRedis(app: AppContext, order: RunOrder, out: Archive, scope: Scope): DeliveringParts {
  const { storage } = openArchive(app, scope);
  const { storage: ledgerShelf } = openArchive(app, scope, archiveOnlyIdentity(storage, app.clock));
  return {
    redis: undefined,
    archive: out,
    stores: { archive: out, ledger: fileLedger(ledgerShelf, order) },
    assertLedgerWritable: async () => {
      const { ok, detail } = await storage.probe();
      if (ok) return;
      throw new DocketError('archive.unwritable', `The archive cannot be written: ${detail}.`, {
        expected: 'a folder or bucket for the ledger of what is sent',
        next: 'Set DOCKET_ARCHIVE to one that can be written, or give --no-deliver.',
      });
    },
    findDelivered: app.config.DOCKET_REPEAT === 'allow' ? undefined : findDeliveredInArchive(storage, app.log),
    execute: (_frozen, context, work) => work(context),
  };
}
