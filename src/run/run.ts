import { toDocketError } from '../base/error.ts';
import { cancel, done, fail, type Outcome, snooze } from '../base/outcome.ts';
import type { Catalog } from '../contract/catalog.ts';
import { assertBegun } from '../definitions/periods/assert-period.ts';
import { DEFAULT_SMALL } from '../definitions/schema/org-settings.ts';
import { reportTargets } from '../definitions/schema/targets.ts';
import { inStagedFolder, type PublishedRun } from '../deliver/archive/archive.ts';
import { deliver } from '../deliver/deliver.ts';
import { RECENT_CATALOG_MAX_AGE_MS } from '../fetch/cache/catalog-cache.ts';
import type { Dataset } from '../fetch/dataset.ts';
import { fetchDataset } from '../fetch/fetch-dataset.ts';
import { incompleteNotes } from '../fetch/notes.ts';
import { withoutCurrentCounts } from '../fetch/tables/current-counts.ts';
import { DEFAULT_LOCALE } from '../i18n/messages.ts';
import { compilePlan, type PlanInput } from '../plan/compile.ts';
import type { Plan } from '../plan/plan.ts';
import { followedMetrics, followedTargets } from '../plan/replacements.ts';
import { headlineFigures } from '../render/figures/headline-figures.ts';
import { buildHeadlines } from '../render/figures/headlines.ts';
import { judgeDataset } from '../render/figures/judge.ts';
import type { RenderOptions } from '../render/render-files.ts';
import { claimFor, releaseClaim } from './claim-period.ts';
import { withCorrection } from './corrections/corrected-edition.ts';
import { deliverAndRecordFigures } from './previous-figures.ts';
import { renderAndPublish, revealOutputSecrets } from './render-stage.ts';
import { isReviewed } from './review/review-inputs.ts';
import { type Reviewed, reviewRun } from './review/review-run.ts';
import type { RunContext, RunPorts } from './run-context.ts';
import { timedStage } from './run-events.ts';
import { currentCountsWindow } from './run-order.ts';
import type { RunOrder } from './run-record.ts';
import { incompleteError, type RunResult, toRunResult, undeliveredError } from './run-result.ts';

/**
 * Runs a report: plan → fetch → render → deliver, each stage with the result of the previous one.
 *
 * Can be called again for the same order after any interruption: stored responses are not requested again, a published
 * run is not rendered again, and the ledger prevents a second send. Independent of the queue and of Redis. Never throws.
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
  // Checkpoint before the first delivery: a published run is neither fetched nor rendered again.
  const existing = await ports.archive.find(order);
  // Of a slot, and of a run that an older version has opened. A worker's clock may be behind that of the scheduler.
  if (existing === undefined) assertBegun(order, Math.max(ports.clock.now(), order.createdAt));
  const reviewed = isReviewed(order, context.definition);
  if (existing === undefined && reviewed) {
    const result = await buildReviewed(order, context, ports);
    if (result.kind !== 'done') return result;
    if (result.value.kind === 'waiting') return done(result.value.result);
    return deliverPublished(order, result.value.published, context, ports);
  }
  const result = existing === undefined ? await buildFiles(order, context, ports) : done(existing);
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
    // Not awaited: responses that remain expire.
    ports.responses.delete(order.id).catch(() => {});
  }
}

/** Holds or delivers a published run; the outcome may be a retry. */
async function finalize(
  order: RunOrder,
  published: PublishedRun,
  context: RunContext,
  ports: RunPorts,
): Promise<Outcome<RunResult>> {
  const { definition } = context;
  const { incomplete, review } = published.manifest;
  // A review that is over has decided about incomplete figures.
  const held =
    definition.on_incomplete === 'hold' && incomplete.length > 0 && !context.released && review === undefined;
  if (!order.deliver || held) return done(toRunResult(held ? 'held' : 'done', published, []));

  const { settings, signal, observe, lastAttempt, confirmLock } = context;
  const claim = claimFor(order, ports);
  const { receipts, retryable, outage } = await timedStage(
    'deliver',
    { observe, clock: ports.clock, trace: ports.trace },
    () =>
      deliverAndRecordFigures(published.manifest, ports, () =>
        deliver({ ...ports, order, definition, settings, published, signal, lastAttempt, observe, confirmLock, claim }),
      ),
  ).finally(() => (context.unrecorded ? releaseClaim(order, ports).catch(() => {}) : undefined));
  const run = context.unrecorded ? undefined : order.id;
  const undelivered = undeliveredError(receipts, run, retryable && !lastAttempt);
  if (undelivered === undefined) return done(toRunResult('done', published, receipts));
  // An aborted delivery says nothing about the targets.
  signal.throwIfAborted();
  // An outage of a target is not the run's failure: a worker snoozes it without using an attempt. Inline it ends.
  if (outage !== undefined && ports.circuit !== undefined) return snooze(outage.until, outage.why);
  if (retryable && !lastAttempt) return fail(undelivered);
  const someMayHaveArrived = receipts.some(({ state }) => state === 'sent' || state === 'unknown');
  return someMayHaveArrived ? done(toRunResult('partly_delivered', published, receipts)) : fail(undelivered);
}

/**
 * The plan of a run. One that another version has begun goes on with its calls: those with the counts of cases are others,
 * and would be asked beside the stored ones.
 */
