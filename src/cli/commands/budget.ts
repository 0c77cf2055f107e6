import { secretSource } from '../../base/secrets/secret.ts';
import { isoInstantOrNull } from '../../base/time.ts';
import { loadDefinitions } from '../../compose/built-in-kinds.ts';
import type { BudgetState } from '../../fetch/rate-limit/budget.ts';
import { DEFAULT_KEY_PREFIX } from '../../redis/keys.ts';
import { sharedBudgets } from '../../services/budgets/budgets.ts';
import { type BudgetInspection, inspectBudgets } from '../../services/budgets/inspect-budgets.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { withRedis } from '../redis.ts';
import { type LocalTimes, timesFor } from '../terminal/local-times.ts';
import type { NextCommand } from '../terminal/next-commands.ts';
import { type Column, createPrinter } from '../terminal/print.ts';
import type { Cell } from '../terminal/table/cell.ts';

export async function budget(
  flags: { readonly wide?: boolean; readonly json?: boolean },
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const { config, env, clock } = context;
  const jobs = await loadDefinitions(config.DOCKET_JOBS);
  const inspection = await withRedis(context, (redis) =>
    inspectBudgets(jobs.orgs.values(), {
      secrets: secretSource(env, context),
      budgetOf: sharedBudgets(redis, DEFAULT_KEY_PREFIX, clock),
    }),
  );
  for (const fault of jobs.diagnostics) print.printStatus(`skipped: ${fault.file} is invalid; see \`docket check\``);
  if (flags.json) return print.printJson(buildDocument(inspection));
  if (inspection.keys.length > 0)
    print.printTable(HEADER, buildRows(inspection, timesFor(io, clock.now(), flags)), flags);
  else if (inspection.unknown.length === 0) print.printLine(`No organization in ${config.DOCKET_JOBS}.`);
  for (const { conflict } of inspection.keys)
    if (conflict !== undefined) print.printText(`${conflict.message} See \`docket check\`.`);
  for (const { org, error } of inspection.unknown)
    print.printText(`${org}: the key cannot be read here. ${error.message}`);
  print.printNext(nextCommands(inspection));
}

const HEADER: readonly (string | Column)[] = [
  'KEY',
  'OF',
  'FREE',
  { name: 'IN FLIGHT', whenNarrow: 'drop', rank: 2 },
  'WAITING',
  { name: 'BLOCKED UNTIL', whenNarrow: 'keep' },
  { name: '429S', whenNarrow: 'drop', rank: 3 },
  { name: 'SLOWED UNTIL', whenNarrow: 'drop', rank: 1 },
  'ORGANIZATIONS',
];

const instantOrDash = (at: number | null, times: LocalTimes): string | Cell =>
  at === null ? '-' : { exact: new Date(at).toISOString(), brief: times.relative(at) };

const buildRows = ({ keys }: BudgetInspection, times: LocalTimes): (string | Cell)[][] =>
  keys.flatMap(({ key, organizations, metrics, reads }) => {
    const row = (kind: string, state: BudgetState) => [
      key,
      kind,
      `${state.tokens}/${state.limit}`,
      String(state.inFlight),
      String(state.waiting),
      instantOrDash(state.blockedUntil, times),
      String(state.throttled),
      instantOrDash(state.slowedUntil, times),
      organizations.join(', '),
    ];
    return [row('metrics', metrics), ...(reads === null ? [] : [row('reads', reads)])];
  });

function nextCommands({ keys, unknown }: BudgetInspection): readonly NextCommand[] {
  const conflict = keys.some((key) => key.conflict !== undefined);
  return [
    ...(conflict ? [{ command: 'docket check', why: 'where the budgets of one key differ' }] : []),
    ...(unknown.length === 0 ? [] : [{ command: 'docket doctor', why: 'which secret is missing, and where' }]),
  ];
}

/** The JSON document, in snake case like the API and the manifest. */
const buildDocument = ({ keys, unknown }: BudgetInspection) => ({
  keys: keys.map(({ key, organizations, conflict, metrics, reads }) => ({
    key,
    organizations,
    ...(conflict === undefined ? {} : { conflict: conflict.message }),
    metrics: buildStateFields(metrics),
    reads: reads === null ? null : buildStateFields(reads),
  })),
  unknown: unknown.map(({ org, error }) => ({ organization: org, error })),
});

const buildStateFields = ({ tokens, limit, inFlight, waiting, blockedUntil, throttled, slowedUntil }: BudgetState) => ({
  tokens,
  limit,
  in_flight: inFlight,
  waiting,
  blocked_until: isoInstantOrNull(blockedUntil),
  throttled,
  slowed_until: isoInstantOrNull(slowedUntil),
});
