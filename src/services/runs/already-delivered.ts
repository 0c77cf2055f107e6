import { DocketError, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { intlDateTimeFormat } from '../../base/text/intl.ts';
import { DAY_MS } from '../../base/time.ts';
import { addressKey } from '../../definitions/allow-lists/recipients.ts';
import { formatPeriod, type Period } from '../../definitions/periods/period.ts';
import { kindOfTarget, resolveTarget } from '../../definitions/schema/kinds.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { isOfValue } from '../../definitions/split.ts';
import { type FindArchivedRuns, findArchivedRuns } from '../../deliver/archive/archived-runs.ts';
import type { ArchiveStorage, RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import type { Claim } from '../../deliver/claims/claim.ts';
import { findLedgerRuns } from '../../deliver/ledger/archived-ledger.ts';
import type { DeliveryState, Ledger } from '../../deliver/ledger/ledger.ts';
import { TARGETS } from '../../deliver/targets/registry.ts';
import type { Target } from '../../deliver/targets/target.ts';
import type { RunCursor, RunOrder, RunRecord } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';

/** A report and a period. */
export interface ReportPeriod {
  readonly org: string;
  readonly report: string;
  readonly period: Period;
  /** A run to ignore, usually the current one; `except`: others to ignore. */
  readonly id?: string;
  readonly except?: ReadonlySet<string>;
  /** With `split`: only the pack of this value counts. Absent: all packs do. */
  readonly value?: string | undefined;
}

/** A run that has delivered a report for a period. */
export interface EarlierDelivery {
  readonly run: string;
  readonly period: Period;
  /** When it last delivered, epoch ms. */
  readonly at: number;
  /** Confirmed deliveries by kind of target. For e-mail, the number of mailboxes. */
  readonly sent: Readonly<Record<string, number>>;
  /** Deliveries that may have arrived, or whose kind of target is unknown. */
  readonly uncertain: number;
  /** In a report with `split`: the slugs of the values whose packs were delivered, or may have been. */
  readonly packs?: readonly string[];
}

/** The earlier delivery, as JSON in an `already_delivered` error. */
export interface DeliveredJson {
  run: string;
  period: { from: string; to: string; timezone: string; label: string };
  /** When it last delivered, ISO 8601 in UTC. */
  at: string;
  /** Mailboxes that received it. */
  people: number;
  /** SFTP servers, buckets, webhooks and channels that received it. */
  targets: number;
  /** Deliveries in state `unknown`. */
  uncertain: number;
}

/**
 * Finds the newest run that has delivered the report for the period, or may have; undefined if there is none. Throws
 * `redis.unreachable`, `archive.unreachable`.
 */
export type FindEarlierDelivery = (query: ReportPeriod) => Promise<EarlierDelivery | undefined>;

/** A delivery from the ledger, a record or the archive. */
export interface KnownDelivery {
  /** Position and kind in the definition, e.g. `0-email`; null where unknown. */
  readonly target: string | null;
  readonly recipient: string;
  readonly state: string;
  /** Epoch ms. */
  readonly at: number;
}

/** The targets that count as delivered: those with an audience. Notices to the owner do not count. */
const countedTargets = (targets: readonly Target[]) =>
  targets.flatMap(({ kind, audience }) => (audience === undefined ? [] : [{ kind, audience }]));

const DELIVERED_STATES: ReadonlySet<string> = new Set<DeliveryState>(['sent']);
const UNCERTAIN_STATES: ReadonlySet<string> = new Set<DeliveryState>(['sending', 'unknown']);

/** Summarizes a run's deliveries; undefined if none counts. @param value only the deliveries of its pack */
export function summarizeDeliveries(
  run: string,
  period: Period,
  facts: readonly KnownDelivery[],
  targets = TARGETS,
  value?: string,
): EarlierDelivery | undefined {
  const kinds = countedTargets(targets).map(({ kind }) => kind);
  const counted = facts.flatMap((fact) => {
    if (value !== undefined && !isOfValue(fact, value)) return [];
    const kind = kinds.find((each) => fact.target !== null && kindOfTarget(fact.target) === each);
    return kind === undefined && fact.target !== null ? [] : [{ ...fact, kind }];
  });
  const sent = counted.filter(({ state }) => DELIVERED_STATES.has(state));
  const unsure = counted.filter(({ state }) => UNCERTAIN_STATES.has(state));
  const last = [...sent, ...unsure].reduce((latest, { at }) => Math.max(latest, at), 0);
  if (sent.length + unsure.length === 0) return undefined;
  const ofKind = (kind: string): number =>
    new Set(sent.flatMap((fact) => (fact.kind === kind ? [addressKey(fact.recipient) ?? fact.recipient] : []))).size;
  const counts = kinds.flatMap((kind) => (ofKind(kind) === 0 ? [] : [[kind, ofKind(kind)] as const]));
  const unknownKind = sent.filter(({ kind }) => kind === undefined).length;
  const packs = new Set([...sent, ...unsure].flatMap(({ target }) => target?.split(':')[1] ?? []));
  return {
    run,
    period,
    at: last,
    sent: Object.fromEntries(counts),
    uncertain: unsure.length + unknownKind,
    ...(packs.size > 0 && { packs: [...packs] }),
  };
}

/** Records per read. */
const RECORDS_PAGE_SIZE = 200;
/** A period starts up to a day earlier in other time zones, and clocks may differ. */
const PERIOD_MARGIN_MS = 2 * DAY_MS;

/** Searches the records of the report's runs, newest first, back to the first day of the period. */
export function findDeliveredInRecords({ runs, ledger }: Deployment): FindEarlierDelivery {
  return async ({ id, except, org, report, period, value }) => {
    const since = Date.parse(period.from) - PERIOD_MARGIN_MS;
    for (let after: RunCursor | undefined; ; ) {
      const page = await runs.list({ org, report, since, limit: RECORDS_PAGE_SIZE, ...(after && { after }) });
      for (const record of page) {
        const counts = record.id !== id && !except?.has(record.id) && record.deliver && record.state !== 'skipped';
        if (!counts || !isSamePeriod(record.period, period)) continue;
        const known = await readKnownDeliveries(record, ledger);
        const found = summarizeDeliveries(record.id, record.period, known, TARGETS, value);
        if (found !== undefined) return found;
      }
      after = page.at(-1);
      if (after === undefined || page.length < RECORDS_PAGE_SIZE) return undefined;
    }
  };
}

/** Searches the archived runs, and the recorded deliveries of runs that are published elsewhere. */
export function findDeliveredInArchive(storage: ArchiveStorage, log: Log): FindEarlierDelivery {
  const onUnreadable = ({ id: run, org, report }: RunRef, thrown: unknown): void => {
    const error = toDocketError(thrown).toJSON();
    log.warn('Archived states of a run could not be read', { run, org, report, error });
  };
  return firstFound([
    findDeliveredIn(findLedgerRuns(storage, onUnreadable)),
    findDeliveredIn(findArchivedRuns(storage, onUnreadable)),
  ]);
}

const findDeliveredIn =
  (findRuns: FindArchivedRuns): FindEarlierDelivery =>
  async (query) => {
    for await (const { run, deliveries } of findRuns(query)) {
      if (run === query.id || query.except?.has(run)) continue;
      const found = summarizeDeliveries(run, query.period, deliveries, TARGETS, query.value);
      if (found !== undefined) return found;
    }
    return undefined;
  };

/** The ledger's rows; those of the record if the ledger has lost them. */
async function readKnownDeliveries(record: RunRecord, ledger: Ledger): Promise<readonly KnownDelivery[]> {
  const rows = await ledger.list(record.id);
  if (rows.length > 0) return rows;
  const at = record.finishedAt ?? record.createdAt;
  return record.deliveries.map(({ target, recipient, state }) => ({ target, recipient, state, at }));
}

/** Whether two periods have the same days in the same time zone, whatever their labels. */
const isSamePeriod = (one: Period, other: Period): boolean =>
  one.from === other.from && one.to === other.to && one.timezone === other.timezone;

/** Tries the finders in order. Put the fastest first. */
export const firstFound =
  (finders: readonly FindEarlierDelivery[]): FindEarlierDelivery =>
  async (query) => {
    for (const find of finders) {
      const found = await find(query);
      if (found !== undefined) return found;
    }
    return undefined;
  };

type Refused = 'opened' | 'approved' | 'sent';

interface RepeatRule {
  /** Undefined: repeated deliveries are allowed. */
  readonly find: FindEarlierDelivery | undefined;
  /** Epoch ms. */
  readonly now: number;
  /** What is refused. Default: `opened`. */
  readonly refused?: Refused;
  readonly targets?: readonly Target[];
}

/**
 * Throws `already_delivered` if the report was already delivered for the period. The command line, the page and the API
 * follow this rule. It does not apply with `again`, without deliveries, or if all deliveries go to local directories.
 * Also throws the errors of `find`.
 *
 * @returns with `again`: as `findRepeated`
 */
export async function assertNotDelivered(
  query: ReportPeriod & { readonly deliver: boolean },
  definition: Pick<Definition, 'deliveries' | 'split'>,
  { again, ...rule }: RepeatRule & { readonly again: boolean },
): Promise<Pick<RunOrder, 'repeats'>> {
  if (again) return findRepeated(query, definition, rule);
  const repeated = await repeatedDelivery(query, definition, rule);
  if (repeated !== undefined) throw repeated;
  return {};
}

/** The most runs whose packs a repeated run is compared with. */
const MAX_REPEATED = 10;

/**
 * Finds the deliveries that a run with `again` repeats. In a report with `split`, each pack may have been delivered by
 * another run. Incomplete if the archive cannot be read, because that must not prevent the run.
 */
export async function findRepeated(
  query: ReportPeriod & { readonly deliver: boolean },
  definition: Pick<Definition, 'deliveries' | 'split'>,
  rule: RepeatRule,
): Promise<Pick<RunOrder, 'repeats'>> {
  const most = definition.split === undefined || query.value !== undefined ? 1 : MAX_REPEATED;
  const found = new Map<string, NonNullable<RunOrder['repeats']>[number]>();
  while (found.size < most) {
    const except = new Set(found.keys());
    const earlier = await findEarlier({ ...query, except }, definition, rule).catch(() => undefined);
    if (earlier === undefined) break;
    const { run, at, packs } = earlier;
    found.set(run, { run, at, ...(packs && { packs }) });
  }
  return found.size === 0 ? {} : { repeats: [...found.values()] };
}

/**
 * Finds an earlier delivery of the period by the rules of `assertNotDelivered`. Resolves to the error; undefined if
 * there is none.
 */
export async function repeatedDelivery(
  query: ReportPeriod & { readonly deliver: boolean },
  definition: Pick<Definition, 'deliveries'>,
  rule: RepeatRule,
): Promise<DocketError | undefined> {
  const { now, refused = 'opened', targets = TARGETS } = rule;
  const earlier = await findEarlier(query, definition, rule);
  return earlier && alreadyDeliveredError(query, earlier, now, refused, targets);
}

async function findEarlier(
  query: ReportPeriod & { readonly deliver: boolean },
  { deliveries }: Pick<Definition, 'deliveries'>,
  { find, targets = TARGETS }: RepeatRule,
): Promise<EarlierDelivery | undefined> {
  const counts = deliveries.some((delivery) => resolveTarget(delivery, targets).target.audience !== undefined);
  return query.deliver && counts ? find?.(query) : undefined;
}

/** The error if another run is about to deliver the period. @param claim the other run's claim */
export const beingDeliveredError = (
  { org, report, period }: ReportPeriod,
  claim: Pick<Claim, 'run' | 'at'>,
): DocketError =>
  new DocketError('already_delivered', `Run ${claim.run.slice(0, 8)} is delivering ${formatDays(period)}.`, {
    where: `${org}/${report}`,
    next: nextStep('sent'),
    delivered: {
      run: claim.run,
      period: { ...period },
      at: new Date(claim.at).toISOString(),
      people: 0,
      targets: 0,
      uncertain: 0,
    },
  });

const nextStep = (refused: Refused): string =>
  `Nothing was ${refused}. To send it again anyway: --again on the command line, \`again: true\` in the API, the box in the form of the page.`;

const formatDays = (period: Period): string => formatPeriod(period).replace(/ \([^()]*\)$/, '');

/** The error if the period was already delivered. @param now epoch ms */
export function alreadyDeliveredError(
  { org, report }: Pick<ReportPeriod, 'org' | 'report'>,
  earlier: EarlierDelivery,
  now: number,
  refused: Refused,
  targets: readonly Target[] = TARGETS,
): DocketError {
  const { run, period, at, sent, uncertain } = earlier;
  const count = (people: boolean): number =>
    countedTargets(targets).reduce(
      (sum, { kind, audience }) => sum + (people === (audience.people ?? false) ? (sent[kind] ?? 0) : 0),
      0,
    );
  return new DocketError('already_delivered', describeDelivery(earlier, now, targets), {
    where: `${org}/${report}`,
    next: nextStep(refused),
    delivered: {
      run,
      period: { ...period },
      at: new Date(at).toISOString(),
      people: count(true),
      targets: count(false),
      uncertain,
    } satisfies DeliveredJson,
  });
}

/** A sentence: `October 2026 went to 2 people on 3 Nov, 10:56 (run 83b1c195).` */
function describeDelivery(
  { run, period, at, sent, uncertain }: EarlierDelivery,
  now: number,
  targets: readonly Target[],
): string {
  const known = joinWithAnd(
    countedTargets(targets).flatMap(({ kind, audience: { one, many } }) => {
      const count = sent[kind];
      return count === undefined ? [] : [formatCount(count, [one, many])];
    }),
  );
  const uncertainly = formatCount(uncertain, known === '' ? ['recipient', 'recipients'] : ['more', 'more']);
  const went =
    known === ''
      ? `may have gone to ${uncertainly}`
      : `went to ${known}${uncertain === 0 ? '' : `, and perhaps to ${uncertainly},`}`;
  return `${formatDays(period)} ${went} on ${formatSentAt(at, period.timezone, now)} (run ${run.slice(0, 8)}).`;
}

const formatCount = (count: number, [one, many]: readonly [string, string]): string =>
  `${count} ${count === 1 ? one : many}`;

const joinWithAnd = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;

/** `3 Nov, 10:56` in the period's time zone, with the year if it is not the current one. */
function formatSentAt(at: number, timeZone: string, now: number): string {
  const formatYear = (instant: number): string =>
    intlDateTimeFormat('en-GB', { timeZone, year: 'numeric' }).format(instant);
  const year = formatYear(at) === formatYear(now) ? {} : ({ year: 'numeric' } as const);
  const day = intlDateTimeFormat('en-GB', { timeZone, day: 'numeric', month: 'short', ...year }).format(at);
  const time = intlDateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(
    at,
  );
  return `${day}, ${time}`;
}