async function planOf(
  input: PlanInput,
  { id }: Pick<RunOrder, 'id'>,
  fresh: boolean | undefined,
  { responses }: Pick<RunPorts, 'responses'>,
): Promise<Plan> {
  const plan = compilePlan(input);
  if (fresh === true || !plan.calls.some((call) => call.kind === 'report' && call.bases !== undefined)) return plan;
  const ids = new Set(plan.calls.map((call) => call.id));
  const plain = compilePlan({ ...input, bases: false });
  for (const call of plain.calls) {
    if (!ids.has(call.id) && (await responses.get(id, call.id)) !== undefined) return plain;
  }
  return plan;
}

/** The plan and its catalog. If a cached catalog does not allow the definition, a recent one is fetched. */
async function makePlan(
  order: RunOrder,
  { definition, settings, signal, observe, fresh }: RunContext,
  ports: RunPorts,
): Promise<Outcome<{ readonly catalog: Catalog; readonly plan: Plan }>> {
  const planWith = async (maxAgeMs?: number): Promise<Outcome<{ readonly catalog: Catalog; readonly plan: Plan }>> => {
    const { id: run, priority, org: tenant } = order;
    const request = { ...ports, run, priority, org: settings.org, tenant, maxAgeMs };
    const catalog = await ports.catalogs.get(request, signal, observe);
    if (catalog.kind !== 'done') return catalog;
    const { period, sectionPeriods } = order;
    const input = { definition, settings, period, sectionPeriods, catalog: catalog.value };
    const plan = await planOf(input, order, fresh, ports);
    return done({ catalog: catalog.value, plan });
  };
  return planWith().catch((thrown: unknown) => {
    if (toDocketError(thrown).code !== 'plan.invalid') throw thrown;
    return planWith(RECENT_CATALOG_MAX_AGE_MS);
  });
}

/** As for the files: the digest freezes both. */
const localeOf = ({ definition, settings }: Pick<RunContext, 'definition' | 'settings'>): string =>
  definition.locale ?? settings.locale ?? DEFAULT_LOCALE;

/** The dataset with the statuses of its figures and the sentences about them. */
function judgedDataset(
  dataset: Dataset,
  { definition, settings }: Pick<RunContext, 'definition' | 'settings'>,
  catalog: Catalog,
): Dataset {
  const { headline, targets: own = [] } = definition;
  const targets = reportTargets(
    followedTargets(settings.targets ?? [], definition, catalog),
    followedTargets(own, definition, catalog),
  );
  const ruled = { ...dataset, small: settings.small ?? DEFAULT_SMALL };
  const judged = judgeDataset(ruled, targets, { sections: definition.sections, calendar: settings });
  const locale = localeOf({ definition, settings });
  const metrics = headline && followedMetrics(headline, definition, catalog);
  return { ...judged, headlines: buildHeadlines(headlineFigures(judged, locale, settings), metrics, locale) };
}

/** plan → fetch → judge, in a private folder that the caller deletes. */
async function fetchFigures(
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
  folder: string,
): Promise<Outcome<{ readonly dataset: Dataset; readonly secrets: RenderOptions['secrets'] }>> {
  const { definition, settings, signal, observe } = context;
  const stageContext = { observe, clock: ports.clock, trace: ports.trace };
  // An answer of before the change would be sent again as the correction of itself.
  const asked = order.corrects === undefined ? context : { ...context, definition: { ...definition, max_age: 0 } };
  const counts = currentCountsWindow(order);
  const planned = await timedStage('plan', stageContext, async () => {
    const secrets = await revealOutputSecrets(definition, ports);
    const result = await makePlan(order, asked, ports);
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
  const input = { ...ports, run, priority, ...data, folder, signal, observe, fresh: context.fresh };
  const dataset = await timedStage('fetch', stageContext, () => fetchDataset(input));
  if (dataset.kind !== 'done') return dataset;

  const incomplete = incompleteError('run.incomplete', incompleteNotes(dataset.value));
  if (definition.on_incomplete === 'fail' && incomplete !== undefined) return fail(incomplete);
  const judged = judgedDataset(dataset.value, context, catalog);
  return done({ dataset: await withCorrection(judged, order, definition, ports.editions), secrets });
}

/** Fetches and renders in a private folder that is deleted unless it was published. */
async function buildFiles(order: RunOrder, context: RunContext, ports: RunPorts): Promise<Outcome<PublishedRun>> {
  return inStagedFolder(order, ports, async (folder) => {
    const fetched = await fetchFigures(order, context, ports, folder);
    if (fetched.kind !== 'done') return fetched;
    const { secrets } = fetched.value;
    const dataset = ports.annotate?.(fetched.value.dataset, localeOf(context)) ?? fetched.value.dataset;
    return done(await renderAndPublish(dataset, folder, order, secrets, context, ports));
  });
}

/** As `buildFiles`, for a run that waits for people in between. */
const buildReviewed = (order: RunOrder, context: RunContext, ports: RunPorts): Promise<Outcome<Reviewed>> =>
  reviewRun(order, context, ports, async (folder, again) => {
    const definition = again ? { ...context.definition, max_age: 0 } : context.definition;
    // Figures may be fetched several times in one attempt.
    const fetched = await fetchFigures(order, { ...context, definition, fresh: false }, ports, folder);
    return fetched.kind === 'done' ? done(fetched.value.dataset) : fetched;
  });
