import type { ErrorCode } from '../../src/base/error.ts';
import type { DeliveryRow } from '../../src/deliver/ledger.ts';
import { NOTICE_TARGET } from '../../src/deliver/ledger.ts';
import { ENDED, type RunRecord } from '../../src/run/record.ts';

/** What is known of one run: its record and its rows, what its archive says, and what the sinks have. */
export interface RunFacts {
  readonly record: RunRecord;
  readonly rows: readonly DeliveryRow[];
  /** Faults of its sealed folder; null when there is none. */
  readonly archive: readonly string[] | null;
  /** Deliveries that its definition asks for, without notices: `mail lead@org-07.example`, `directory`, `s3`. */
  readonly meant: readonly string[];
  /** Messages that came to the mail server and were not refused, by mailbox. */
  readonly mails: ReadonlyMap<string, number>;
  /** What is wrong with the files at its folder and in its bucket; empty when each is there whole. */
  readonly places: Readonly<Partial<Record<'directory' | 's3', readonly string[]>>>;
}

export interface Facts {
  readonly runs: readonly RunFacts[];
  /** `org/report slot` of every slot that came due, and of every request that was acknowledged. */
  readonly due: ReadonlySet<string>;
  /** Runs that one request, asked several times, has opened: each must be one. */
  readonly asked: readonly (readonly string[])[];
  /** What came to a stranger or holds a foreign word or figure, a line each. */
  readonly strangers: readonly string[];
  /** Metrics calls as they came to the service: key and epoch ms, ascending. */
  readonly calls: readonly { readonly key: string; readonly at: number }[];
  readonly budget: { readonly calls: number; readonly windowMs: number };
  /** Figures of delivered files that were compared with the service's, and those that differ. */
  readonly figures: { readonly compared: number; readonly wrong: readonly string[] };
  /** Files that came to stand where the archive is mounted, while it was not. */
  readonly unmounted: readonly string[];
  /** What second deployments on this Redis did instead of refusing to start. */
  readonly letIn: readonly string[];
  /** Secrets in logs, Redis, the archive or what was sent, and lines on stderr that only a defect writes. */
  readonly leaks: readonly string[];
  readonly strays: readonly string[];
  /** Jobs that BullMQ still has to do. */
  readonly jobs: number;
  readonly memory: { readonly peakBytes: number; readonly redisKeys: number; readonly redisBytes: number };
}

/** A line of the table. */
export interface Verdict {
  readonly what: string;
  readonly figure: number;
  /** The figure may be this at most, or must be at least this. */
  readonly limit: { readonly most: number } | { readonly least: number };
  readonly ok: boolean;
  /** What it counted, for a person; the first of many. */
  readonly shown: readonly string[];
}

/** Redis names that belong to no run in particular: schedules, indexes, budgets, catalogs of 40 organizations. */
const KEYS_BESIDE = 600;
const KEYS_A_RUN = 7;
/** Bytes of a process: four runs at a time, and a pool that renders. */
const PEAK_BYTES = 600 * 1024 * 1024;

/** Of runs: a worker is killed every five seconds, and three in a row at the same place are taken for the run's doing. */
const KILLED_SHARE = 0.02;
/** What a run may fail of: what a mail server refuses for good or leaves open, and killed workers, which are counted apart. */
const FINAL: ReadonlySet<string> = new Set<ErrorCode>([
  'deliver.recipient_refused',
  'deliver.target_refused',
  'deliver.unknown',
  'run.poison',
]);

const nameOf = ({ record }: RunFacts): string => `${record.org}/${record.report} ${record.slot}`;
const sayFailure = (run: RunFacts): string =>
  `${nameOf(run)} run ${run.record.id}: ${run.record.error?.code} ${run.record.error?.message}`;
const sayRow = ({ org, report, run, target, recipient, state, detail }: DeliveryRow): string =>
  `${org}/${report} run ${run} ${target} ${recipient}: ${state}${detail === null ? '' : ` (${detail})`}`;

/** Of the same row: what the sinks have of it. Undefined: nobody can count it. */
function arrivalsOf(row: DeliveryRow, { mails, places }: RunFacts): number | undefined {
  if (row.recipient.includes('@')) return mails.get(row.recipient) ?? 0;
  const place = row.target.endsWith('s3') ? places.s3 : places.directory;
  // A file that stands there whole cannot be counted twice.
  return place === undefined ? undefined : place.length === 0 ? 1 : 0;
}

/** The most calls of one key that came within less than a window, and how many of its windows had more than the budget. */
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

