import type { PeriodSpec } from '../../../definitions/schema/report-definition.ts';

/** Opens one run in the line of the workers, as the admin route does, and says which; or follows it to its end. */
export async function enqueueRun(
  report: string,
  {
    period,
    deliver,
    again,
    wait,
    json,
  }: {
    readonly period: PeriodSpec | undefined;
    readonly deliver: boolean;
    /** Also when it was delivered for this period already. */
    readonly again: boolean;
    readonly wait: boolean;
    readonly json: boolean;
  },
): Promise<void> {
  const [
    { randomUUID },
    { createContext },
    { createScope },
    { assertMailConfigured },
    { openVerifiedStore },
    { loadDefinitions, requireReport },
    { readActorName },
    { openAuditLog },
    { withRepeatConfirmation },
    { requestRun },
    print,
  ] = await Promise.all([
    import('node:crypto'),
    import('../../context.ts'),
    import('../../../base/scope.ts'),
    import('../../../deliver/targets/email/mail-routes.ts'),
    import('../../../compose/store.ts'),
    import('../../../services/definitions/built-in-kinds.ts'),
    import('../../options/actor.ts'),
    import('../../context.ts'),
    import('./confirm-repeat.ts'),
    import('../../../services/runs/trigger-run.ts'),
    import('../../terminal/print.ts'),
  ]);
  const around = createContext();
  const { definition, settings } = requireReport(await loadDefinitions(around.config.DOCKET_JOBS), report);
  if (deliver) assertMailConfigured(definition, settings, around.config, '--no-deliver makes the files alone');
  const by = await readActorName();
  const scope = createScope();
  try {
    const { trigger, redis } = await openVerifiedStore(around, scope);
    const audit = await openAuditLog(redis, around);
    const { record } = await withRepeatConfirmation({ again, json }, (insisting) =>
      requestRun(
        {
          definition,
          settings,
          slot: { trigger: randomUUID() },
          trigger: 'on_demand',
          priority: 'on_demand',
          ...(period === undefined ? {} : { period }),
          deliver,
          again: insisting,
          by,
        },
        { trigger, audit },
      ),
    );
    if (wait) {
      const { followRun, printRunResult } = await import('./follow-run.ts');
      print.printStatus(`${report} ${record.period.label} is in line: run ${record.id}`);
      return printRunResult(await followRun(record.id, around, undefined), json);
    }
    if (json) return print.printJson(record);
    print.printLine(
      `${report} ${record.period.label} is in line; \`docket runs show ${record.id}\` tells how it ends.`,
    );
  } finally {
    await scope.close();
  }
}
