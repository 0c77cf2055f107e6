import type { Command } from 'commander';
import { addRunDecisions } from './runs-decide.ts';
import { addRunsGet } from './runs-get.ts';
import { addRunsShow } from './runs-show.ts';

interface RunsFlags {
  readonly org?: string;
  readonly report?: string;
  readonly limit: string;
  readonly json?: boolean;
}

export function addRuns(program: Command): void {
  const runs = program.command('runs').description('List runs, show one, get what it sent, retry or release it');
  runs
    .command('list', { isDefault: true })
    .description('List the runs that the worker keeps a record of, newest first')
    .option('--org <org>', 'only of this organization')
    .option('--report <report>', 'only of this report, with --org')
    .option('--limit <n>', 'at most so many', '20')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', '\nExample:\n  docket runs --org acme')
    .action(list);
  addRunsShow(runs);
  addRunsGet(runs);
  addRunDecisions(runs);
}

async function list(flags: RunsFlags): Promise<void> {
  const [{ readSurroundings }, { openDesk }, { readNumber, requireOrgWithReport }, print] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/decisions.ts'),
    import('./flag.ts'),
    import('./print.ts'),
  ]);
  const limit = readNumber('--limit', flags.limit, { min: 1, max: 1000 });
  requireOrgWithReport(flags);
  const { runs, scope } = await openDesk(readSurroundings());
  try {
    const { org, report } = flags;
    const found = await runs.list({
      ...(org === undefined ? {} : { org }),
      ...(report === undefined ? {} : { report }),
      limit,
    });
    if (flags.json) return print.printJson({ runs: found });
    if (found.length === 0) return print.printLine('No run is on record.');
    print.printLine(
      print.formatColumns(
        ['CREATED', 'STATE', 'REPORT', 'PERIOD', 'CALLS', 'RUN'],
        found.map((run) => [
          new Date(run.createdAt).toISOString(),
          run.state,
          `${run.org}/${run.report}`,
          run.period.label,
          `${run.calls.made}+${run.calls.saved}`,
          run.id,
        ]),
      ),
    );
  } finally {
    await scope.close();
  }
}
