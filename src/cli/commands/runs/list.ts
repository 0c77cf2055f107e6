import { withDecisions } from '../../../compose/decisions.ts';
import { listRunPage, parseRunCursor } from '../../../run/run-page.ts';
import type { RunRecord } from '../../../run/run-record.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { assertOrgWithReport, parseInstant, parseNumber, parseRunStates } from '../../options/option-parsers.ts';
import { type Column, createPrinter, formatInstant } from '../../terminal/print.ts';

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

export async function list(flags: RunsFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
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
