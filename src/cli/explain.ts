import type { Command } from 'commander';
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
    const tokens = plan.calls.filter(({ kind }) => kind === 'report').length;
    const budget = await lineNow(around, settings, tokens);
    const document = explain(plan, {
      catalog,
      ...(budget === undefined ? {} : { budget }),
      slots: slots.map((at) => new Date(at).toISOString()),
    });
    if (flags.json) print.printJson(document);
    else print.printLine(formatExplain(document));
  } finally {
    await scope.close();
  }
}

/** The line of the key as it is now, and when `calls` more would be through; undefined where no Redis can tell. */
async function lineNow(
  around: Surroundings,
  settings: OrgSettings,
  calls: number,
): Promise<ExplainExtra['budget'] | undefined> {
  const [{ expectedFinish, lookAtBudgets, sharedBudgets }, { secretSource }, { DEFAULT_PREFIX }, { askRedisIfSet }] =
    await Promise.all([
      import('../compose/budgets.ts'),
      import('../base/secret.ts'),
      import('../queue/keys.ts'),
      import('./redis-if-set.ts'),
    ]);
  const { clock, env } = around;
  const now = await askRedisIfSet(around, 'the line of the API key', (redis) =>
    lookAtBudgets([settings], {
      secrets: secretSource(env),
      budgetOf: sharedBudgets(redis, DEFAULT_PREFIX, clock),
    }),
  );
  const line = now?.keys[0];
  if (line === undefined) return undefined;
  const { metrics, windowMs } = line;
  return {
    tokens: metrics.tokens,
    waiting: metrics.waiting,
    finish: expectedFinish(metrics, windowMs, calls, clock.now()),
  };
}
