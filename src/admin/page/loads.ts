import { type ErrorJson, toDocketError } from '../../base/error.ts';
import type { DeliveryRow } from '../../queue/decisions.ts';
import { ENDED, type RunRecord } from '../../run/record.ts';
import type { Access, FileEntry, RunNews } from '../access.ts';
import { AFTER_MS } from './day-strip.tsx';
import type { DeliveriesData } from './deliveries.tsx';
import type { OverviewData } from './overview.tsx';
import type { PausesData } from './pauses.tsx';
import type { ReportsData } from './reports.tsx';
import { OFFERED } from './run-now-form.tsx';

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** Of each list of the overview. */
const MOST_ACTIVE = 8;
const MOST_RECENT = 40;
const MOST_SLOTS = 40;
const MOST_NEEDING = 20;
/** More than a person decides at a sitting; the navigation says `99+`. */
export const MOST_UNDECIDED = 100;

/** What each page shows, through what its reader may see. */
export async function loadOverview(access: Access, now: number): Promise<OverviewData> {
  const [organizations, slots, active, recent, held, failed, undecided, pauses, budgets] = await Promise.all([
    access.organizations(),
    access.slots({ from: now, until: now + Math.max(AFTER_MS, WEEK_MS), limit: MOST_SLOTS }),
    access.runs({ states: ['running', 'waiting', 'queued'], limit: MOST_ACTIVE }),
    access.runs({ limit: MOST_RECENT }),
    access.runs({ states: ['held'], limit: MOST_NEEDING }),
    access.runs({ states: ['failed', 'partly_delivered'], since: now - DAY_MS, limit: MOST_NEEDING }),
    loadUndecided(access),
    access.pauses(),
    access.budgets(),
  ]);
  const news = await Promise.all(active.runs.map((record) => newsOf(access, record)));
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
  (await access.deliveries({ state: 'unknown', limit: MOST_UNDECIDED })).deliveries;

/** What the worker said last of a run. Nobody is at one that is not running. */
export async function newsOf(access: Access, record: RunRecord): Promise<RunNews> {
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
const MOST_REPORTS = 100;

export async function loadReports(access: Access, after: string | undefined): Promise<ReportsData> {
  const [organizations, page] = await Promise.all([
    access.organizations(),
    access.reports({ ...(after === undefined ? {} : { after }), limit: MOST_REPORTS }),
  ]);
  // Those without a report stand on the first page.
  const shown = organizations.filter(
    ({ org, reports }) => page.reports.some((report) => report.org === org) || (reports === 0 && after === undefined),
  );
  return { organizations: shown, ...page };
}

/** Runs of a report that are looked through for its last pack. */
const HISTORY = 15;

export async function loadReport(access: Access, org: string, name: string) {
  const [report, periods, { runs }] = await Promise.all([
    access.report(org, name),
    access.periods(org, name, OFFERED),
    access.runs({ org, report: name, limit: HISTORY }),
  ]);
  const pack = runs.find(hasFiles) ?? null;
  return { report, periods, runs, pack, files: pack === null ? null : await loadFiles(access, pack) };
}

/** What there is to download of a run, or why nothing can be. */
export type Pack = { readonly kept: readonly FileEntry[] } | { readonly away: ErrorJson };

/** Whether a run's record tells that its files were made: one that failed while it delivered them does not name them. */
const hasFiles = ({ files, timings }: RunRecord): boolean => files.length > 0 || timings.deliver !== undefined;

/** An archive that does not answer must not keep the run itself from being seen. */
async function loadFiles(access: Access, run: RunRecord): Promise<Pack> {
  // Of a run that has ended the archive is asked in any case: its worker may have died before it could say that it has made them.
  if (!hasFiles(run) && (!ENDED.has(run.state) || run.state === 'skipped')) return { kept: [] };
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
    newsOf(access, record),
    access.deliveries({ run: record.id, limit: MOST_RECENT }),
    loadFiles(access, record),
    record.state === 'held' ? access.heldPack(record.id) : null,
  ]);
  return { news, deliveries, files, held };
}

/** Runs whose deliveries are listed. */
const MOST_RUNS = 30;

export async function loadDeliveries(access: Access): Promise<DeliveriesData> {
  const [organizations, undecided, recent] = await Promise.all([
    access.organizations(),
    loadUndecided(access),
    access.deliveries({ limit: MOST_RUNS }),
  ]);
  return { organizations, undecided, recent: recent.deliveries };
}

export async function loadPauses(access: Access): Promise<PausesData> {
  const [organizations, pauses] = await Promise.all([access.organizations(), access.pauses()]);
  return { organizations, pauses };
}
