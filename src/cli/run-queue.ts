import type { PeriodSpec } from '../define/definition.ts';

/** Opens one run in the line of the workers, as the admin route does, and says which; or follows it to its end. */
export async function queueRun(
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
    { readSurroundings },
    { createScope },
    { requireMail },
    { openComparedStore },
    { loadJobs, requireReport },
    { readAsker },
    { openAudit },
    { askingToRepeat },
    print,
  ] = await Promise.all([
    import('node:crypto'),
    import('./surroundings.ts'),
    import('../base/scope.ts'),
    import('../compose/ports.ts'),
    import('../compose/compared-store.ts'),
    import('../define/load.ts'),
    import('./decider.ts'),
    import('./audit.ts'),
    import('./repeat.ts'),
    import('./print.ts'),
  ]);
  const around = readSurroundings();
  const { definition, settings } = requireReport(await loadJobs(around.config.DOCKET_JOBS), report);
  if (deliver) requireMail(definition, settings, around.config, '--no-deliver makes the files alone');
  const by = await readAsker();
  const scope = createScope();
  try {
    const { trigger, redis } = await openComparedStore(around, scope);
    const { record } = await askingToRepeat({ again, json }, (insisting) =>
      trigger({
        definition,
        settings,
        slot: { trigger: randomUUID() },
        trigger: 'on_demand',
        priority: 'on_demand',
        ...(period === undefined ? {} : { period }),
        deliver,
        again: insisting,
        by,
      }),
    );
    const { org, id } = record;
    await (await openAudit(redis, around)).tell({
      event: 'run.triggered',
      who: by,
      org,
      report: record.report,
      run: id,
    });
    if (wait) {
      const { followRun, showEnd } = await import('./follow.ts');
      print.sayLine(`${report} ${record.period.label} is in line: run ${record.id}`);
      return showEnd(await followRun(record.id, around, undefined), json);
    }
    if (json) return print.printJson(record);
    print.printLine(
      `${report} ${record.period.label} is in line; \`docket runs show ${record.id}\` tells how it ends.`,
    );
  } finally {
    await scope.close();
  }
}
