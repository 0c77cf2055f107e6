import type { AppContext } from '../base/context.ts';
import { DocketError } from '../base/error.ts';
import type { Outcome } from '../base/outcome.ts';
import type { Scope } from '../base/scope.ts';
import type { Archive } from '../deliver/archive/archive.ts';
import { correctionArchive } from '../deliver/archive/corrections/correction-archive.ts';
import { mirroredArchive } from '../deliver/archive/inline-archive.ts';
import { createReviewArchive } from '../deliver/archive/reviews/create-review-archive.ts';
import { redisLastSentFigures } from '../deliver/last-sent-figures.ts';
import { fileLedger } from '../deliver/ledger/file-ledger.ts';
import type { FrozenDefinition } from '../queue/definitions/definition-store.ts';
import { redisInlineLeases } from '../queue/runs/inline-leases.ts';
import { type InlineWork, recordInlineRun } from '../queue/runs/inline-run.ts';
import { redisLiveProgress } from '../queue/runs/live-progress.ts';
import type { RedisClient } from '../redis/client.ts';
import { DEFAULT_KEY_PREFIX, RETENTION_DAYS } from '../redis/keys.ts';
import { reviewEventSchema } from '../run/review/review-event.ts';
import type { OnRunEvent } from '../run/run-events.ts';
import type { RunOrder } from '../run/run-record.ts';
import type { RunResult } from '../run/run-result.ts';
import type { ActiveOrgs } from '../services/budgets/key-limits.ts';
import { createEditionStore } from '../services/corrections/editions.ts';
import { archiveOnlyIdentity } from '../services/deployment/deployment-identity.ts';
import { type FindEarlierDelivery, findDeliveredInArchive } from '../services/runs/already-delivered.ts';
import { composeClaims, composeFindDelivered, openArchive, openIdentity } from './archive.ts';
import { composeInline, type DeliveryStores, type InlineContext } from './run-ports.ts';
import { openRunStores } from './store.ts';

/** The ports of an inline run that delivers. */
export interface DeliveringRun extends InlineContext {
  /** The workers' Redis; undefined without `REDIS_URL`. */
  readonly redis: RedisClient | undefined;
  /** Where the run is published. */
  readonly archive: Archive;
  /** Call it before the first request. Throws `archive.unwritable` where the ledger of a run without Redis cannot be written. */
  readonly assertLedgerWritable: () => Promise<void>;
  /** Undefined: repeated deliveries are allowed. */
  readonly findDelivered: FindEarlierDelivery | undefined;
  /** Executes the run; with Redis it has a record. */
  readonly execute: (
    frozen: FrozenDefinition,
    context: { readonly signal: AbortSignal; readonly observe: OnRunEvent },
    work: InlineWork,
  ) => Promise<Outcome<RunResult>>;
}

type DeliveringParts = Omit<DeliveringRun, keyof InlineContext> & { readonly stores: DeliveryStores };

/**
 * The ports of an inline run that delivers. With `REDIS_URL` in the environment it uses the ledger, archive and records of
 * the workers, and `out` gets a copy of the archived files. Otherwise only `out` gets the files, and a ledger in the archive
 * records what was sent. Throws as `composeInline`.
 */
export async function composeDeliveringRun(
  app: AppContext,
  order: RunOrder,
  { out, orgs }: { readonly out: Archive; readonly orgs?: ActiveOrgs | undefined },
): Promise<DeliveringRun> {
  const created: { parts?: DeliveringParts } = {};
  const inline = await composeInline(app, out, {
    orgs,
    stores: (redis, scope) => {
      const parts =
        redis === undefined ? withoutRedis(app, order, out, scope) : withRedis(app, order, out, redis, scope);
      created.parts = parts;
      return parts.stores;
    },
  });
  const { parts } = created;
  if (parts === undefined) throw new Error('composeInline has not created the stores');
  const { stores: _, ...rest } = parts;
  return { ...inline, ...rest };
}

function withRedis(app: AppContext, order: RunOrder, out: Archive, redis: RedisClient, scope: Scope): DeliveringParts {
  const { clock, log } = app;
  const kept = { prefix: DEFAULT_KEY_PREFIX, keepDays: RETENTION_DAYS };
  const prefix = `${DEFAULT_KEY_PREFIX}:`;
  const { runs, definitions, ledger } = openRunStores(redis, DEFAULT_KEY_PREFIX, log);
  const identity = openIdentity(app, { redis, prefix: DEFAULT_KEY_PREFIX, runs, writes: true }, scope);
  const opened = openArchive(app, scope, identity);
  const archive = mirroredArchive(opened.archive, out);
  const reviews = createReviewArchive(opened.storage, reviewEventSchema, opened.signing?.events);
  const corrections = correctionArchive(opened.storage, opened.signing?.events);
  const editions = createEditionStore({ corrections, archive: opened.archive, ledger });
  const findDelivered = composeFindDelivered(app, { runs, ledger }, scope);
  const claims = composeClaims(app, opened.storage, findDelivered, { client: redis, prefix: DEFAULT_KEY_PREFIX, runs });
  const ports = {
    runs,
    definitions,
    leases: redisInlineLeases(redis, kept),
    live: redisLiveProgress(redis, kept),
    clock,
    log,
  };
  return {
    redis,
    archive,
    stores: { archive, reviews, editions, ledger, claims, sentFigures: redisLastSentFigures(redis, { prefix }) },
    assertLedgerWritable: async () => {},
    findDelivered,
    execute: (frozen, context, work) => recordInlineRun(order, frozen, ports, context, work),
  };
}

function withoutRedis(app: AppContext, order: RunOrder, out: Archive, scope: Scope): DeliveringParts {
  const { storage } = openArchive(app, scope);
  const { storage: ledgerStorage } = openArchive(app, scope, archiveOnlyIdentity(storage, app.clock));
  const findDelivered = app.config.DOCKET_REPEAT === 'allow' ? undefined : findDeliveredInArchive(storage, app.log);
  const claims = composeClaims(app, ledgerStorage, findDelivered);
  return {
    redis: undefined,
    archive: out,
    stores: { archive: out, ledger: fileLedger(ledgerStorage, order), claims },
    assertLedgerWritable: async () => {
      const { ok, detail } = await storage.probe();
      if (ok) return;
      throw new DocketError('archive.unwritable', `The archive cannot be written: ${detail}.`, {
        expected: 'a folder or bucket for the ledger',
        next: 'Set DOCKET_ARCHIVE to a writable one, or use --no-deliver.',
      });
    },
    findDelivered,
    execute: (_frozen, context, work) => work(context),
  };
}
