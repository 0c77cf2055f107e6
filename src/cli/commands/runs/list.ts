import type { Command } from 'commander';
import type { RunRecord } from '../../../run/run-record.ts';
import { formatInstant } from '../../terminal/print.ts';
import type { Column } from '../../terminal/table.ts';
import { addRunsCancelCommand } from './cancel.ts';
import { addRunDecisionCommands } from './decide.ts';
import { addRunsGetCommand } from './get.ts';
import { addRunsShowCommand } from './show.ts';
import { addRunsWatchCommand } from './watch.ts';

interface RunsFlags {
  readonly org?: string;
  readonly report?: string;
  readonly state?: readonly string[];
  readonly since?: string;
  readonly until?: string;
  readonly after?: string;
  readonly limit: string;
  readonly json?: boolean;
}

export function addRunsCommand(program: Command): void {
  const runs = program
    .command('runs')
    .description('List runs, show or follow one, get what it sent, cancel, retry or release it');
  runs
    .command('list', { isDefault: true })
    .description('List the runs that are on record, newest first')
    .option('--org <org>', 'only of this organization')
    .option('--report <report>', 'only of this report, with --org')
    .option(
      '--state <state...>',
      'only in one of these states: queued, running, waiting, done, partly_delivered, held, cancelled, failed, skipped',
    )
    .option('--since <instant>', 'only those created at this instant or later, e.g. 2026-11-01T00:00:00Z')
    .option('--until <instant>', 'only those created before it')
    .option('--after <cursor>', 'the next page: what the page before gave as "next"')
    .option('--limit <n>', 'at most so many', '20')
    .option('--json', 'one JSON document on stdout: runs, and next for --after')
    .addHelpText(
      'after',
      `
Environment: REDIS_URL, LOG_LEVEL

Examples:
  docket runs --org acme --report weekly-kpi
  docket runs --state failed partly_delivered held --since 2026-11-16T00:00:00Z`,
    )
    .action(list);
  addRunsShowCommand(runs);
  addRunsWatchCommand(runs);
  addRunsGetCommand(runs);
  addRunsCancelCommand(runs);
  addRunDecisionCommands(runs);
}

async function list(flags: RunsFlags): Promise<void> {
  const [
    { createContext },
    { openDecisions },
    { parseInstant, parseNumber, parseRunStates, assertOrgWithReport },
    { listRunPage, parseRunCursor },
    print,
  ] = await Promise.all([
    import('../../context.ts'),
    import('../../../compose/decisions.ts'),
    import('../../options/option-parsers.ts'),
    import('../../../run/run-page.ts'),
    import('../../terminal/print.ts'),
  ]);
  assertOrgWithReport(flags);
  const { org, report, state, since, until, after } = flags;
  const filter = {
    ...(org === undefined ? {} : { org }),
    ...(report === undefined ? {} : { report }),
    ...(state === undefined ? {} : { states: parseRunStates('--state', state) }),
    ...(since === undefined ? {} : { since: parseInstant('--since', since) }),
    ...(until === undefined ? {} : { until: parseInstant('--until', until) }),
    ...(after === undefined ? {} : { after: parseRunCursor(after) }),
    limit: parseNumber('--limit', flags.limit, { min: 1, max: 1000 }),
  };
  const { runs, scope } = await openDecisions(createContext());
  try {
    const page = await listRunPage(runs, filter);
    if (flags.json) return print.printJson(page);
    if (page.runs.length === 0) return print.printLine('No such run is on record.');
    print.printLine(print.formatColumns(COLUMNS, [...page.runs.map(rowOf)]));
    if (page.next !== null) print.printStatus(`There are more: --after ${page.next}`);
  } finally {
    await scope.close();
  }
}

const COLUMNS: readonly Column[] = [
  { name: 'CREATED', narrow: 'whole' },
  { name: 'STATE' },
  { name: 'REPORT' },
  { name: 'PERIOD' },
  { name: 'TRIGGER', narrow: 'spare' },
  { name: 'CALLS', narrow: 'spare' },
  { name: 'TOOK', narrow: 'spare' },
  { name: 'ERROR', narrow: 'spare' },
  { name: 'RUN', narrow: 'whole' },
];

const rowOf = (run: RunRecord): string[] => [
  formatInstant(run.createdAt),
  run.state,
  `${run.org}/${run.report}`,
  run.period.label,
  run.trigger,
  `${run.calls.made}+${run.calls.saved}`,
  run.startedAt === null || run.finishedAt === null ? '' : `${((run.finishedAt - run.startedAt) / 1000).toFixed(1)} s`,
  run.error?.code ?? '',
  run.id,
];
