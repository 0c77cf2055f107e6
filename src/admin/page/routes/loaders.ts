import { randomUUID } from 'node:crypto';
import { type ErrorJson, toDocketError } from '../../../base/error.ts';
import { DAY_MS } from '../../../base/time.ts';
import type { RunSnapshot } from '../../../run/live-progress.ts';
import type { ProposedRecipient } from '../../../run/review/added-recipients.ts';
import { type RunRecord, TERMINAL_STATES, WAITING_STATES } from '../../../run/run-record.ts';
import type { Correction } from '../../../services/corrections/correction.ts';
import type { DeliveryRow, DeliveryState } from '../../../services/deliveries/decisions.ts';
import type { ReviewView } from '../../../services/reviews/review-service.ts';
import type { Access } from '../../access/access.ts';
import type { ReportsFilter } from '../../access/reports.ts';
import type { AttentionData } from '../components/attention.tsx';
import { AFTER_MS } from '../components/day-timeline.tsx';
import type { RunFilesView } from '../components/file-list.tsx';
import { isFiltered } from '../components/filter-fields.tsx';
import type { RejectedForm } from '../forms/reason-form.tsx';
import { PERIOD_CHOICES } from '../forms/run-now-form.tsx';

const WEEK_MS = 7 * DAY_MS;
/** Maximum entries of each list on the overview. */
const MAX_ACTIVE_RUNS = 8;
const MAX_RECENT_RUNS = 40;
const MAX_UPCOMING_SLOTS = 40;
const MAX_ATTENTION_RUNS = 20;
/** Maximum runs that failed or wait. The page groups them by cause. */
const MAX_FAILED_RUNS = 200;
/** Maximum deliveries to decide on a page. The navigation then shows `99+`. */
const MAX_UNDECIDED = 100;

export async function loadOverview(access: Access, now: number) {
  const [attention, organizations, slots, running, idle, counts, inLine, recent, budgets] = await Promise.all([
    loadAttention(access, now),
    access.organizations(),
    access.slots({ from: now, until: now + Math.max(AFTER_MS, WEEK_MS), limit: MAX_UPCOMING_SLOTS }),
    access.runs({ states: ['running'], limit: MAX_ACTIVE_RUNS }),
    access.runs({ states: ['queued', 'waiting'], limit: MAX_ACTIVE_RUNS }),
    access.runCounts(),
    access.waitingByPriority(),
    access.runs({ limit: MAX_RECENT_RUNS }),
    access.budgets(),
  ]);
  const { failed } = attention;
  // If many runs wait, only their numbers are shown: a list of the newest would not help.
  const all = [...running.runs, ...idle.runs];
  const active = all.length <= MAX_ACTIVE_RUNS ? all : running.runs;
  return {
    ...attention,
    organizations,
    slots,
    active: await Promise.all(active.map((record) => loadSnapshot(access, record))),
    counts,
    inLine,
    recent: recent.runs,
    failed: { ...failed, runs: failed.runs.filter((run) => !isMadeGood(run, recent.runs)) },
    budgets,
  };
}

/** Loads everything that may need a decision. */
async function loadAttention(access: Access, now: number): Promise<AttentionData> {
  const limit = MAX_ATTENTION_RUNS;
  const [problems, corrections, approvals, held, waiting, failed, undecided, pauses, readings] = await Promise.all([
    access.deploymentProblems(),
    access.correctionSummaries(),
    access.runs({ states: ['awaiting_approval'], limit }),
    access.runs({ states: ['held'], limit }),
    access.runs({ states: ['waiting'], limit: MAX_FAILED_RUNS }),
    access.runs({ states: ['failed', 'partly_delivered'], since: now - DAY_MS, limit: MAX_FAILED_RUNS }),
    loadUndecided(access),
    access.pauses(),
    access.readings(),
  ]);
  return { problems, corrections, approvals, held, waiting, failed, undecided, pauses, readings };
}

