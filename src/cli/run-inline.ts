import { randomUUID } from 'node:crypto';
import type { AppContext } from '../base/context.ts';
import { DocketError } from '../base/error.ts';
import type { Outcome } from '../base/outcome.ts';
import { composeInline, type InlineContext } from '../compose/run-ports.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { Definition, PeriodSpec } from '../definitions/schema/report-definition.ts';
import type { Archive, PublishedRun } from '../deliver/archive/archive.ts';
import { inlineArchive } from '../deliver/archive/inline-archive.ts';
import type { InlineWork } from '../queue/runs/inline-run.ts';
import { run } from '../run/run.ts';
import type { RunContext } from '../run/run-context.ts';
import { createRunOrder } from '../run/run-order.ts';
import type { RunOrder } from '../run/run-record.ts';
import type { RunResult } from '../run/run-result.ts';
import type { ActiveOrgs } from '../services/budgets/key-limits.ts';
import { abortOnSignal } from './context.ts';
import { openProgressBars } from './terminal/progress-bar.ts';
import { showRunProgress } from './terminal/run-progress.ts';

export interface InlineRunRequest {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  /** Of all definitions: which of them share a key decides of its limits. None when absent. */
  readonly orgs?: ActiveOrgs;
  /** Asks the service anew, whatever the definition's `max_age` allows. */
  readonly fresh?: boolean | undefined;
  /** Another one than the definition's. */
  readonly period?: PeriodSpec | undefined;
  /** Where the files go. */
  readonly out: (order: RunOrder) => string;
  /** With the name of who asks, and whether it is delivered though it was delivered for this period already. */
  readonly deliver: false | { readonly by: string; readonly again: boolean };
}

export interface InlineResult {
  readonly order: RunOrder;
  readonly result: RunResult;
  readonly sealed: PublishedRun;
}

type Execute = (context: Pick<RunContext, 'signal' | 'observe'>, work: InlineWork) => Promise<Outcome<RunResult>>;

/** What a run goes through that is made here and now. */
interface PreparedRun extends InlineContext {
  readonly execute: Execute;
  readonly unrecorded: boolean;
}

/**
 * One run here and now, its progress told on stderr. Throws what made it fail, and `already_delivered` before the first call
 * for a period that was delivered already.
 */
export async function runInline(request: InlineRunRequest, around: AppContext): Promise<InlineResult> {
  const { settings } = request;
  // What is kept on record is the definition as it was loaded.
  const definition = request.fresh ? { ...request.definition, max_age: 0 } : request.definition;
  const report = `${definition.org}/${definition.report}`;
  const order = createOrder(request, around);
  const out = inlineArchive(request.out(order));
  await probeArchive(out, order);
  const { portsOf, execute, unrecorded, scope } = await prepareRun(request, order, out, around);
  try {
    const bars = scope.use(openProgressBars(), (opened) => opened.close());
    const ports = await portsOf(settings);
    const observe = showRunProgress(report, bars, around.clock.now);
    const outcome = await execute({ signal: abortOnSignal(), observe }, (context) =>
      run(order, { definition, settings, ...context, lastAttempt: true, unrecorded }, ports),
    );
    if (outcome.kind === 'fail') throw outcome.error;
    const sealed = outcome.kind === 'done' ? await out.find(order) : undefined;
    if (outcome.kind === 'done' && sealed !== undefined) {
      // Wherever it was sealed, the files to look at are the ones in the folder that was asked for.
      const result = { ...outcome.value, folder: sealed.folder, files: sealed.artifacts };
      return { order, result, sealed };
    }
    throw new DocketError(
      'run.cancelled',
      outcome.kind === 'done' ? 'The files of the run are gone.' : `The run did not end. ${outcome.why}`,
      { next: 'Run it again; nothing half-made was left.' },
    );
  } finally {
    await scope.close();
  }
}

function createOrder({ definition, settings, period, deliver }: InlineRunRequest, { clock }: AppContext): RunOrder {
  const now = clock.now();
  return createRunOrder({
    definition,
    settings,
    trigger: 'cli',
    priority: 'on_demand',
    slot: `trigger:${randomUUID()}`,
    at: now,
    ...(period === undefined ? {} : { period }),
    deliver: deliver !== false,
    ...(deliver === false ? {} : { by: deliver.by }),
    now,
  });
}

/** Before a call is spent: a folder that cannot be written would throw all of them away. */
async function probeArchive(archive: Archive, order: RunOrder): Promise<void> {
  await archive.find(order);
  await archive.discard(await archive.stage(order.id));
}

async function prepareRun(
  { definition, settings, orgs, deliver }: InlineRunRequest,
  order: RunOrder,
  out: Archive,
  around: AppContext,
): Promise<PreparedRun> {
  if (deliver === false) {
    const inline = await composeInline(around, out, { orgs });
    return { ...inline, execute: (context, work) => work(context), unrecorded: true };
  }
  // Not before they are needed: they bring the queue with them.
  const [{ composeDeliveringRun }, { assertNotDelivered }, { openAuditLog }] = await Promise.all([
    import('../compose/inline-run.ts'),
    import('../services/runs/already-delivered.ts'),
    import('./context.ts'),
  ]);
  const composed = await composeDeliveringRun(around, order, { out, orgs });
  const { redis, findDelivered, archive, assertLedgerWritable, scope } = composed;
  try {
    const { again, by } = deliver;
    await assertNotDelivered(order, definition, { again, find: findDelivered, now: around.clock.now() });
    if (definition.deliveries.length > 0) await assertLedgerWritable();
    if (redis !== undefined) {
      await probeArchive(archive, order);
      const { id, org, report } = order;
      await (await openAuditLog(redis, around)).record({ event: 'run.triggered', who: by, org, report, run: id });
    }
  } catch (error) {
    await scope.close();
    throw error;
  }
  const execute: Execute = (context, work) => composed.execute({ definition, settings }, context, work);
  return { ...composed, execute, unrecorded: redis === undefined };
}
