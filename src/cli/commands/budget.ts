import { secretSource } from '../../base/secrets/secret.ts';
import type { BudgetState } from '../../fetch/rate-limit/budget.ts';
import { DEFAULT_KEY_PREFIX } from '../../redis/keys.ts';
import { sharedBudgets } from '../../services/budgets/budgets.ts';
import { type BudgetInspection, inspectBudgets } from '../../services/budgets/inspect-budgets.ts';
import { loadDefinitions } from '../../services/definitions/built-in-kinds.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { withRedis } from '../redis.ts';
import { type Column, createPrinter } from '../terminal/print.ts';

export async function budget(flags: { readonly json?: boolean }, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const context = createContext(io);
  const { config, env, clock } = context;
  const jobs = await loadDefinitions(config.DOCKET_JOBS);
  const inspection = await withRedis(context, (redis) =>
    inspectBudgets(jobs.orgs.values(), {
      secrets: secretSource(env, context),
      budgetOf: sharedBudgets(redis, DEFAULT_KEY_PREFIX, clock),
    }),
  );
  for (const fault of jobs.diagnostics) print.printStatus(`skipped: ${fault.file} is invalid; see \`docket check\``);
  if (flags.json) return print.printJson(documentOf(inspection));
  if (inspection.keys.length > 0) print.printTable(HEADER, rowsOf(inspection));
  else if (inspection.unknown.length === 0) print.printLine(`No organization in ${config.DOCKET_JOBS}.`);
  for (const { conflict } of inspection.keys)
    if (conflict !== undefined) print.printLine(`${conflict.message} See \`docket check\`.`);
  for (const { org, error } of inspection.unknown)
    print.printLine(`${org}: the key cannot be read here. ${error.message}`);
}

const formatOptionalInstant = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

const HEADER: readonly (string | Column)[] = [
  'KEY',
  'OF',
  'FREE',
  { name: 'IN FLIGHT', whenNarrow: 'drop' },
  'WAITING',
  { name: 'BLOCKED UNTIL', whenNarrow: 'keep' },
  { name: '429S', whenNarrow: 'drop' },
  { name: 'SLOWED UNTIL', whenNarrow: 'drop' },
  'ORGANIZATIONS',
];

const rowsOf = ({ keys }: BudgetInspection): string[][] =>
  keys.flatMap(({ key, organizations, metrics, reads }) => {
    const row = (kind: string, state: BudgetState) => [
      key,
      kind,
      `${state.tokens}/${state.limit}`,
      String(state.inFlight),
      String(state.waiting),
      formatOptionalInstant(state.blockedUntil) ?? '-',
      String(state.throttled),
      formatOptionalInstant(state.slowedUntil) ?? '-',
      organizations.join(', '),
    ];
    return [row('metrics', metrics), ...(reads === null ? [] : [row('reads', reads)])];
  });

/** The JSON document. Snake case, as the API and the manifest. */
const documentOf = ({ keys, unknown }: BudgetInspection) => ({
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
  blocked_until: formatOptionalInstant(blockedUntil),
  throttled,
  slowed_until: formatOptionalInstant(slowedUntil),
});
