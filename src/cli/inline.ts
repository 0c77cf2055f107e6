import { randomUUID } from 'node:crypto';
import { DocketError } from '../base/error.ts';
import type { Outcome } from '../base/outcome.ts';
import type { OrgsInForce } from '../compose/key-limits.ts';
import { composeInline, type Inline, type Surroundings } from '../compose/ports.ts';
import type { Definition, PeriodSpec } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import type { Archive, Sealed } from '../deliver/archive.ts';
import { inlineArchive } from '../deliver/directory-archive.ts';
import type { InlineWork } from '../queue/inline-run.ts';
import { orderRun } from '../run/order.ts';
import type { RunContext } from '../run/ports.ts';
import type { RunOrder } from '../run/record.ts';
import type { RunResult } from '../run/result.ts';
import { run } from '../run/run.ts';
import { openBars } from './progress-bar.ts';
import { watchRun } from './run-progress.ts';
import { abortOnSignal } from './surroundings.ts';

export interface InlineRun {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  /** Of all definitions: which of them share a key decides of its limits. None when absent. */
  readonly orgs?: OrgsInForce;
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
  readonly sealed: Sealed;
}

type Execute = (context: Pick<RunContext, 'signal' | 'observe'>, work: InlineWork) => Promise<Outcome<RunResult>>;

/** What a run goes through that is made here and now. */
interface Making extends Inline {
  readonly execute: Execute;
  readonly unrecorded: boolean;
}

/**
 * One run here and now, its progress told on stderr. Throws what made it fail, and `already_delivered` before the first call
 * for a period that was delivered already.
 */
export async function runInline(request: InlineRun, around: Surroundings): Promise<InlineResult> {
  const { settings } = request;
  // What is kept on record is the definition as it was loaded.
  const definition = request.fresh ? { ...request.definition, max_age: 0 } : request.definition;
  const report = `${definition.org}/${definition.report}`;
  const order = orderOf(request, around);
  const out = inlineArchive(request.out(order));
  await tryArchive(out, order);
  const { portsOf, execute, unrecorded, scope } = await compose(request, order, out, around);
  try {
    const bars = scope.use(openBars(), (opened) => opened.close());
    const ports = await portsOf(settings);
    const observe = watchRun(report, bars, around.clock.now);
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

function orderOf({ definition, settings, period, deliver }: InlineRun, { clock }: Surroundings): RunOrder {
  const now = clock.now();
  return orderRun({
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
async function tryArchive(archive: Archive, order: RunOrder): Promise<void> {
  await archive.find(order);
  await archive.discard(await archive.stage(order.id));
}

async function compose(
  { definition, settings, orgs, deliver }: InlineRun,
  order: RunOrder,
  out: Archive,
  around: Surroundings,
): Promise<Making> {
  if (deliver === false) {
    const inline = await composeInline(around, out, { orgs });
    return { ...inline, execute: (context, work) => work(context), unrecorded: true };
  }
  // Not before they are needed: they bring the queue with them.
  const [{ composeDeliveringRun }, { refuseRepeat }, { openAudit }] = await Promise.all([
    import('../compose/inline-run.ts'),
    import('../queue/already-delivered.ts'),
    import('./audit.ts'),
  ]);
  const composed = await composeDeliveringRun(around, order, { out, orgs });
  const { redis, findDelivered, archive, tryLedger, scope } = composed;
  try {
    const { again, by } = deliver;
    await refuseRepeat(order, definition, { again, find: findDelivered, now: around.clock.now() });
    if (definition.deliveries.length > 0) await tryLedger();
    if (redis !== undefined) {
      await tryArchive(archive, order);
      const { id, org, report } = order;
      await (await openAudit(redis, around)).tell({ event: 'run.triggered', who: by, org, report, run: id });
    }
  } catch (error) {
    await scope.close();
    throw error;
  }
  const execute: Execute = (context, work) => composed.execute({ definition, settings }, context, work);
  return { ...composed, execute, unrecorded: redis === undefined };
}