/** What was promised, counted: the first lines are what must be nothing. */
export function reconcile(facts: Facts): Verdict[] {
  const { runs } = facts;
  const rows = runs.flatMap((run) => run.rows.map((row) => ({ row, run })));
  const most = (what: string, shown: readonly string[], limit = 0, figure = shown.length): Verdict => ({
    what,
    figure,
    limit: { most: limit },
    ok: figure <= limit,
    shown: shown.slice(0, 20),
  });
  const least = (what: string, figure: number, limit: number): Verdict => ({
    what,
    figure,
    limit: { least: limit },
    ok: figure >= limit,
    shown: [],
  });

  const opened = new Set(runs.map(nameOf));
  const told = (run: RunFacts) => run.rows.some(({ target, state }) => target === NOTICE_TARGET && state !== 'pending');
  const ended = runs.filter(({ record }) => ENDED.has(record.state));
  const short = ended.filter(({ record }) => record.state !== 'done');
  const failed = ended.filter(({ record }) => record.state === 'failed');

  const lost = rows.filter(({ row, run }) => row.state === 'sent' && arrivalsOf(row, run) === 0);
  const missing = ended
    .filter(({ record }) => record.state === 'done' || record.state === 'partly_delivered')
    .flatMap((run) => {
      const have = new Set(run.rows.map((row) => meantBy(row)));
      return run.meant.filter((one) => !have.has(one)).map((one) => `${nameOf(run)}: no row for ${one}`);
    });
  // What its owner was to hear before it was done after all need not leave any more; nor may it stand as if it were leaving.
  const settled = ({ target, state }: DeliveryRow): boolean =>
    state === 'sent' || (target === NOTICE_TARGET && state !== 'sending');
  const undone = rows.filter(({ row, run }) => run.record.state === 'done' && !settled(row));
  const twice = runs.flatMap((run) =>
    [...run.mails]
      .filter(([, count]) => count > 1)
      .map(([to, count]) => `${nameOf(run)} run ${run.record.id}: ${count} to ${to}`),
  );
  const unasked = runs.flatMap((run) => {
    const known = new Map(run.rows.map((row) => [row.recipient, row.state]));
    return [...run.mails.keys()]
      .filter((to) => !['sent', 'unknown'].includes(known.get(to) ?? ''))
      .map((to) => `${nameOf(run)}: ${to} has it, the ledger says ${known.get(to) ?? 'nothing'}`);
  });
  const unknown = rows.filter(({ row }) => row.state === 'unknown');
  const budget = overBudget(facts);
  const torn = runs.flatMap((run) => [
    ...(run.archive ?? (run.record.state === 'done' ? ['no sealed folder'] : [])).map(
      (fault) => `${nameOf(run)}: ${fault}`,
    ),
    ...Object.values(run.places).flatMap((faults) =>
      run.record.state === 'done' ? faults.map((fault) => `${nameOf(run)}: ${fault}`) : [],
    ),
  ]);

  return [
    most(
      'runs lost: due or asked for, and not on record',
      [...facts.due].filter((name) => !opened.has(name)),
    ),
    most(
      'runs that nobody asked for',
      [...opened].filter((name) => !facts.due.has(name)),
    ),
    most(
      'runs opened twice by one request',
      facts.asked.filter((ids) => new Set(ids).size > 1).map((ids) => ids.join(', ')),
    ),
    most(
      'runs that have not ended',
      runs
        .filter((run) => !ended.includes(run))
        .map((run) => `${nameOf(run)} run ${run.record.id}: ${run.record.state}`),
    ),
    most(
      'deliveries lost: sent by the ledger, and not at the sink',
      lost.map(({ row }) => sayRow(row)),
    ),
    most('deliveries lost: meant, and not in the ledger', missing),
    most(
      'deliveries of a run that is done, and not sent',
      undone.map(({ row }) => sayRow(row)),
    ),
    most('sent twice', twice),
    most('at the sink, and the ledger does not know', unasked),
    most('at the wrong organization', facts.strangers),
    most('figures that are not the service’s', facts.figures.wrong),
    most(
      'windows over the budget at the server',
      budget.over === 0 ? [] : [`at most ${budget.most} calls in a window`],
      0,
      budget.over,
    ),
    most('files that are torn or missing', torn),
    most(
      'runs that failed or gave up, and nobody was told',
      short
        .filter((run) => !told(run))
        .map((run) => `${nameOf(run)} run ${run.record.id}: ${run.record.state} ${run.record.error?.message ?? ''}`),
    ),
    // All else passes, and sooner than a run gives up.
    most(
      'runs failed by what passes',
      failed.filter(({ record }) => !FINAL.has(record.error?.code ?? '')).map(sayFailure),
    ),
    most(
      'runs given up because their workers were killed',
      failed.filter(({ record }) => record.error?.code === 'run.poison').map(sayFailure),
      Math.ceil(runs.length * KILLED_SHARE),
    ),
    most(
      'unknown deliveries without a reason',
      unknown.filter(({ row }) => !row.detail).map(({ row }) => sayRow(row)),
    ),
    most('files written where the archive was not mounted', facts.unmounted),
    most('second deployments that were let in', facts.letIn),
    most('secrets in logs, Redis, the archive or what was sent', facts.leaks),
    most('stack traces and warnings of a leak on stderr', facts.strays),
    most('jobs left in the queue', [], 0, facts.jobs),
    most('keys in Redis', [], KEYS_BESIDE + KEYS_A_RUN * runs.length, facts.memory.redisKeys),
    most('bytes of a process at most', [], PEAK_BYTES, facts.memory.peakBytes),
    least('figures compared with the service', facts.figures.compared, 1),
    least('runs done', runs.filter(({ record }) => record.state === 'done').length, Math.ceil(runs.length / 2)),
  ];
}

/** As `RunFacts.meant` names it. */
export const meantBy = ({ target, recipient }: Pick<DeliveryRow, 'target' | 'recipient'>): string =>
  recipient.includes('@') ? `mail ${recipient}` : target.endsWith('s3') ? 's3' : 'directory';
