import type { Command } from 'commander';

export function addExplain(program: Command): void {
  program
    .command('explain')
    .description('Print what a run would ask, cost and send. Makes nothing, sends nothing')
    .argument('<report>', '<org>/<report>')
    .option('--period <period>', 'another period than the definition’s')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      '\nExamples:\n  docket explain acme/board-pack\n  docket explain acme/board-pack --period 2026-10 --json',
    )
    .action(explainReport);
}

async function explainReport(report: string, flags: { period?: string; json?: boolean }): Promise<void> {
  const [
    { readSurroundings },
    { composeCatalogs },
    { loadJobs, requireReport },
    periods,
    { nextSlots },
    { compilePlan },
    { explain, formatExplain },
    print,
  ] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/ports.ts'),
    import('../define/load.ts'),
    import('../define/period.ts'),
    import('../define/slots.ts'),
    import('../plan/compile.ts'),
    import('../plan/explain.ts'),
    import('./print.ts'),
  ]);
  const around = readSurroundings();
  const { definition, settings } = requireReport(await loadJobs(around.config.DOCKET_JOBS), report);
  const now = around.clock.now();
  const spec = flags.period === undefined ? definition.period : periods.parsePeriod(flags.period);
  const period = periods.resolvePeriod(spec, now, definition.timezone ?? settings.timezone);
  const { schedule } = definition;
  const slots = schedule === undefined ? [] : nextSlots(schedule, schedule.timezone ?? settings.timezone, now, 5);
  const { catalogOf, scope } = composeCatalogs(around);
  try {
    const catalog = await catalogOf(settings);
    const plan = compilePlan({ definition, settings, period, catalog });
    const document = explain(plan, {
      catalog,
      slots: slots.map((at) => new Date(at).toISOString()),
    });
    if (flags.json) print.printJson(document);
    else print.printLine(formatExplain(document));
  } finally {
    await scope.close();
  }
}
