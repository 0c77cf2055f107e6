import { diskError } from '../base/disk-error.ts';
import { toDocketError } from '../base/error.ts';
import { cancel, done, fail, type Outcome, snooze } from '../base/outcome.ts';
import type { Catalog } from '../contract/catalog.ts';
import type { Sealed } from '../deliver/archive.ts';
import { deliver } from '../deliver/deliver.ts';
import { RECENT_CATALOG_MS } from '../fetch/catalogs.ts';
import { withoutCounts } from '../fetch/current-counts.ts';
import { incompleteNotes } from '../fetch/dataset.ts';
import { fetchDataset } from '../fetch/fetch.ts';
import { compilePlan } from '../plan/compile.ts';
import type { Plan } from '../plan/plan.ts';
import { incompleteError, resultOf, undeliveredError } from './ending.ts';
import { workbookLook } from './look.ts';
import { countsWindow } from './order.ts';
import type { RunContext, RunPorts } from './ports.ts';
import type { RunOrder } from './record.ts';
import { remembering } from './remember.ts';
import { render } from './render.ts';
import type { RunResult } from './result.ts';
import { timed } from './timed.ts';

/**
 * One run of a report: plan → fetch → render → deliver, each stage taking the value of the one before.
 *
 * May be called again for the same order after any interruption: answers that came are not asked again, a sealed folder
 * is not made again, and the ledger lets nothing be sent twice. Knows neither the queue nor Redis, and never throws.
 */
export async function run(order: RunOrder, context: RunContext, ports: RunPorts): Promise<Outcome<RunResult>> {
  try {
    return await stages(order, context, ports);
  } catch (thrown) {
    const { signal } = context;
    if (signal.aborted) return cancel(signal.reason instanceof Error ? signal.reason.message : String(signal.reason));
    return fail(toDocketError(thrown));
  }
}

async function stages(order: RunOrder, context: RunContext, ports: RunPorts): Promise<Outcome<RunResult>> {
  // The checkpoint of everything before the first delivery: a sealed folder is neither fetched nor rendered again.
  const found = await ports.archive.find(order);
  const made = found === undefined ? await pack(order, context, ports) : done(found);
  if (made.kind !== 'done') return made;
  const sealed = made.value;
  try {
    return await settle(order, sealed, context, ports);
  } finally {
    await ports.archive.letGo(sealed);
    // Nobody waits for it: answers that stay behind go by themselves.
    ports.responses.drop(order.id).catch(() => {});
  }
}

/** What becomes of a sealed run: held, delivered, or to be tried again. */
async function settle(
  order: RunOrder,
  sealed: Sealed,
  context: RunContext,
  ports: RunPorts,
): Promise<Outcome<RunResult>> {
  const { definition } = context;
  const held = definition.on_incomplete === 'hold' && sealed.manifest.incomplete.length > 0 && !context.released;
  if (!order.deliver || held) return done(resultOf(held ? 'held' : 'done', sealed, []));

  const { settings, signal, observe, lastAttempt, confirmLock } = context;
  const { receipts, retryable, outage } = await timed(
    'deliver',
    { observe, clock: ports.clock, trace: ports.trace },
    () =>
      remembering(sealed.manifest, ports, () =>
        deliver({ ...ports, order, definition, settings, sealed, signal, lastAttempt, observe, confirmLock }),
      ),
  );
  const undelivered = undeliveredError(receipts, context.unrecorded ? undefined : order.id);
  if (undelivered === undefined) return done(resultOf('done', sealed, receipts));
  // What was stopped half-way says nothing of the targets, and is not the last word of the last try.
  signal.throwIfAborted();
  // What is down is none of the run's doing: no attempt is spent. Where no worker would wake it, it ends.
  if (outage !== undefined && ports.circuit !== undefined) return snooze(outage.until, outage.why);
  if (retryable && !lastAttempt) return fail(undelivered);
  const somebodyMayHaveIt = receipts.some(({ state }) => state === 'sent' || state === 'unknown');
  return somebodyMayHaveIt ? done(resultOf('partly_delivered', sealed, receipts)) : fail(undelivered);
}

/** The plan and the catalog it was made with: a new one where a held one does not allow what the definition asks. */
async function planOf(
  order: RunOrder,
  { definition, settings, signal, observe }: RunContext,
  ports: RunPorts,
): Promise<Outcome<{ readonly catalog: Catalog; readonly plan: Plan }>> {
  const planWith = async (maxAgeMs?: number): Promise<Outcome<{ readonly catalog: Catalog; readonly plan: Plan }>> => {
    const line = { ...ports, run: order.id, priority: order.priority, org: settings.org, tenant: order.org, maxAgeMs };
    const catalog = await ports.catalogs.get(line, signal, observe);
    if (catalog.kind !== 'done') return catalog;
    const plan = compilePlan({ definition, settings, period: order.period, catalog: catalog.value });
    return done({ catalog: catalog.value, plan });
  };
  return planWith().catch((thrown: unknown) => {
    if (toDocketError(thrown).code !== 'plan.invalid') throw thrown;
    return planWith(RECENT_CATALOG_MS);
  });
}

/** plan → fetch → render, in a private folder that is gone unless it was sealed. */
async function pack(order: RunOrder, context: RunContext, ports: RunPorts): Promise<Outcome<Sealed>> {
  const { definition, settings, signal, observe } = context;
  const line = { ...ports, run: order.id, priority: order.priority };
  const watched = { observe, clock: ports.clock, trace: ports.trace };
  const counts = countsWindow(order);
  const planned = await timed('plan', watched, async () => {
    const look = await workbookLook(context, ports.secrets);
    const made = await planOf(order, context, ports);
    if (made.kind !== 'done') return made;
    const { catalog, plan } = made.value;
    return done({ look, catalog, plan: counts.why === 'backfill' ? withoutCounts(plan) : plan });
  });
  if (planned.kind !== 'done') return planned;
  const { look, catalog, plan } = planned.value;
  observe({ type: 'planned', calls: plan.calls.length, sections: plan.sections.length });

  const organization = settings.name ?? settings.id;
  const folder = await ports.archive.stage(order.id);
  try {
    const asked = { ...line, plan, organization, catalog, counts, folder, signal, observe };
    const dataset = await timed('fetch', watched, () => fetchDataset(asked));
    if (dataset.kind !== 'done') return dataset;

    const incomplete = incompleteError('run.incomplete', incompleteNotes(dataset.value));
    if (definition.on_incomplete === 'fail' && incomplete !== undefined) return fail(incomplete);

    const sealed = await render(dataset.value, folder, order, look, context, ports);
    return done(sealed);
  } catch (thrown) {
    throw await diskError(thrown, folder);
  } finally {
    await ports.archive.discard(folder);
  }
}
