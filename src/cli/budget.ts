import type { Command } from 'commander';
import type { BudgetsNow } from '../compose/budgets.ts';
import type { BudgetState } from '../fetch/budget.ts';
import type { Column } from './columns.ts';

export function addBudget(program: Command): void {
  program
    .command('budget')
    .description('Show each API key’s line: tokens free, calls in flight, waiting, blocked, 429s seen, slowed')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Reads Redis and the organizations of DOCKET_JOBS; calls nothing and spends no token. A key is named by its fingerprint.
After a 429 a key has fewer tokens for some windows: the limit shown is the one of now, and "slowed until" says when it is whole again.

Environment: REDIS_URL, DOCKET_JOBS, LOG_LEVEL; the organizations' keys

Example:
  docket budget --json`,
    )
    .action(budget);
}

async function budget(flags: { readonly json?: boolean }): Promise<void> {
  const [{ readSurroundings }, { loadJobs }, budgets, { secretSource }, { openRedis }, { DEFAULT_PREFIX }, print] =
    await Promise.all([
      import('./surroundings.ts'),
      import('../define/load.ts'),
      import('../compose/budgets.ts'),
      import('../base/secret.ts'),
      import('../queue/connection.ts'),
      import('../queue/keys.ts'),
      import('./print.ts'),
    ]);
  const around = readSurroundings();
  const { config, env, clock, log } = around;
  const jobs = await loadJobs(config.DOCKET_JOBS);
  const redis = await openRedis(config.REDIS_URL, 'producer', log);
  try {
    const now = await budgets.lookAtBudgets(jobs.orgs.values(), {
      secrets: secretSource(env, around),
      budgetOf: budgets.sharedBudgets(redis, DEFAULT_PREFIX, clock),
    });
    for (const fault of jobs.faults) print.sayLine(`left out: ${fault.file} has a fault; see \`docket check\``);
    if (flags.json) return print.printJson(documentOf(now));
    if (now.keys.length > 0) print.printLine(print.formatColumns(HEADER, rowsOf(now)));
    else if (now.unknown.length === 0) print.printLine(`No organization in ${config.DOCKET_JOBS}.`);
    for (const { conflict } of now.keys)
      if (conflict !== undefined) print.printLine(`${conflict.message} See \`docket check\`.`);
    for (const { org, error } of now.unknown) print.printLine(`${org}: key not known here. ${error.message}`);
  } finally {
    redis.disconnect();
  }
}

const instant = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

const HEADER: readonly (string | Column)[] = [
  'KEY',
  'OF',
  'FREE',
  { name: 'IN FLIGHT', narrow: 'spare' },
  'WAITING',
  { name: 'BLOCKED UNTIL', narrow: 'whole' },
  { name: '429S', narrow: 'spare' },
  { name: 'SLOWED UNTIL', narrow: 'spare' },
  'ORGANIZATIONS',
];

const rowsOf = ({ keys }: BudgetsNow): string[][] =>
  keys.flatMap(({ key, organizations, metrics, reads }) => {
    const row = (of: string, state: BudgetState) => [
      key,
      of,
      `${state.tokens}/${state.limit}`,
      String(state.inFlight),
      String(state.waiting),
      instant(state.blockedUntil) ?? '-',
      String(state.throttled),
      instant(state.slowedUntil) ?? '-',
      organizations.join(', '),
    ];
    return [row('metrics', metrics), ...(reads === null ? [] : [row('reads', reads)])];
  });

/** What `--json` prints. Snake case, as the API and the manifest. */
const documentOf = ({ keys, unknown }: BudgetsNow) => ({
  keys: keys.map(({ key, organizations, conflict, metrics, reads }) => ({
    key,
    organizations,
    ...(conflict === undefined ? {} : { conflict: conflict.message }),
    metrics: stateOf(metrics),
    reads: reads === null ? null : stateOf(reads),
  })),
  unknown: unknown.map(({ org, error }) => ({ organization: org, error })),
});

const stateOf = ({ tokens, limit, inFlight, waiting, blockedUntil, throttled, slowedUntil }: BudgetState) => ({
  tokens,
  limit,
  in_flight: inFlight,
  waiting,
  blocked_until: instant(blockedUntil),
  throttled,
  slowed_until: instant(slowedUntil),
});
