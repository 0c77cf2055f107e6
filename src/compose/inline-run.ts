import { DocketError } from '../base/error.ts';
import type { Outcome } from '../base/outcome.ts';
import type { RedisClient } from '../base/redis-client.ts';
import type { Scope } from '../base/scope.ts';
import type { Archive } from '../deliver/archive.ts';
import { fileLedger } from '../deliver/file-ledger.ts';
import { mirroredArchive } from '../deliver/mirrored-archive.ts';
import { redisLedger } from '../deliver/redis-ledger.ts';
import { redisSentFigures } from '../deliver/sent-figures.ts';
import { dropAnswers } from '../fetch/redis-store.ts';
import type { FindDelivered } from '../queue/already-delivered.ts';
import { definitionStore, type FrozenDefinition } from '../queue/definition-store.ts';
import { type InlineWork, inlineLeases, recordInlineRun } from '../queue/inline-run.ts';
import { DEFAULT_PREFIX } from '../queue/keys.ts';
import { redisLive } from '../queue/live.ts';
import { redisRunStore } from '../queue/run-store.ts';
import type { Observe } from '../run/event.ts';
import type { RunOrder } from '../run/record.ts';
import type { RunResult } from '../run/result.ts';
import { openArchive, openIdentity, ownIdentity } from './archive.ts';
import { deliveredByArchive, findDelivered } from './delivered.ts';
import { KEEP_DAYS } from './keep-days.ts';
import type { OrgsInForce } from './key-limits.ts';
import { composeInline, type Inline, type InlineStores, type Surroundings } from './ports.ts';

/** A run of a command that delivers, and what is kept of it. */
export interface DeliveringRun extends Inline {
  /** The workers' Redis; undefined where none is named. */
  readonly redis: RedisClient | undefined;
  /** Where the run is sealed. */
  readonly archive: Archive;
  /** Before a call is spent: throws `archive.unwritable` where the ledger of a run without Redis could not be kept. */
  readonly tryLedger: () => Promise<void>;
  /** Undefined where nobody is refused. */
  readonly findDelivered: FindDelivered | undefined;
  /** Makes the run; with a Redis it is on record meanwhile and afterwards. */
  readonly execute: (
    frozen: FrozenDefinition,
    context: { readonly signal: AbortSignal; readonly observe: Observe },
    work: InlineWork,
  ) => Promise<Outcome<RunResult>>;
}

type Kept = Omit<DeliveringRun, keyof Inline> & { readonly stores: InlineStores };

/**
 * Ports of an inline run that delivers. With a `REDIS_URL` in the environment it has the ledger, archive and records of the
 * workers; `out` gets a copy of what the archive gets. Without one, `out` alone holds its files, and a ledger in the archive's
 * folder says what was sent. Throws as `composeInline`.
 */
export async function composeDeliveringRun(
  around: Surroundings,
  order: RunOrder,
  { out, orgs }: { readonly out: Archive; readonly orgs?: OrgsInForce | undefined },
): Promise<DeliveringRun> {
  const kept: { made?: Kept } = {};
  const inline = await composeInline(around, out, {
    orgs,
    stores: (redis, scope) => {
      const made =
        redis === undefined ? alone(around, order, out, scope) : amongWorkers(around, order, out, redis, scope);
      kept.made = made;
      return made.stores;
    },
  });
  const { made } = kept;
  if (made === undefined) throw new Error('composeInline asked for no stores');
  const { stores: _, ...rest } = made;
  return { ...inline, ...rest };
}

function amongWorkers(around: Surroundings, order: RunOrder, out: Archive, redis: RedisClient, scope: Scope): Kept {
  const { clock, log } = around;
  const kept = { prefix: DEFAULT_PREFIX, keepDays: KEEP_DAYS };
  const prefix = `${DEFAULT_PREFIX}:`;
  const runs = redisRunStore(redis, { ...kept, log, ended: dropAnswers(redis, { prefix }) });
  const ledger = redisLedger(redis, { prefix, ttlDays: KEEP_DAYS });
  const identity = openIdentity(around, { redis, prefix: DEFAULT_PREFIX, runs, writes: true }, scope);
  const archive = mirroredArchive(openArchive(around, scope, identity).archive, out);
  const ports = {
    runs,
    definitions: definitionStore(redis, kept),
    leases: inlineLeases(redis, kept),
    live: redisLive(redis, kept),
    clock,
    log,
  };
  return {
    redis,
    archive,
    stores: { archive, ledger, sentFigures: redisSentFigures(redis, { prefix }) },
    tryLedger: async () => {},
    findDelivered: findDelivered(around, { runs, ledger }, scope),
    execute: (frozen, context, work) => recordInlineRun(order, frozen, ports, context, work),
  };
}

function alone(around: Surroundings, order: RunOrder, out: Archive, scope: Scope): Kept {
  const { shelf } = openArchive(around, scope);
  const { shelf: ledgerShelf } = openArchive(around, scope, ownIdentity(shelf, around.clock));
  return {
    redis: undefined,
    archive: out,
    stores: { archive: out, ledger: fileLedger(ledgerShelf, order) },
    tryLedger: async () => {
      const { ok, detail } = await shelf.probe();
      if (ok) return;
      throw new DocketError('archive.unwritable', `The archive cannot be written: ${detail}.`, {
        expected: 'a folder or bucket for the ledger of what is sent',
        next: 'Set DOCKET_ARCHIVE to one that can be written, or give --no-deliver.',
      });
    },
    findDelivered: around.config.DOCKET_REPEAT === 'allow' ? undefined : deliveredByArchive(shelf, around.log),
    execute: (_frozen, context, work) => work(context),
  };
}
