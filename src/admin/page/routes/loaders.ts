import { type ErrorJson, toDocketError } from '../../../base/error.ts';
import type { RunSnapshot } from '../../../run/live-progress.ts';
import { type RunRecord, TERMINAL_STATES } from '../../../run/run-record.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { FileEntry } from '../../../services/runs/run-file-reader.ts';
import type { Access } from '../../access/access.ts';
import { AFTER_MS } from '../components/day-timeline.tsx';
import { PERIOD_CHOICES } from '../forms/run-now-form.tsx';
import type { DeliveriesData } from '../views/deliveries.tsx';
import type { OverviewData } from '../views/overview.tsx';
import type { PausesData } from '../views/pauses.tsx';
import type { ReportsData } from '../views/reports.tsx';

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** Of each list of the overview. */
const MAX_ACTIVE_RUNS = 8;
const MAX_RECENT_RUNS = 40;
const MAX_UPCOMING_SLOTS = 40;
const MAX_ATTENTION_RUNS = 20;
/** More than a person decides at a sitting; the navigation says `99+`. */
export const MAX_UNDECIDED = 100;

/** What each page shows, through what its reader may see. */
export async function loadOverview(access: Access, now: number): Promise<OverviewData> {
  const [organizations, slots, active, recent, held, failed, undecided, pauses, budgets] = await Promise.all([
    access.organizations(),
    access.slots({ from: now, until: now + Math.max(AFTER_MS, WEEK_MS), limit: MAX_UPCOMING_SLOTS }),
    access.runs({ states: ['running', 'waiting', 'queued'], limit: MAX_ACTIVE_RUNS }),
    access.runs({ limit: MAX_RECENT_RUNS }),
    access.runs({ states: ['held'], limit: MAX_ATTENTION_RUNS }),
    access.runs({ states: ['failed', 'partly_delivered'], since: now - DAY_MS, limit: MAX_ATTENTION_RUNS }),
    loadUndecided(access),
    access.pauses(),
    access.budgets(),
  ]);
  const news = await Promise.all(active.runs.map((record) => loadSnapshot(access, record)));
  return {
    organizations,
    slots,
    active: news,
    more: active.next !== null,
    recent: recent.runs,
    held,
    failed,
    undecided,
    pauses,
    budgets,
  };
}

export const loadUndecided = async (access: Access): Promise<readonly DeliveryRow[]> =>
  (await access.deliveries({ state: 'unknown', limit: MAX_UNDECIDED })).deliveries;

/** What the worker said last of a run. Nobody is at one that is not running. */
export async function loadSnapshot(access: Access, record: RunRecord): Promise<RunSnapshot> {
  if (record.state !== 'running') return { record, live: null };
  const enough = new AbortController();
  try {
    for await (const news of access.watch(record.id, enough.signal)) return news;
  } finally {
    enough.abort();
  }
  return { record, live: null };
}

/** Reports of a page of their list. */
const REPORTS_PAGE_SIZE = 100;

export async function loadReports(access: Access, after: string | undefined): Promise<ReportsData> {
  const [organizations, page] = await Promise.all([
    access.organizations(),
    access.reports({ ...(after === undefined ? {} : { after }), limit: REPORTS_PAGE_SIZE }),
  ]);
  // Those without a report stand on the first page.
  const shown = organizations.filter(
    ({ org, reports }) => page.reports.some((report) => report.org === org) || (reports === 0 && after === undefined),
  );
  return { organizations: shown, ...page };
}

/** Runs of a report that are looked through for its last pack. */
const MAX_HISTORY_RUNS = 15;

export async function loadReport(access: Access, org: string, name: string) {
  const [report, periods, { runs }] = await Promise.all([
    access.report(org, name),
    access.periods(org, name, PERIOD_CHOICES),
    access.runs({ org, report: name, limit: MAX_HISTORY_RUNS }),
  ]);
  const pack = runs.find(hasFiles) ?? null;
  return { report, periods, runs, pack, files: pack === null ? null : await loadFiles(access, pack) };
}

/** What there is to download of a run, or why nothing can be. */
export type RunFilesView = { readonly kept: readonly FileEntry[] } | { readonly away: ErrorJson };

/** Whether a run's record tells that its files were made: one that failed while it delivered them does not name them. */
const hasFiles = ({ files, timings }: RunRecord): boolean => files.length > 0 || timings.deliver !== undefined;

/** An archive that does not answer must not keep the run itself from being seen. */
async function loadFiles(access: Access, run: RunRecord): Promise<RunFilesView> {
  // Of a run that has ended the archive is asked in any case: its worker may have died before it could say that it has made them.
  if (!hasFiles(run) && (!TERMINAL_STATES.has(run.state) || run.state === 'skipped')) return { kept: [] };
  try {
    return { kept: await access.files(run.id) };
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (!error.code.startsWith('archive.')) throw thrown;
    return { away: error.toJSON() };
  }
}

export async function loadRun(access: Access, id: string) {
  const record = await access.run(id);
  const [news, { deliveries }, files, held] = await Promise.all([
    loadSnapshot(access, record),
    access.deliveries({ run: record.id, limit: MAX_RECENT_RUNS }),
    loadFiles(access, record),
    record.state === 'held' ? access.heldRun(record.id) : null,
  ]);
  return { news, deliveries, files, held };
}

/** Runs whose deliveries are listed. */
const MAX_DELIVERY_ROWS = 30;

export async function loadDeliveries(access: Access): Promise<DeliveriesData> {
  const [organizations, undecided, recent] = await Promise.all([
    access.organizations(),
    loadUndecided(access),
    access.deliveries({ limit: MAX_DELIVERY_ROWS }),
  ]);
  return { organizations, undecided, recent: recent.deliveries };
}

export async function loadPauses(access: Access): Promise<PausesData> {
  const [organizations, pauses] = await Promise.all([access.organizations(), access.pauses()]);
  return { organizations, pauses };
}
