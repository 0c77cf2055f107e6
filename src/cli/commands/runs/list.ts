import type { Command } from 'commander';
import type { RunRecord } from '../../../run/run-record.ts';
import type { CommandIo } from '../../io.ts';
import { createPrinter, formatInstant } from '../../terminal/print.ts';
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

export function addRunsCommand(program: Command, io: CommandIo): void {
  const runs = program.command('runs').description('List runs; show, watch, get, cancel, retry or release one');
  runs
    .command('list', { isDefault: true })
    .description('List the recorded runs, newest first')
    .option('--org <org>', 'only of this organization')
    .option('--report <report>', 'only of this report, with --org')
    .option(
      '--state <state...>',
      'only in these states: queued, running, waiting, done, partly_delivered, held, cancelled, failed, skipped',
    )
    .option('--since <instant>', 'only runs created at this instant or later, e.g. 2026-11-01T00:00:00Z')
    .option('--until <instant>', 'only runs created before this instant')
    .option('--after <cursor>', 'the next page: "next" of the previous page')
    .option('--limit <n>', 'maximum number of runs', '20')
    .option('--json', 'one JSON document on stdout: runs, and next for --after')
    .addHelpText(
      'after',
      `
Environment: REDIS_URL, LOG_LEVEL

Examples:
  docket runs --org acme --report weekly-kpi
  docket runs --state failed partly_delivered held --since 2026-11-16T00:00:00Z`,
    )
    .action((flags: RunsFlags) => list(flags, io));
  addRunsShowCommand(runs, io);
  addRunsWatchCommand(runs, io);
  addRunsGetCommand(runs, io);
  addRunsCancelCommand(runs, io);
  addRunDecisionCommands(runs, io);
}

async function list(flags: RunsFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [
    { createContext },
    { withDecisions },
    { parseInstant, parseNumber, parseRunStates, assertOrgWithReport },
    { listRunPage, parseRunCursor },
  ] = await Promise.all([
    import('../../context.ts'),
    import('../../decisions.ts'),
    import('../../options/option-parsers.ts'),
    import('../../../run/run-page.ts'),
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
  const page = await withDecisions(createContext(io), ({ runs }) => listRunPage(runs, filter));
  if (flags.json) return print.printJson(page);
  if (page.runs.length === 0) return print.printLine('No runs.');
  print.printTable(COLUMNS, page.runs.map(rowOf));
  if (page.next !== null) print.printStatus(`There are more: --after ${page.next}`);
}

const COLUMNS: readonly Column[] = [
  { name: 'CREATED', whenNarrow: 'keep' },
  { name: 'STATE' },
  { name: 'REPORT' },
  { name: 'PERIOD' },
  { name: 'TRIGGER', whenNarrow: 'drop' },
  { name: 'CALLS', whenNarrow: 'drop' },
  { name: 'TOOK', whenNarrow: 'drop' },
  { name: 'ERROR', whenNarrow: 'drop' },
  { name: 'RUN', whenNarrow: 'keep' },
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
