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
      `
With REDIS_URL set, tells the line of the key, and asks for a metric catalog only where the workers hold none.

Environment: COMPLIANCE_API_URL, DOCKET_JOBS, REDIS_URL, LOG_LEVEL; the organization's key

Examples:
  docket explain acme/board-pack
  docket explain acme/board-pack --period 2026-10 --json`,
    )
    .action(explainReport);
}

async function explainReport(report: string, flags: { period?: string; json?: boolean }): Promise<void> {
  const [
    { readSurroundings },
    { composeCatalogs, withCatalog },
    { explanationOf },
    { secretSource },
    { loadJobs, requireReport },
    periods,
    { formatExplain },
    print,
  ] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/ports.ts'),
    import('../compose/explanation.ts'),
    import('../base/secret.ts'),
    import('../define/load.ts'),
    import('../define/period.ts'),
    import('../plan/explain.ts'),
    import('./print.ts'),
  ]);
  const around = readSurroundings();
  const { config, env, clock } = around;
  const jobs = await loadJobs(config.DOCKET_JOBS);
  const { definition, settings } = requireReport(jobs, report);
  const spec = flags.period === undefined ? definition.period : periods.parsePeriod(flags.period);
  const period = periods.periodOf(definition, settings, clock.now(), spec);
  const { catalogOf, shared, scope } = await composeCatalogs(around, { orgs: jobs.orgs });
  try {
    const ports = { secrets: secretSource(env, around), budgetOf: shared, inForce: jobs.orgs.values(), clock };
    const document = await withCatalog(
      (maxAgeMs) => catalogOf(settings, maxAgeMs),
      (catalog) => explanationOf({ definition, settings }, period, { ...ports, catalog }),
    );
    if (flags.json) print.printJson(document);
    else print.printLine(formatExplain(document));
  } finally {
    await scope.close();
  }
}