/** Whether a later run of the same report delivered the same period. Then this one needs no decision. */
const isMadeGood = ({ org, report, period, createdAt }: RunRecord, recent: readonly RunRecord[]): boolean =>
  recent.some(
    (other) =>
      other.state === 'done' &&
      other.deliver &&
      other.createdAt > createdAt &&
      other.org === org &&
      other.report === report &&
      other.period.from === period.from &&
      other.period.to === period.to,
  );

/** The data that a loader returns, with the rejected form, if any. */
export type Loaded<Load extends (...args: never[]) => Promise<unknown>> = Awaited<ReturnType<Load>> & {
  readonly refused?: RejectedForm | undefined;
};

export const loadUndecided = async (access: Access): Promise<readonly DeliveryRow[]> =>
  (await access.deliveries({ state: 'unknown', limit: MAX_UNDECIDED })).deliveries;

/** A run with its worker's last progress update, if it is running. */
async function loadSnapshot(access: Access, record: RunRecord): Promise<RunSnapshot> {
  if (record.state !== 'running') return { record, live: null };
  const stop = new AbortController();
  try {
    for await (const snapshot of access.watch(record.id, stop.signal)) return snapshot;
  } finally {
    stop.abort();
  }
  return { record, live: null };
}

const REPORTS_PAGE_SIZE = 100;

/** The filters of the list of reports. */
export type ReportsQuery = Omit<ReportsFilter, 'limit'>;

export async function loadReports(access: Access, query: ReportsQuery) {
  const [organizations, page] = await Promise.all([
    access.organizations(),
    access.reports({ ...query, limit: REPORTS_PAGE_SIZE }),
  ]);
  // Organizations without reports appear on the first page.
  const isWhole = !isFiltered(query) && query.after === undefined;
  const shown = organizations.filter(
    ({ org, reports }) => page.reports.some((report) => report.org === org) || (reports === 0 && isWhole),
  );
  return { organizations, shown, query, ...page };
}

/** Runs that a report's page shows, and searches for the latest files. */
const MAX_HISTORY_RUNS = 15;

export async function loadReport(access: Access, org: string, name: string) {
  const [report, periods, { runs }, denied] = await Promise.all([
    access.report(org, name),
    access.periods(org, name, PERIOD_CHOICES),
    access.runs({ org, report: name, limit: MAX_HISTORY_RUNS }),
    access.isDenied(),
  ]);
  const lastRun = runs.find(hasFiles) ?? null;
  const files = lastRun === null ? null : await loadFiles(access, lastRun);
  // The id of the form: submitting it twice triggers one run.
  return { report, periods, runs, lastRun, files, denied, labels: access.kindLabels, trigger: randomUUID() };
}

/** Whether the record shows that files were created. A run that failed during delivery does not list them. */
const hasFiles = ({ files, timings }: RunRecord): boolean => files.length > 0 || timings.deliver !== undefined;

/** The archived files. If the archive is unavailable, the page shows its error instead of failing. */
async function loadFiles(access: Access, run: RunRecord): Promise<RunFilesView> {
  // The worker of an ended run may have crashed, so its files may be missing in its record.
  if (!hasFiles(run) && (!TERMINAL_STATES.has(run.state) || run.state === 'skipped')) return { files: [] };
  try {
    return { files: await access.files(run.id) };
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (!error.code.startsWith('archive.')) throw thrown;
    return { error: error.toJSON() };
  }
}

export async function loadRun(access: Access, id: string) {
  const record = await access.run(id);
  const [snapshot, { deliveries }, files, review, timeline] = await Promise.all([
    loadSnapshot(access, record),
    access.deliveries({ run: record.id, limit: MAX_RECENT_RUNS }),
    loadFiles(access, record),
    loadReview(access, record),
    access.timeline(record.id),
  ]);
  const corrections = await loadOpenCorrections(access, record);
  const added = await loadAddedRecipients(access, record);
  const waiting = WAITING_STATES.has(record.state) ? await access.heldRun(record.id) : null;
  // For a run in review, this is part of the review, beside its comments and files.
  const reviewed = review === null ? null : waiting;
  const held = review === null && record.state === 'held' ? waiting : null;
  return { snapshot, deliveries, files, held, review, reviewed, corrections, timeline, added };
}

