import type { Command } from 'commander';
import type { Budgets } from '../compose/budgets.ts';
import type { Surroundings } from '../compose/ports.ts';
import type { OrgSettings } from '../define/org.ts';
import type { ExplainExtra } from '../plan/explain.ts';

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
    { composeCatalogs },
    { loadJobs, requireReport },
    periods,
    { nextReportSlots, timetableOf },
    { slotView },
    { compilePlan },
    { explain, formatExplain },
    print,
  ] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/ports.ts'),
    import('../define/load.ts'),
    import('../define/period.ts'),
    import('../define/slots.ts'),
    import('../define/slot-view.ts'),
    import('../plan/compile.ts'),
    import('../plan/explain.ts'),
    import('./print.ts'),
  ]);
  const around = readSurroundings();
  const { definition, settings } = requireReport(await loadJobs(around.config.DOCKET_JOBS), report);
  const now = around.clock.now();
  const spec = flags.period === undefined ? definition.period : periods.parsePeriod(flags.period);
  const period = periods.periodOf(definition, settings, now, spec);
  const slots = nextReportSlots(timetableOf(definition, settings), now, 5);
  const { catalogOf, shared, scope } = await composeCatalogs(around);
  try {
    const catalog = await catalogOf(settings);
    const plan = compilePlan({ definition, settings, period, catalog });
    const tokens = plan.calls.filter(({ kind }) => kind === 'report').length;
    const budget = shared === undefined ? undefined : await lineNow(shared, around, settings, tokens);
    const document = explain(plan, {
      catalog,
      ...(budget === undefined ? {} : { budget }),
      slots: slots.map((slot) => slotView(slot, definition, settings.timezone)),
      timezone: settings.timezone,
    });
    if (flags.json) print.printJson(document);
    else print.printLine(formatExplain(document));
  } finally {
    await scope.close();
  }
}

/** The line of the key as it is now, and when `calls` more would be through. */
async function lineNow(
  budgetOf: Budgets,
  { clock, env, learn }: Surroundings,
  settings: OrgSettings,
  calls: number,
): Promise<ExplainExtra['budget'] | undefined> {
  const [{ expectedFinish, lookAtBudgets }, { secretSource }] = await Promise.all([
    import('../compose/budgets.ts'),
    import('../base/secret.ts'),
  ]);
  const { keys } = await lookAtBudgets([settings], { secrets: secretSource(env, learn), budgetOf });
  const [line] = keys;
  if (line === undefined) return undefined;
  const { metrics, limits } = line;
  return {
    tokens: metrics.tokens,
    waiting: metrics.waiting,
    finish: expectedFinish(metrics, limits.windowMs, calls, clock.now()),
  };
}
