import { DocketError, toDocketError } from '../base/error.ts';
import { cancel, done, fail, type Outcome, snooze } from '../base/outcome.ts';
import { MINUTE_MS } from '../base/time.ts';
import { assertBegun } from '../definitions/periods/assert-period.ts';
import { inStagedFolder, type PublishedRun } from '../deliver/archive/archive.ts';
import type { DeliverInput } from '../deliver/deliver.ts';
import { deliverPacks } from '../deliver/deliver-packs.ts';
import { withoutCurrentCounts } from '../fetch/current-counts.ts';
import type { Dataset } from '../fetch/dataset.ts';
import { fetchDataset } from '../fetch/fetch-dataset.ts';
import { incompleteNotes } from '../fetch/notes.ts';
import type { RenderOptions } from '../render/render-files.ts';
import { withCorrection } from './corrections/corrected-edition.ts';
import { judgedDataset, resolveLocale } from './judged-dataset.ts';
import { isPrepared, makePlan, planContext } from './make-plan.ts';
import { deliverAndRecordFigures } from './previous-figures.ts';
import { renderAndPublish, revealOutputSecrets } from './render-stage.ts';
import { isRequestedAgain } from './request-fingerprint.ts';
import { admittedDeliveries } from './review/added-recipients.ts';
import { loadReview } from './review/load-review.ts';
import { isReviewed } from './review/review-inputs.ts';
import { type Reviewed, reviewRun } from './review/review-run.ts';
import type { RunContext, RunPorts } from './run-context.ts';
import { timedStage } from './run-events.ts';
import { currentCountsWindow } from './run-order.ts';
import type { RunOrder } from './run-record.ts';
import { incompleteError, type RunResult, toRunResult, undeliveredError } from './run-result.ts';
import { buildPacks } from './split/build-packs.ts';
import { fetchSplitFigures } from './split/split-figures.ts';

/**
 * Runs a report: plan → fetch → render → deliver. Each stage uses the result of the previous one.
 *
 * Can be called again for the same order after any interruption: stored responses are not requested again, a published
 * run is not rendered again, and the ledger prevents sending twice. Independent of the queue and of Redis. Never
 * throws.
 */
export async function run(order: RunOrder, context: RunContext, ports: RunPorts): Promise<Outcome<RunResult>> {
  try {
    return await runStages(order, context, ports);
  } catch (thrown) {
    const { signal } = context;
    if (signal.aborted) return cancel(signal.reason instanceof Error ? signal.reason.message : String(signal.reason));
    return fail(toDocketError(thrown));
  }
}

async function runStages(order: RunOrder, context: RunContext, ports: RunPorts): Promise<Outcome<RunResult>> {
  // The checkpoint before the first delivery: a published run is neither fetched nor rendered again.
  const existing = await ports.archive.find(order);
  // A slot, or a run opened by an older version, may be for a period that has not begun. A worker's clock may be behind
  // the scheduler's.
  if (existing === undefined) assertBegun(order, Math.max(ports.clock.now(), order.createdAt));
  const reviewed = isReviewed(order, context.definition);
  if (existing === undefined && reviewed) {
    const result = await buildReviewed(order, context, ports);
    if (result.kind !== 'done') return result;
    if (result.value.kind === 'waiting') return done(result.value.result);
    return deliverPublished(order, result.value.published, context, ports);
  }
  const build = context.definition.split === undefined ? buildFiles : buildPacks;
  const result = existing === undefined ? await build(order, context, ports) : done(existing);
  return result.kind === 'done' ? deliverPublished(order, result.value, context, ports) : result;
}

async function deliverPublished(
  order: RunOrder,
  published: PublishedRun,
  context: RunContext,
  ports: RunPorts,
): Promise<Outcome<RunResult>> {
  try {
    return await finalize(order, published, context, ports);
  } finally {
    await ports.archive.discardCheckout(published);
    // Not awaited, because remaining responses expire anyway.
    ports.responses.delete(order.id).catch(() => {});
  }
}

