import type { Command } from 'commander';
import type { CommandIo } from '../../io.ts';
import { createPrinter } from '../../terminal/print.ts';

export function addExplainCommand(program: Command, io: CommandIo): void {
  program
    .command('explain')
    .description('Print the requests, cost and deliveries of a run, without running it')
    .argument('<report>', '<org>/<report>')
    .option('--period <period>', 'instead of the definition’s period')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
With REDIS_URL set, shows the rate-limit state of the key, and fetches the metric catalog only if the workers have not cached it.

Environment: COMPLIANCE_API_URL, DOCKET_JOBS, REDIS_URL, LOG_LEVEL; the organization's key

Examples:
  docket explain acme/board-pack
  docket explain acme/board-pack --period 2026-10 --json`,
    )
    .action((report: string, flags: { period?: string; json?: boolean }) => explainReport(report, flags, io));
}

async function explainReport(report: string, flags: { period?: string; json?: boolean }, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [
    { createContext },
    { composeCatalogs },
    { withCatalog },
    { explainReport },
    { secretSource },
    { loadDefinitions, requireReport },
    periods,
    { formatExplain },
  ] = await Promise.all([
    import('../../context.ts'),
    import('../../../compose/run-ports.ts'),
    import('../../../fetch/cache/catalog-cache.ts'),
    import('../../../services/definitions/explain-report.ts'),
    import('../../../base/secrets/secret.ts'),
    import('../../../services/definitions/built-in-kinds.ts'),
    import('../../../definitions/periods/period.ts'),
    import('../../../plan/explain.ts'),
  ]);
  const context = createContext(io);
  const { config, env, clock } = context;
  const jobs = await loadDefinitions(config.DOCKET_JOBS);
  const { definition, settings } = requireReport(jobs, report);
  const spec = flags.period === undefined ? undefined : periods.parsePeriod(flags.period);
  const days = periods.runPeriodsOf(definition, settings, clock.now(), spec);
  const { catalogOf, sharedBudgets, scope } = await composeCatalogs(context, { orgs: jobs.orgs });
  try {
    const ports = {
      secrets: secretSource(env, context),
      budgetOf: sharedBudgets,
      activeOrgs: jobs.orgs.values(),
      clock,
    };
    const document = await withCatalog(
      (maxAgeMs) => catalogOf(settings, maxAgeMs),
      (catalog) => explainReport({ definition, settings }, days, { ...ports, catalog }),
    );
    if (flags.json) print.printJson(document);
    else print.printLine(formatExplain(document));
  } finally {
    await scope.close();
  }
}
