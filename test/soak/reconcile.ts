import type { ErrorCode } from '../../src/base/error.ts';
import { type DeliveryRow, NOTICE_TARGET } from '../../src/deliver/ledger/ledger.ts';
import { type RunRecord, TERMINAL_STATES } from '../../src/run/run-record.ts';

/** A run with its record, its ledger rows, its archive, and what was received. */
export interface RunFacts {
  readonly record: RunRecord;
  readonly rows: readonly DeliveryRow[];
  /** Problems of its archive folder; null if it has none. */
  readonly archive: readonly string[] | null;
  /** Deliveries of its definition, without notices: `mail lead@org-07.example`, `directory`, `s3`, `directory <slug>` of a pack. */
  readonly expected: readonly string[];
  /** Messages that the mail server received and did not refuse, by mailbox. */
  readonly mails: ReadonlyMap<string, number>;
  /** Problems of the files in its target folder and bucket. */
  readonly places: Readonly<Partial<Record<'directory' | 's3', readonly string[]>>>;
}

export interface Facts {
  readonly runs: readonly RunFacts[];
  /** `org/report slot` of every due slot and every acknowledged request. */
  readonly due: ReadonlySet<string>;
  /** Run ids by request. A request must open one run, even if it is repeated. */
  readonly asked: readonly (readonly string[])[];
  /** Deliveries to unknown recipients or with data of another organization. */
  readonly misdelivered: readonly string[];
  /** Packs of a split report that contain a name of another desk, or not their own. */
  readonly misdealt: readonly string[];
  /** Metrics calls received by the service: key and epoch ms, ascending. */
  readonly calls: readonly { readonly key: string; readonly at: number }[];
  readonly budget: { readonly calls: number; readonly windowMs: number };
  /** Number of values of delivered files that were compared with the service’s, and those that differ. */
  readonly figures: { readonly compared: number; readonly wrong: readonly string[] };
  /** Files written to the archive folder while it was not mounted. */
  readonly unmounted: readonly string[];
  /** Second deployments that did not refuse to start, with what they did. */
  readonly started: readonly string[];
  /** Number of messages at whose end a worker was caught. 0 means that the faults no longer recognise that moment. */
  readonly mailEnds: number;
  /** Calls that were made before their slot, and whose answers its run used. */
  readonly prepared: number;
  /** Calls with the key that the service refuses. */
  readonly refused: number;
  /** Tokens that a preparation took while a call of a run was waiting for one. */
  readonly overtaken: readonly string[];
  /** Organizations that were paused. There should be none: the service refuses no key that a run uses. */
  readonly paused: readonly string[];
  /** Secrets in logs, Redis, the archive or deliveries. */
  readonly leaks: readonly string[];
  /** Lines on stderr that show a defect. */
  readonly strays: readonly string[];
  /** Jobs left in BullMQ. */
  readonly jobs: number;
  readonly memory: { readonly peakBytes: number; readonly redisKeys: number; readonly redisBytes: number };
}

/** The checks of the report, by name. */
export type CheckName =
  | 'lost runs: due or requested, but not on record'
  | 'unexpected runs'
  | 'runs opened twice by one request'
  | 'unfinished runs'
  | 'lost deliveries: sent by the ledger, but not received'
  | 'lost deliveries: defined, but not in the ledger'
  | 'unsent deliveries of done runs'
  | 'sent twice'
  | 'received, but unknown to the ledger'
  | 'received by the wrong organization'
  | 'received by the wrong desk'
  | 'figures that differ from the service'
  | 'rate-limit windows exceeded at the server'
  | 'damaged or missing files'
  | 'failed runs without a notice'
  | 'runs failed by a transient error'
  | 'runs failed by killed workers'
  | 'unknown deliveries without a reason'
  | 'files written to the unmounted archive folder'
  | 'second deployments that started'
  | 'calls before a slot that passed waiting calls of runs'
  | 'organizations paused'
  | 'secrets in logs, Redis, the archive or deliveries'
  | 'stack traces and leak warnings on stderr'
  | 'jobs left in the queue'
  | 'keys in Redis'
  | 'peak memory of a process, bytes'
  | 'figures compared with the service'
  | 'workers caught at the end of a message'
  | 'calls made before their slot'
  | 'calls before a slot that the service refused'
  | 'runs done';

/** A line of the report. */
export interface CheckResult {
  readonly what: CheckName;
  readonly figure: number;
  /** Upper or lower limit of the figure. */
  readonly limit: { readonly most: number } | { readonly least: number };
  readonly ok: boolean;
  /** The first findings, as text. */
  readonly shown: readonly string[];
}