/**
 * How often to check whether deliveries are still stopped. A release on the same Redis usually wakes the run at once,
 * but misses a run whose attempt is about to snooze.
 */
const STOP_SNOOZE_MS = MINUTE_MS;

/**
 * Holds or delivers a published run. The outcome may be a retry. While deliveries are stopped, a worker's run waits.
 */
async function finalize(
  order: RunOrder,
  published: PublishedRun,
  context: RunContext,
  ports: RunPorts,
): Promise<Outcome<RunResult>> {
  try {
    return await holdOrDeliver(order, published, context, ports);
  } catch (thrown) {
    const isStopped = thrown instanceof DocketError && thrown.code === 'delivery.stopped';
    // A command's run cannot wait: it fails, and can be retried after the release.
    if (!isStopped || ports.circuit === undefined) throw thrown;
    return snooze(ports.clock.now() + STOP_SNOOZE_MS, thrown.message);
  }
}

async function holdOrDeliver(
  order: RunOrder,
  published: PublishedRun,
  context: RunContext,
  ports: RunPorts,
): Promise<Outcome<RunResult>> {
  const { definition } = context;
  const { incomplete, review } = published.manifest;
  // An approved or released review has already decided about incomplete figures.
  const held =
    definition.on_incomplete === 'hold' && incomplete.length > 0 && !context.released && review === undefined;
  if (!order.deliver || held) return done(toRunResult(held ? 'held' : 'done', published, []));

  const { settings, signal, observe, lastAttempt, confirmLock, askedAt: requestedAt } = context;
  const { ledger, switches } = ports;
  if (ledger === undefined) throw new Error('A run that delivers has no ledger.');
  const confirmOpen = switches && (() => switches.assertOpen(order.org));
  const stores = { ...ports, ledger, confirmOpen };
  const claim = claimFor(order, ports);
  await confirmOpen?.();
  const { receipts, retryable, outage } = await timedStage(
    'deliver',
    { observe, clock: ports.clock, trace: ports.trace },
    () =>
      deliverPacks(
        {
          ...stores,
          order,
          definition,
          settings,
          published,
          signal,
          lastAttempt,
          observe,
          confirmLock,
          claim,
          askedAt: requestedAt,
          closeIfReplaced: async () => ports.editions?.closeIfReplaced(order),
          admitted: async () =>
            ports.reviews === undefined ? new Set() : admittedDeliveries(await loadReview(ports.reviews, order)),
        },
        (manifest, work) => deliverAndRecordFigures(manifest, stores, work),
      ),
  );
  const undelivered = undeliveredError(receipts, order.id, retryable && !lastAttempt);
  if (undelivered === undefined) return done(toRunResult('done', published, receipts));
  // A stop in the middle of a message left it pending. That is not a failure of its target.
  if (retryable) await confirmOpen?.();
  // If the delivery was aborted, its result says nothing about the targets.
  signal.throwIfAborted();
  // An outage of a target is not the run's failure. A worker snoozes the run without using an attempt; an inline run
  // ends.
  if (outage !== undefined && ports.circuit !== undefined) return snooze(outage.until, outage.why);
  if (retryable && !lastAttempt) return fail(undelivered);
  const someMayHaveArrived = receipts.some(({ state }) => state === 'sent' || state === 'unknown');
  return someMayHaveArrived ? done(toRunResult('partly_delivered', published, receipts)) : fail(undelivered);
}

