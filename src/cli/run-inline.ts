import { randomUUID } from 'node:crypto';
import type { AppContext } from '../base/context.ts';
import { DocketError } from '../base/error.ts';
import type { DeliveringRun } from '../compose/inline-run.ts';
import { composeInline, probeArchive } from '../compose/run-ports.ts';
import { assertPeriodAllowed } from '../definitions/periods/assert-period.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { Definition, PeriodSpec } from '../definitions/schema/report-definition.ts';
import type { PublishedRun } from '../deliver/archive/archive.ts';
import { inlineArchive } from '../deliver/archive/inline-archive.ts';
import { isReportFile } from '../deliver/archive/run-folder/pack-files.ts';
import type { FindReadings } from '../plan/reading.ts';
import { run } from '../run/run.ts';
import type { RunPorts } from '../run/run-context.ts';
import { createRunOrder } from '../run/run-order.ts';
import type { RunOrder } from '../run/run-record.ts';
import type { RunResult } from '../run/run-result.ts';
import type { ActiveOrgs } from '../services/budgets/key-limits.ts';
import { assertApprovable } from '../services/runs/assert-approvable.ts';
import type { CommandIo } from './io.ts';
import { openProgressBars } from './terminal/progress-bar.ts';
import { showRunProgress } from './terminal/run-progress.ts';

export interface InlineRunRequest {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  /** All organizations. Those that share a key determine its limits. Default: none. */
  readonly orgs?: ActiveOrgs;
  /** Ignores cached responses, whatever `max_age` allows. */
  readonly fresh?: boolean | undefined;
  /** Default: the definition's period. */
  readonly period?: PeriodSpec | undefined;
  /** Allows days in `period` that are not over. */
  readonly unfinished?: boolean | undefined;
  /** For a report with `split`: only the pack of this value. */
  readonly value?: string | undefined;
  /** Replaces the readings stored in the archive. */
  readonly readings?: FindReadings;
  /** See `RunPorts.annotate`. */
  readonly annotate?: RunPorts['annotate'];
  /** The output folder. */
  readonly out: (order: RunOrder) => string;
  /** `by`: who requested it. `again`: deliver even if the period was already delivered. */
  readonly deliver: false | { readonly by: string; readonly again: boolean };
}

export interface InlineResult {
  readonly order: RunOrder;
  readonly result: RunResult;
  readonly published: PublishedRun;
}

/**
 * Runs a report in this process, with progress on stderr. Throws the error of a failed run, and before the first call
 * `period.…`, `already_delivered` and `approval.unreachable`.
 */
export async function runInline(request: InlineRunRequest, context: AppContext, io: CommandIo): Promise<InlineResult> {
  const { settings } = request;
  // Only this run uses the change. The definition on record stays the loaded one.
  const definition = request.fresh ? { ...request.definition, max_age: 0 } : request.definition;
  const report = `${definition.org}/${definition.report}`;
  if (request.deliver !== false) assertApprovable(request, request.deliver);
  const order = createOrder(request, context);
  assertPeriodAllowed(order, { spec: request.period, unfinished: request.unfinished }, context.clock.now());
  const folder = request.out(order);
  const out = inlineArchive(folder);
  await probeArchive(out, order);
  const { buildRunPorts, execute, warmUp, scope, repeats } = await openRun(request, order, folder, context);
  try {
    const bars = scope.add(openProgressBars(io));
    const { readings, annotate } = request;
    const ports = { ...(await buildRunPorts(settings)), ...(readings === undefined ? {} : { readings }), annotate };
    warmUp();
    const observe = showRunProgress(report, bars, context.clock.now, { ending: false });
    const outcome = await execute({ definition, settings }, { signal: io.signals.stop(), observe }, (runContext) =>
      run({ ...order, ...repeats }, { definition, settings, ...runContext, lastAttempt: true }, ports),
    );
    if (outcome.kind === 'fail') throw outcome.error;
    if (outcome.kind === 'done' && outcome.value.review !== undefined) throw waitingError(order, outcome.value);
    const published = outcome.kind === 'done' ? await out.find(order) : undefined;
    if (outcome.kind === 'done' && published !== undefined) {
      // For a run published to the archive, the result names the copies in the output folder.
      const result = { ...outcome.value, folder: published.folder, files: published.artifacts.filter(isReportFile) };
      return { order, result, published };
    }
    throw new DocketError(
      'run.cancelled',
      outcome.kind === 'done' ? 'The files of the run are missing.' : `The run was stopped. ${outcome.why}`,
      { next: 'Run it again. No incomplete files were left behind.' },
    );
  } finally {
    await scope.close();
  }
}

/** The error of a run that waits for people. Workers will continue the run. */
function waitingError({ id }: RunOrder, { error, review }: RunResult): DocketError {
  const next = `\`docket runs show ${id}\` shows what it waits for; workers continue it.`;
  if (error !== undefined) return new DocketError(error.code, error.message, { next });
  const content = review?.content?.slice(0, 12) ?? '';
  return new DocketError('run.awaiting_approval', `Run ${id} waits for approval of the content ${content}.`, { next });
}

function createOrder(
  { definition, settings, period, value, deliver }: InlineRunRequest,
  { clock }: AppContext,
): RunOrder {
  const now = clock.now();
  return createRunOrder({
    definition,
    settings,
    trigger: 'cli',
    priority: 'on_demand',
    slot: `trigger:${randomUUID()}`,
    at: now,
    ...(period === undefined ? {} : { period }),
    value,
    deliver: deliver !== false,
    ...(deliver === false ? {} : { by: deliver.by, again: deliver.again }),
    now,
  });
}

async function openRun(
  { definition, orgs, deliver }: InlineRunRequest,
  order: RunOrder,
  out: string,
  context: AppContext,
): Promise<DeliveringRun> {
  if (deliver === false) {
    const inline = await composeInline(context, inlineArchive(out), { orgs });
    return { ...inline, repeats: {}, execute: (_, running, work) => work(running) };
  }
  // Imported late, because it loads BullMQ.
  const { composeDeliveringRun } = await import('../compose/inline-run.ts');
  return composeDeliveringRun(context, order, { ...deliver, definition, out, orgs });
}
