import { randomUUID } from 'node:crypto';
import { withScope } from '../../../base/scope.ts';
import { loadDefinitions, requireReport } from '../../../compose/built-in-kinds.ts';
import { openVerifiedStore } from '../../../compose/store.ts';
import type { PeriodSpec } from '../../../definitions/schema/report-definition.ts';
import { assertMailConfigured } from '../../../deliver/targets/email/mail-routes.ts';
import { requestRun } from '../../../services/runs/trigger-run.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { readActorName } from '../../options/actor.ts';
import { createPrinter } from '../../terminal/print.ts';
import { withRepeatConfirmation } from './confirm-repeat.ts';
import { followRun, printRunResult } from './watch.ts';

export interface EnqueueRequest {
  readonly period: PeriodSpec | undefined;
  /** For a report with `split`: only the pack of this value. */
  readonly value: string | undefined;
  readonly deliver: boolean;
  /** Runs even if the period was already delivered. */
  readonly again: boolean;
  /** Allows days in `period` that are not over. */
  readonly unfinished: boolean;
  /** Follows the run until it ends. */
  readonly wait: boolean;
  readonly json: boolean;
}

/** Enqueues a run for the workers, as the HTTP API does. */
export async function enqueueRun(
  report: string,
  { period, value, deliver, again, unfinished, wait, json }: EnqueueRequest,
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const { definition, settings } = requireReport(await loadDefinitions(context.config.DOCKET_JOBS), report);
  if (deliver) assertMailConfigured(definition, settings, context.config, '--no-deliver only creates the files');
  const by = readActorName();
  await withScope(async (scope) => {
    const { trigger, audit } = await openVerifiedStore(context, scope);
    const { record } = await withRepeatConfirmation({ again, json }, io, (force) =>
      requestRun(
        {
          definition,
          settings,
          slot: { trigger: randomUUID(), isNew: true },
          trigger: 'on_demand',
          priority: 'on_demand',
          ...(period === undefined ? {} : { period }),
          value,
          deliver,
          again: force,
          unfinished,
          by,
        },
        { trigger, audit },
      ),
    );
    const { id } = record;
    if (wait) {
      print.printStatus(`${report} ${record.period.label} is queued as run ${id}`);
      return printRunResult(await followRun(id, context, undefined, io), json, io);
    }
    if (json) return print.printJson(record);
    print.printText(`${report} ${record.period.label} is queued; \`docket runs show ${id}\` shows the result.`);
  });
}