/**
 * Redis keys that belong to no run: schedules, budgets, catalogs of 40 organizations, and indexes of their recipients
 * and days.
 */
const MAX_SHARED_KEYS = 1_200;
const MAX_KEYS_PER_RUN = 7;
/** Four concurrent runs and the render pool. */
const MAX_PROCESS_BYTES = 600 * 1024 * 1024;

/** Share of runs: a worker is killed every five seconds, and three crashes in a row at the same point fail the run. */
const MAX_KILLED_SHARE = 0.02;
/** Expected errors of failed runs: permanent or uncertain replies of mail servers, and killed workers, which are counted separately. */
const FINAL: ReadonlySet<string> = new Set<ErrorCode>([
  'deliver.recipient_refused',
  'deliver.target_refused',
  'deliver.unknown',
  'run.poison',
]);

const nameOf = ({ record }: RunFacts): string => `${record.org}/${record.report} ${record.slot}`;
const formatFailure = (run: RunFacts): string =>
  `${nameOf(run)} run ${run.record.id}: ${run.record.error?.code} ${run.record.error?.message}`;
const formatRow = ({ org, report, run, target, recipient, state, detail }: DeliveryRow): string =>
  `${org}/${report} run ${run} ${target} ${recipient}: ${state}${detail === null ? '' : ` (${detail})`}`;

/** Number of times a row was received; undefined if unknown. */
function arrivalsOf(row: DeliveryRow, { mails, places }: RunFacts): number | undefined {
  if (row.recipient.includes('@')) return mails.get(row.recipient) ?? 0;
  const place = row.target.endsWith('s3') ? places.s3 : places.directory;
  // Each pack of a split report has its own row, and its own folder in that of the run.
  const [, slug] = row.target.split(':');
  const problems = slug === undefined ? place : place?.filter((problem) => problem.startsWith(`${slug}/`));
  // Files are overwritten, so each counts at most once.
  return problems === undefined ? undefined : problems.length === 0 ? 1 : 0;
}

/** Maximum number of calls of a key within a window, and number of windows above the budget. */
export function overBudget({ calls, budget }: Pick<Facts, 'calls' | 'budget'>): { most: number; over: number } {
  let most = 0;
  let over = 0;
  for (const key of new Set(calls.map((call) => call.key))) {
    const mine = calls.filter((call) => call.key === key);
    let first = 0;
    for (const [index, { at }] of mine.entries()) {
      while ((mine[first]?.at ?? at) <= at - budget.windowMs) first += 1;
      const within = index - first + 1;
      most = Math.max(most, within);
      if (within > budget.calls) over += 1;
    }
  }
  return { most, over };
}

/** All other errors are transient, and should pass before a run fails. */
export const failedByTransientError = ({ state, error }: RunRecord): boolean =>
  state === 'failed' && !FINAL.has(error?.code ?? '');