/** plan → fetch → judge, in a private folder. The caller deletes the folder. */
async function fetchFigures(
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
  folder: string,
): Promise<Outcome<{ readonly dataset: Dataset; readonly secrets: RenderOptions['secrets'] }>> {
  const { definition, settings, signal, observe } = context;
  const stageContext = { observe, clock: ports.clock, trace: ports.trace };
  const counts = currentCountsWindow(order);
  const planned = await timedStage('plan', stageContext, async () => {
    const secrets = await revealOutputSecrets(definition, ports);
    const result = await makePlan(order, planContext(order, context), ports);
    if (result.kind !== 'done') return result;
    const { catalog, plan } = result.value;
    return done({ secrets, catalog, plan: counts.why === 'backfill' ? withoutCurrentCounts(plan) : plan });
  });
  if (planned.kind !== 'done') return planned;
  const { secrets, catalog, plan } = planned.value;
  observe({ type: 'planned', calls: plan.calls.length, sections: plan.sections.length });

  const organization = settings.name ?? settings.id;
  const { id: run, priority } = order;
  const find = ports.readings;
  const readings = settings.readings && find && { settings: settings.readings, timezone: settings.timezone, find };
  const data = { plan, organization, catalog, counts, readings, calendar: settings };
  const prepared = isPrepared(order, definition);
  const input = { ...ports, run, priority, ...data, folder, signal, observe, fresh: context.fresh, prepared };
  const dataset = await timedStage('fetch', stageContext, () => fetchDataset(input));
  if (dataset.kind !== 'done') return dataset;

  const incomplete = incompleteError('run.incomplete', incompleteNotes(dataset.value));
  if (definition.on_incomplete === 'fail' && incomplete !== undefined) return fail(incomplete);
  const judged = judgedDataset(dataset.value, context, catalog);
  const corrected = await withCorrection(judged, order, context, ports);
  return corrected.kind === 'done' ? done({ dataset: corrected.value, secrets }) : corrected;
}

/** Fetches and renders in a private folder, which is deleted unless it was published. */
async function buildFiles(order: RunOrder, context: RunContext, ports: RunPorts): Promise<Outcome<PublishedRun>> {
  return inStagedFolder(order, ports, async (folder) => {
    const fetched = await fetchFigures(order, context, ports, folder);
    if (fetched.kind !== 'done') return fetched;
    const { secrets } = fetched.value;
    const dataset = ports.annotate?.(fetched.value.dataset, resolveLocale(context)) ?? fetched.value.dataset;
    return done(await renderAndPublish(dataset, folder, order, secrets, context, ports));
  });
}

/** Fetches the figures of a run that needs comments or approval, and publishes its files once it has them. */
const buildReviewed = (order: RunOrder, context: RunContext, ports: RunPorts): Promise<Outcome<Reviewed>> =>
  reviewRun(order, context, ports, async (folder, again) => {
    const definition = again ? { ...context.definition, max_age: 0 } : context.definition;
    // One attempt may fetch figures several times, so stored responses may exist.
    const own = { ...context, definition, fresh: false };
    if (definition.split !== undefined) {
      const split = await fetchSplitFigures(order, own, ports, folder);
      return split.kind === 'done' ? done(split.value.figures) : split;
    }
    const fetched = await fetchFigures(order, own, ports, folder);
    return fetched.kind === 'done' ? done(fetched.value.dataset) : fetched;
  });

/**
 * Makes the claim of the run's period, which is needed before the first delivery. Some runs may take it over from
 * another run: a slot, a corrected edition, a run that was requested or approved with `again`, and a run that has
 * already delivered something.
 */
export const claimFor = (
  order: RunOrder,
  { claims, reviews }: Pick<RunPorts, 'claims' | 'reviews'>,
): DeliverInput['claim'] =>
  claims &&
  ((hasBegun) => {
    const isExempt = order.trigger === 'schedule' || order.corrects !== undefined || isRequestedAgain(order);
    return claims.acquire(order, async () => isExempt || (await hasBegun()) || (await isApprovedAgain(order, reviews)));
  });

/** Whether somebody approved the current content with `again`, so that its period may be delivered a second time. */
async function isApprovedAgain(order: RunOrder, reviews: RunPorts['reviews']): Promise<boolean> {
  const events = (await reviews?.events(order)) ?? [];
  const seal = events.findLast((event) => event.type === 'seal');
  return events.some((event) => event.type === 'approve' && event.again && event.content === seal?.content);
}
