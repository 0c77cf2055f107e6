import type { Clock } from '../base/clock.ts';
import { toDocketError } from '../base/error.ts';
import { cancel, done, fail, type Outcome } from '../base/outcome.ts';
import type { Definition } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import type { Archive } from '../deliver/archive.ts';
import { deliver } from '../deliver/deliver.ts';
import type { Ledger } from '../deliver/ledger.ts';
import type { MailRoute } from '../deliver/targets.ts';
import type { Catalogs } from '../fetch/catalogs.ts';
import { incompleteNotes } from '../fetch/dataset.ts';
import { type FetchInput, fetchDataset } from '../fetch/fetch.ts';
import { compilePlan } from '../plan/compile.ts';
import { incompleteError, resultOf, undeliveredError } from './ending.ts';
import type { Observe } from './event.ts';
import type { RunOrder } from './record.ts';
import { render } from './render.ts';
import type { RunResult } from './result.ts';

/** What a run needs of the world, bound to one organization. Under the worker Redis stands behind these, inline memory. */
export interface RunPorts extends Pick<FetchInput, 'client' | 'key' | 'budget' | 'reads' | 'responses' | 'patienceMs'> {
  readonly clock: Clock;
  readonly catalogs: Catalogs;
  readonly archive: Archive;
  readonly ledger: Ledger;
  /** Undefined: no mail server is configured. */
  readonly mail: MailRoute | undefined;
  /** Folder of the user's own templates. */
  readonly templates: string | undefined;
  /** What relative directory targets are resolved against. */
  readonly workingDirectory: string;
}

export interface RunContext {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  readonly signal: AbortSignal;
  readonly observe: Observe;
  /** No try will follow: what is still undelivered is then the result, not a reason to fail. */
  readonly lastAttempt: boolean;
}

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
  const { definition, settings, signal, observe } = context;

  // The checkpoint of everything before the first delivery: a sealed folder is neither fetched nor rendered again.
  let sealed = await ports.archive.find(order);
  if (sealed === undefined) {
    const line = { ...ports, run: order.id, priority: order.priority };
    const catalog = await ports.catalogs.get({ ...line, org: settings.org, tenant: order.org }, signal, observe);
    if (catalog.kind !== 'done') return catalog;

    const plan = compilePlan({ definition, settings, period: order.period, catalog: catalog.value });
    observe({ type: 'planned', calls: plan.calls.length, sections: plan.sections.length });

    const organization = settings.name ?? settings.id;
    const dataset = await fetchDataset({ ...line, plan, organization, catalog: catalog.value, signal, observe });
    if (dataset.kind !== 'done') return dataset;

    const incomplete = incompleteError('run.incomplete', incompleteNotes(dataset.value));
    if (definition.on_incomplete === 'fail' && incomplete !== undefined) return fail(incomplete);

    sealed = await render(dataset.value, order, context, ports);
    await ports.responses.drop(order.id);
  }

  const held = definition.on_incomplete === 'hold' && sealed.manifest.incomplete.length > 0;
  if (!order.deliver || held) return done(resultOf(held ? 'held' : 'done', sealed, []));

  const { receipts, retryable } = await deliver({ ...ports, order, definition, settings, sealed, signal, observe });
  const undelivered = undeliveredError(receipts);
  if (undelivered === undefined) return done(resultOf('done', sealed, receipts));
  if (retryable && !context.lastAttempt) return fail(undelivered);
  const somebodyMayHaveIt = receipts.some(({ state }) => state === 'sent' || state === 'unknown');
  return somebodyMayHaveIt ? done(resultOf('partly_delivered', sealed, receipts)) : fail(undelivered);
}