/** Evaluates all checks. */
export function reconcile(facts: Facts): CheckResult[] {
  const { runs } = facts;
  const rows = runs.flatMap((run) => run.rows.map((row) => ({ row, run })));
  const most = (what: CheckName, shown: readonly string[], limit = 0, figure = shown.length): CheckResult => ({
    what,
    figure,
    limit: { most: limit },
    ok: figure <= limit,
    shown: shown.slice(0, 20),
  });
  const least = (what: CheckName, figure: number, limit: number): CheckResult => ({
    what,
    figure,
    limit: { least: limit },
    ok: figure >= limit,
    shown: [],
  });

  const opened = new Set(runs.map(nameOf));
  const isNotified = (run: RunFacts) =>
    run.rows.some(({ target, state }) => target === NOTICE_TARGET && state !== 'pending');
  const ended = runs.filter(({ record }) => TERMINAL_STATES.has(record.state));
  const short = ended.filter(({ record }) => record.state !== 'done');
  const failed = ended.filter(({ record }) => record.state === 'failed');

  const lost = rows.filter(({ row, run }) => row.state === 'sent' && arrivalsOf(row, run) === 0);
  const missing = ended
    .filter(({ record }) => record.state === 'done' || record.state === 'partly_delivered')
    .flatMap((run) => {
      const have = new Set(run.rows.map((row) => deliveryName(row)));
      return run.expected.filter((one) => !have.has(one)).map((one) => `${nameOf(run)}: no row for ${one}`);
    });
  // The notice of a run that is done in the end need not be sent, but it must not stay `sending`.
  const settled = ({ target, state }: DeliveryRow): boolean =>
    state === 'sent' || (target === NOTICE_TARGET && state !== 'sending');
  const undone = rows.filter(({ row, run }) => run.record.state === 'done' && !settled(row));
  const twice = runs.flatMap((run) =>
    [...run.mails]
      .filter(([, count]) => count > 1)
      .map(([to, count]) => `${nameOf(run)} run ${run.record.id}: ${count} to ${to}`),
  );
  const unrequested = runs.flatMap((run) => {
    const known = new Map(run.rows.map((row) => [row.recipient, row.state]));
    return [...run.mails.keys()]
      .filter((to) => !['sent', 'unknown'].includes(known.get(to) ?? ''))
      .map((to) => `${nameOf(run)}: received by ${to}, ledger state ${known.get(to) ?? 'none'}`);
  });
  const unknown = rows.filter(({ row }) => row.state === 'unknown');
  const budget = overBudget(facts);
  const torn = runs.flatMap((run) => [
    ...(run.archive ?? (run.record.state === 'done' ? ['no archive folder'] : [])).map(
      (fault) => `${nameOf(run)}: ${fault}`,
    ),
    ...Object.values(run.places).flatMap((faults) =>
      run.record.state === 'done' ? faults.map((fault) => `${nameOf(run)}: ${fault}`) : [],
    ),
  ]);

  return [
    most(
      'lost runs: due or requested, but not on record',
      [...facts.due].filter((name) => !opened.has(name)),
    ),
    most(
      'unexpected runs',
      [...opened].filter((name) => !facts.due.has(name)),
    ),
    most(
      'runs opened twice by one request',
      facts.asked.filter((ids) => new Set(ids).size > 1).map((ids) => ids.join(', ')),
    ),
    most(
      'unfinished runs',
      runs
        .filter((run) => !ended.includes(run))
        .map((run) => `${nameOf(run)} run ${run.record.id}: ${run.record.state}`),
    ),
    most(
      'lost deliveries: sent by the ledger, but not received',
      lost.map(({ row }) => formatRow(row)),
    ),
    most('lost deliveries: defined, but not in the ledger', missing),
    most(
      'unsent deliveries of done runs',
      undone.map(({ row }) => formatRow(row)),
    ),
    most('sent twice', twice),
    most('received, but unknown to the ledger', unrequested),
    most('received by the wrong organization', facts.misdelivered),
    most('received by the wrong desk', facts.misdealt),
    most('figures that differ from the service', facts.figures.wrong),
    most(
      'rate-limit windows exceeded at the server',
      budget.over === 0 ? [] : [`at most ${budget.most} calls in a window`],
      0,
      budget.over,
    ),
    most('damaged or missing files', torn),
    most(
      'failed runs without a notice',
      short
        .filter((run) => !isNotified(run))
        .map((run) => `${nameOf(run)} run ${run.record.id}: ${run.record.state} ${run.record.error?.message ?? ''}`),
    ),
    most(
      'runs failed by a transient error',
      failed.filter(({ record }) => failedByTransientError(record)).map(formatFailure),
    ),
    most(
      'runs failed by killed workers',
      failed.filter(({ record }) => record.error?.code === 'run.poison').map(formatFailure),
      Math.ceil(runs.length * MAX_KILLED_SHARE),
    ),
    most(
      'unknown deliveries without a reason',
      unknown.filter(({ row }) => !row.detail).map(({ row }) => formatRow(row)),
    ),
    most('files written to the unmounted archive folder', facts.unmounted),
    most('second deployments that started', facts.started),
    most('calls before a slot that passed waiting calls of runs', facts.overtaken),
    most('organizations paused', facts.paused),
    most('secrets in logs, Redis, the archive or deliveries', facts.leaks),
    most('stack traces and leak warnings on stderr', facts.strays),
    most('jobs left in the queue', [], 0, facts.jobs),
    most('keys in Redis', [], MAX_SHARED_KEYS + MAX_KEYS_PER_RUN * runs.length, facts.memory.redisKeys),
    most('peak memory of a process, bytes', [], MAX_PROCESS_BYTES, facts.memory.peakBytes),
    least('figures compared with the service', facts.figures.compared, 1),
    least('workers caught at the end of a message', facts.mailEnds, 1),
    least('calls made before their slot', facts.prepared, 1),
    least('calls before a slot that the service refused', facts.refused, 1),
    least('runs done', runs.filter(({ record }) => record.state === 'done').length, Math.ceil(runs.length / 2)),
  ];
}

/** As in `RunFacts.expected`. */
export const deliveryName = ({ target, recipient }: Pick<DeliveryRow, 'target' | 'recipient'>): string => {
  const [kind = '', desk] = target.split(':');
  if (recipient.includes('@')) return `mail ${recipient}`;
  return `${kind.endsWith('s3') ? 's3' : 'directory'}${desk === undefined ? '' : ` ${desk}`}`;
};
