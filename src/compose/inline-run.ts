import type { AppContext } from '../base/context.ts';
import { DocketError } from '../base/error.ts';
import type { Outcome } from '../base/outcome.ts';
import { createScope, type Scope } from '../base/scope.ts';
import type { Definition } from '../definitions/schema/report-definition.ts';
import { copyToOutput, inlineArchive } from '../deliver/archive/inline-archive.ts';
import { hasBegun, type PeriodClaims } from '../deliver/claims/claim.ts';
import { withArchivedLedger } from '../deliver/ledger/archived-ledger.ts';
import type { Ledger } from '../deliver/ledger/ledger.ts';
import type { FrozenDefinition } from '../queue/definitions/definition-store.ts';
import { type InlineWork, recordInlineRun } from '../queue/runs/inline-run.ts';
import { redisLiveProgress } from '../queue/runs/live-progress.ts';
import type { OnRunEvent } from '../run/run-events.ts';
import type { RunOrder } from '../run/run-record.ts';
import type { RunResult } from '../run/run-result.ts';
import type { ActiveOrgs } from '../services/budgets/key-limits.ts';
import { assertNotDelivered } from '../services/runs/already-delivered.ts';
import { commandAuditLog, openDelivering, openDeployment } from './deployment.ts';
import { openSharedRedis, withPrivateRedis } from './redis.ts';
import { createInlinePorts, type InlineContext, probeArchive } from './run-ports.ts';

/** A run with deliveries that this process executes. */
export interface DeliveringRun extends InlineContext {
  /** The earlier delivery that the run repeats, if `again` is set. */
  readonly repeats: Pick<RunOrder, 'repeats'>;
  /** Records the run as workers do, executes it, and puts its files into the folder of `--out`. */
  readonly execute: (
    frozen: FrozenDefinition,
    context: { readonly signal: AbortSignal; readonly observe: OnRunEvent },
    work: InlineWork,
  ) => Promise<Outcome<RunResult>>;
}

export interface DeliveringOptions {
  /** The folder of `--out`. */
  readonly out: string;
  readonly definition: Pick<Definition, 'deliveries'>;
  readonly by: string;
  /** Delivers again if the period was already delivered. */
  readonly again: boolean;
  readonly orgs?: ActiveOrgs | undefined;
}

/**
 * Prepares a run with deliveries. Uses the workers' records, ledger and claims in `REDIS_URL`, or those of a private
 * Redis, which it starts if needed. With `REDIS_URL`, the run is published to the archive and copied to `out`. With a
 * private Redis, it is only published to `out`, and the archive keeps what was sent (`withArchivedLedger`).
 *
 * Throws before any call to the service: `redis.unreachable`, `redis.unsuitable`, `already_delivered`,
 * `archive.unwritable`, `deployment.conflict`.
 */
export async function composeDeliveringRun(
  app: AppContext,
  order: RunOrder,
  options: DeliveringOptions,
): Promise<DeliveringRun> {
  const scope = createScope();
  try {
    return await openDeliveringRun(app, order, options, scope);
  } catch (error) {
    await scope.close();
    throw error;
  }
}

async function openDeliveringRun(
  app: AppContext,
  requested: RunOrder,
  { out, definition, by, again, orgs }: DeliveringOptions,
  scope: Scope,
): Promise<DeliveringRun> {
  const context = await withPrivateRedis(app, scope, 'start');
  const { clock } = context;
  const redis = await openSharedRedis(context, scope);
  const deployment = openDeployment(context, { redis, auditLog: commandAuditLog(context) }, scope);
  const { findDelivered, endAbandoned, ...delivering } = openDelivering(context, deployment, scope);
  const stores = { ...deployment, ...delivering };
  const { archive, storage, ledger } = deployment;
  await endAbandoned();
  const repeats = await assertNotDelivered(requested, definition, { again, find: findDelivered, now: clock.now() });
  const order: RunOrder = { ...requested, ...repeats };
  const isPrivate = Boolean(context.redis);
  if (isPrivate) {
    const { ok, detail } = await storage.probe();
    if (!ok && definition.deliveries.length > 0) throw unwritableError(detail);
  } else await probeArchive(archive, order);
  const { id, org, report } = order;
  await deployment.audit.record({ event: 'run.triggered', who: by, org, report, run: id });
  const published = isPrivate
    ? {
        archive: withArchivedLedger(inlineArchive(out), order, { ledger, metadata: storage.metadata }),
        // Not in `out`: runs that wait for people wait in the archive.
        reviews: undefined,
        editions: undefined,
      }
    : {};
  const live = redisLiveProgress(redis, deployment);
  return {
    ...createInlinePorts(context, redis, scope, { ...stores, ...published }, { orgs }),
    repeats,
    execute: async (frozen, running, work) => {
      const outcome = await recordInlineRun(order, frozen, { ...stores, live }, running, work);
      await releaseClaim(order, stores).catch(() => {});
      if (isPrivate) return outcome;
      await copyToOutput(storage.runFiles(order), out).catch((error: unknown) => {
        if (outcome.kind === 'done') throw error;
      });
      return outcome;
    },
  };
}

const unwritableError = (detail: string): DocketError =>
  new DocketError('archive.unwritable', `The archive cannot be written: ${detail}.`, {
    expected: 'a folder or bucket that gets what was sent',
    next: 'Set DOCKET_ARCHIVE to a writable one, or use --no-deliver.',
  });

/**
 * Releases the claim of an ended run that has delivered nothing. Processes with the same Redis see this in its record.
 * Those that share only the archive do not, and would need `again`.
 */
async function releaseClaim(
  order: RunOrder,
  { claims, ledger }: { readonly claims: PeriodClaims | undefined; readonly ledger: Ledger },
): Promise<void> {
  if (claims === undefined || hasBegun(await ledger.list(order.id))) return;
  await claims.release(order);
}
