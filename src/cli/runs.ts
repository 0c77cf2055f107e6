import type { Command } from 'commander';
import type { RunRecord } from '../run/record.ts';
import type { Column } from './columns.ts';
import { formatInstant } from './print.ts';
import { addRunsCancel } from './runs-cancel.ts';
import { addRunDecisions } from './runs-decide.ts';
import { addRunsGet } from './runs-get.ts';
import { addRunsShow } from './runs-show.ts';
import { addRunsWatch } from './runs-watch.ts';

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

export function addRuns(program: Command): void {
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
  addRunsShow(runs);
  addRunsWatch(runs);
  addRunsGet(runs);
  addRunsCancel(runs);
  addRunDecisions(runs);
}

async function list(flags: RunsFlags): Promise<void> {
  const [
    { readSurroundings },
    { openDesk },
    { readInstant, readNumber, readStates, requireOrgWithReport },
    { pageOf, readCursor },
    print,
  ] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/decisions.ts'),
    import('./flag.ts'),
    import('../run/page.ts'),
    import('./print.ts'),
  ]);
  requireOrgWithReport(flags);
  const { org, report, state, since, until, after } = flags;
  const filter = {
    ...(org === undefined ? {} : { org }),
    ...(report === undefined ? {} : { report }),
    ...(state === undefined ? {} : { states: readStates('--state', state) }),
    ...(since === undefined ? {} : { since: readInstant('--since', since) }),
    ...(until === undefined ? {} : { until: readInstant('--until', until) }),
    ...(after === undefined ? {} : { after: readCursor(after) }),
    limit: readNumber('--limit', flags.limit, { min: 1, max: 1000 }),
  };
  const { runs, scope } = await openDesk(readSurroundings());
  try {
    const page = await pageOf(runs, filter);
    if (flags.json) return print.printJson(page);
    if (page.runs.length === 0) return print.printLine('No such run is on record.');
    print.printLine(print.formatColumns(COLUMNS, [...page.runs.map(rowOf)]));
    if (page.next !== null) print.sayLine(`There are more: --after ${page.next}`);
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
