import { withDecisions } from '../../../compose/decisions.ts';
import { redisPauses } from '../../../queue/schedules/pauses.ts';
import { DEFAULT_KEY_PREFIX } from '../../../redis/keys.ts';
import { listRunPage, parseRunCursor } from '../../../run/run-page.ts';
import { type RunRecord, runStatus } from '../../../run/run-record.ts';
import { isLateNow } from '../../../services/runs/late-runs.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { assertOrgWithReport, parseInstant, parseNumber, parseRunStates } from '../../options/option-parsers.ts';
import { type RunPartsFlags, readRunParts } from '../../options/run-parts.ts';
import { type LocalTimes, localZone, timesFor } from '../../terminal/local-times.ts';
import type { NextCommand } from '../../terminal/next-commands.ts';
import { type Column, createPrinter } from '../../terminal/print.ts';
import { type Cell, idCells, instantCell, stateCell } from '../../terminal/table/cell.ts';

interface RunsFlags extends RunPartsFlags {
  readonly org?: string;
  readonly report?: string;
  readonly state?: readonly string[];
  readonly since?: string;
  readonly until?: string;
  readonly after?: string;
  readonly limit: string;
  readonly wide?: boolean;
  readonly json?: boolean;
}

export async function list(flags: RunsFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  assertOrgWithReport(flags);
  const { org, report, state, since, until, after } = flags;
  const context = await createContext(io);
  const at = { now: context.clock.now(), zone: localZone(io.env) };
  const filter = {
    ...(org === undefined ? {} : { org }),
    ...(report === undefined ? {} : { report }),
    ...(state === undefined ? {} : { states: parseRunStates('--state', state) }),
    ...(since === undefined ? {} : { since: parseInstant('--since', since, at) }),
    ...(until === undefined ? {} : { until: parseInstant('--until', until, at) }),
    ...(after === undefined ? {} : { after: parseRunCursor(after) }),
    limit: parseNumber('--limit', flags.limit, { min: 1, max: 1000 }),
  };
  const { found: page, late } = await withDecisions(context, async (opened) => {
    const parts = await readRunParts(flags, org === undefined ? '*' : [org], opened);
    const found = await listRunPage(opened.runs, { ...filter, ...parts });
    const pauses = found.runs.some(({ lateAfterMs }) => lateAfterMs !== undefined)
      ? await redisPauses(opened.redis, { prefix: DEFAULT_KEY_PREFIX }).list()
      : [];
    const now = context.clock.now();
    return { found, late: new Set(found.runs.filter((run) => isLateNow(run, pauses, now)).map(({ id }) => id)) };
  });
  if (flags.json) return print.printJson(page);
  if (page.runs.length === 0) return print.printLine('No runs.');
  const { wide } = flags;
  const idCell = idCells(page.runs.map(({ id }) => id));
  const rowOf = rowsIn(timesFor(io, context.clock.now(), { wide }), idCell, late);
  print.printTable(COLUMNS, page.runs.map(rowOf), { wide });
  if (page.next !== null) print.printStatus(`There are more: --after ${page.next}`);
  print.printNext(nextCommands(page.runs, idCell));
}

const COLUMNS: readonly Column[] = [
  { name: 'CREATED', whenNarrow: 'keep' },
  { name: 'STATE', whenNarrow: 'keep' },
  { name: 'REPORT', cut: 'report' },
  { name: 'PERIOD', whenNarrow: 'drop-last', cut: 'middle' },
  { name: 'TRIGGER', whenNarrow: 'drop', rank: 3 },
  { name: 'CALLS', whenNarrow: 'drop', rank: 4 },
  { name: 'TOOK', whenNarrow: 'drop', rank: 2 },
  { name: 'ERROR', whenNarrow: 'drop', rank: 1 },
  { name: 'RUN', whenNarrow: 'keep' },
];

const rowsIn =
  (times: LocalTimes, idCell: (id: string) => Cell, late: ReadonlySet<string>) =>
  (run: RunRecord): (string | Cell)[] => [
    instantCell(run.createdAt, times),
    late.has(run.id)
      ? { exact: `${run.state}, late`, brief: `${stateCell(runStatus(run)).brief}, late` }
      : { exact: run.state, brief: stateCell(runStatus(run)).brief },
    `${run.org}/${run.report}`,
    run.period.label,
    run.trigger,
    `${run.calls.made}+${run.calls.saved}`,
    run.startedAt === null || run.finishedAt === null
      ? ''
      : `${((run.finishedAt - run.startedAt) / 1000).toFixed(1)} s`,
    run.error?.code ?? '',
    idCell(run.id),
  ];

/** States that need a person, most urgent first, with what `docket runs show` says about them. */
const NEEDS = {
  awaiting_approval: 'awaiting approval: what is reviewed, and who may approve it',
  held: 'held: what is missing, and who would get it',
  failed: 'failed: why, and what to do',
  partly_delivered: 'partly delivered: who did not get it',
} as const;
const NEEDY_STATES = ['awaiting_approval', 'held', 'failed', 'partly_delivered'] as const;

/** The command for the newest run in each state that needs a person. */
function nextCommands(runs: readonly RunRecord[], idCell: (id: string) => Cell): readonly NextCommand[] {
  const needing = runs.filter(({ state }) => NEEDY_STATES.some((needy) => needy === state));
  const newest = NEEDY_STATES.flatMap((state): NextCommand[] => {
    const run = needing.find((each) => each.state === state);
    return run === undefined ? [] : [{ command: `docket runs show ${idCell(run.id).brief}`, why: NEEDS[state] }];
  });
  return needing.length <= newest.length
    ? newest
    : [
        ...newest,
        {
          command: `docket runs --state ${NEEDY_STATES.join(' ')}`,
          why: 'all runs in these states',
        },
      ];
}