/** The recipients that wait for approval. Only reviewed runs can have any. */
async function loadAddedRecipients(
  access: Access,
  { id, review, state }: RunRecord,
): Promise<readonly ProposedRecipient[] | { readonly error: ErrorJson }> {
  if (review === undefined || !TERMINAL_STATES.has(state)) return [];
  try {
    return (await access.addedRecipients(id)).filter((each) => each.state === 'waiting');
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (!error.code.startsWith('archive.')) throw thrown;
    return { error: error.toJSON() };
  }
}

/** The corrections of a delivered run that wait for a decision. Reads the archive only if its organization has any. */
async function loadOpenCorrections(access: Access, { id, org, state }: RunRecord): Promise<readonly Correction[]> {
  if (state !== 'done' && state !== 'partly_delivered') return [];
  const summaries = await access.correctionSummaries();
  if (!summaries.some((summary) => summary.org === org && summary.open > 0)) return [];
  try {
    return (await access.corrections({ org, state: 'open' })).filter(({ run }) => run.id === id);
  } catch (thrown) {
    // The list of files already shows that the archive is unavailable.
    if (toDocketError(thrown).code.startsWith('archive.')) return [];
    throw thrown;
  }
}

/** The review of a run; null if it has none. If the archive is unavailable, the page shows its error. */
async function loadReview(access: Access, run: RunRecord): Promise<RunReview> {
  // The attempt that opens a review records it, so other runs need no read of the archive.
  if (run.review === undefined && !WAITING_STATES.has(run.state)) return null;
  try {
    const view = await access.review(run.id);
    return view === null ? null : { view };
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (!error.code.startsWith('archive.')) throw thrown;
    return { error: error.toJSON() };
  }
}

export type RunReview = { readonly view: ReviewView } | { readonly error: ErrorJson } | null;

/** Maximum runs whose deliveries are shown. */
const MAX_DELIVERY_ROWS = 30;

export async function loadDeliveries(access: Access, query: DeliveriesQuery = {}) {
  const [organizations, undecided, recent] = await Promise.all([
    access.organizations(),
    loadUndecided(access),
    access.deliveries({ limit: MAX_DELIVERY_ROWS }),
  ]);
  return { organizations, undecided, recent: recent.deliveries, query };
}

/** The filters of the list of deliveries. */
export interface DeliveriesQuery {
  readonly org?: string | undefined;
  readonly match?: string | undefined;
  readonly to?: string | undefined;
  readonly period?: string | undefined;
  readonly state?: DeliveryState | undefined;
  readonly after?: string | undefined;
}

/** Runs per page of filtered deliveries. */
const RECEIVED_PAGE_SIZE = 50;

export async function loadReceived(access: Access, query: DeliveriesQuery) {
  const [organizations, page] = await Promise.all([
    access.organizations(),
    rejectedFilter(access.received({ ...query, limit: RECEIVED_PAGE_SIZE }), { deliveries: [], next: null }),
  ]);
  return { organizations, query, ...page };
}

/** The matches of a filter. For an invalid filter: no matches, and the reason. */
export async function rejectedFilter<Found extends object>(
  found: Promise<Found>,
  nothing: Found,
): Promise<Found & { readonly rejected: ErrorJson | null }> {
  try {
    return { ...(await found), rejected: null };
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (error.code !== 'usage.invalid') throw thrown;
    return { ...nothing, rejected: error.toJSON() };
  }
}

export async function loadPauses(access: Access) {
  const [organizations, pauses, switches, waiting] = await Promise.all([
    access.organizations(),
    access.pauses(),
    access.switches(),
    access.stoppedRuns(),
  ]);
  return { organizations, pauses, switches, waiting };
}

export const loadDenied = async (access: Access) => ({ denied: await access.denials() });
