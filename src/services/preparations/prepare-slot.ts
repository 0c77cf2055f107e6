import { forEachWithConcurrency } from '../../base/concurrency.ts';
import type { DocketError } from '../../base/error.ts';
import { HOUR_MS, MINUTE_MS } from '../../base/time.ts';
import type { Catalog } from '../../contract/catalog.ts';
import { dataReadyMs, type OrgSettings } from '../../definitions/schema/org-settings.ts';
import {
  findPrepared,
  type PreparedEntry,
  putPrepared,
  type ResponseSource,
} from '../../fetch/cache/prepared-responses.ts';
import type { CachedResponse } from '../../fetch/cache/response-cache.ts';
import type { ResponseStore } from '../../fetch/cache/response-store.ts';
import { discardRefused } from '../../fetch/call-runner.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { fetchDataset } from '../../fetch/fetch-dataset.ts';
import { fetchReport } from '../../fetch/fetch-report.ts';
import { incompleteNotes } from '../../fetch/notes.ts';
import { rateLimitContext } from '../../fetch/rate-limit/rate-limited-call.ts';
import { fetchSplit, sliceDataset } from '../../fetch/split/fetch-split.ts';
import { collectAllCalls, type SectionPlan } from '../../plan/plan.ts';
import { type PreparedCalls, preparedCalls } from '../../plan/prepare.ts';
import type { RunPorts } from '../../run/run-context.ts';
import { createRunOrder } from '../../run/run-order.ts';
import { type PlannedRun, planRun } from '../definitions/plan-run.ts';
import type { DuePreparation } from './due-preparations.ts';

export type PreparePorts = Pick<
  RunPorts,
  'client' | 'key' | 'budget' | 'responses' | 'responseCache' | 'catalogs' | 'clock'
>;

export interface PrepareContext {
  /** The current settings, with current API key and access control. */
  readonly settings: OrgSettings;
  /** Epoch ms from which no token is taken. */
  readonly until: number;
  readonly signal: AbortSignal;
}

export interface PrepareResult {
  /** Number of calls in the whole plan. */
  readonly calls: number;
  /** Number of calls whose responses are stored and have passed the checks so far. */
  readonly prepared: number;
  /** When the first of them was answered, epoch ms; null without any. */
  readonly since: number | null;
  /**
   * `complete`: nothing is left to do. `later`: calls must wait until `at`. `waiting`: for a token. `full`: for room in
   * the store.
   */
  readonly state: 'complete' | 'later' | 'waiting' | 'full';
  /** When to continue, epoch ms. */
  readonly at: number;
  /** Errors of calls. The other calls were made. */
  readonly failures: readonly DocketError[];
}

/** Calls of one preparation that are in flight at once. */
const CONCURRENCY = 4;
/** How long a cached catalog is used. */
const CATALOG_TTL_MS = HOUR_MS;
/** A prepared run's catalog must outlive the start of its slot by this, because runs begin one after the other. */
const CATALOG_MARGIN_MS = 15 * MINUTE_MS;

/**
 * Makes calls for a slot before its run begins, and stores the responses for the run. Takes tokens only while no run
 * waits for one, and never waits: call it again to continue. Opens no run, and leaves nothing but the responses.
 */
export async function prepareSlot(
  due: DuePreparation,
  ports: PreparePorts,
  { settings, until, signal }: PrepareContext,
): Promise<PrepareResult> {
  const { clock, client, key, budget, responses } = ports;
  const { run, begins } = due;
  const fetching = {
    ...ports,
    reads: budget,
    run,
    priority: 'preparation' as const,
    maxWaitMs: 0,
    signal,
    observe: () => {},
  };
  const nothing = { calls: 0, prepared: 0, since: null, failures: [] };
  const getCatalog = (maxAgeMs?: number) =>
    ports.catalogs.get({ ...fetching, org: settings.org, tenant: settings.id, maxAgeMs }, signal, () => {});
  const stopped = () => signal.aborted || clock.now() >= until;
  if (stopped()) return { ...nothing, state: 'waiting', at: until };
  const cached = await getCatalog();
  if (cached.kind === 'fail') return { ...nothing, state: 'waiting', at: clock.now(), failures: [cached.error] };
  if (cached.kind !== 'done')
    return { ...nothing, state: 'waiting', at: cached.kind === 'snooze' ? cached.until : until };

  const pass = async (catalog: Catalog) => {
    const planned = planSlotRun(due, settings, catalog, clock.now());
    const { plan } = planned;
    const source = { service: client.service, key, registryVersion: plan.registryVersion };
    const requested = preparedCalls(planned, { from: due.from, begins, dataReadyMs: dataReadyMs(settings) });
    const entries = new Map<string, PreparedEntry>();
    for (const { call } of requested.calls) {
      const entry = await findPrepared(responses, run, call.id, source);
      if (entry !== undefined) entries.set(call.id, entry);
    }
    const failures: DocketError[] = [];
    let waitsUntil: number | undefined;
    let isFull = false;
    const missing = requested.calls.filter(({ call, from }) => !entries.has(call.id) && from <= clock.now());
    await forEachWithConcurrency(missing, CONCURRENCY, async ({ call, completeSince }) => {
      if (waitsUntil !== undefined || isFull || stopped() || failures.some(({ code }) => isRefusal(code))) return;
      let received: CachedResponse | undefined;
      const rateLimit = rateLimitContext(plan.org, fetching, budget);
      const once = memoryStore((response) => {
        received = response;
      });
      const fetched = await fetchReport({ ...fetching, plan, completeSince, responses: once, rateLimit }, call, {
        signal,
        onWait: () => {},
      });
      if (fetched.kind === 'fail') failures.push(fetched.error);
      else if (fetched.kind === 'snooze') waitsUntil = Math.min(waitsUntil ?? fetched.until, fetched.until);
      if (fetched.kind !== 'done' || received === undefined) return;
      if (await putPrepared(responses, run, call.id, source, received)) entries.set(call.id, { response: received });
      else isFull = true;
    });
    await rejectIncomplete({ ...planned, catalog, entries, source }, fetching, settings);
    return { calls: planned.calls, asked: requested, entries, failures, waitsUntil, isFull };
  };

  let catalog = cached.value;
  let last = await pass(catalog);
  let renewAt: number | undefined;
  if (isDone(last.asked, last.entries) && last.asked.calls.length > 0 && !stopped()) {
    // The last step. It must not come so early that a new catalog would expire before the slot.
    const oldest = begins + CATALOG_MARGIN_MS - CATALOG_TTL_MS;
    if (clock.now() <= oldest) renewAt = oldest + 1;
    else {
      const renewed = await getCatalog(clock.now() - oldest);
      if (renewed.kind === 'fail') last.failures.push(renewed.error);
      else if (renewed.kind !== 'done') last.waitsUntil = renewed.kind === 'snooze' ? renewed.until : until;
      else if (renewed.value.registry_version !== catalog.registry_version) {
        catalog = renewed.value;
        last = await pass(catalog);
      }
    }
  }
  const { calls, asked: requested, entries, failures, waitsUntil, isFull } = last;
  const answers = [...entries.values()].flatMap(({ response }) => response ?? []);
  const counts = {
    calls: calls.length,
    prepared: answers.length,
    since: answers.length === 0 ? null : Math.min(...answers.map(({ at }) => at)),
    failures,
  };
  if (isFull) return { ...counts, state: 'full', at: begins };
  if (waitsUntil !== undefined || failures.length > 0 || stopped())
    return { ...counts, state: 'waiting', at: waitsUntil ?? until };
  const later = requested.calls.filter(({ call }) => !entries.has(call.id)).map(({ from }) => from);
  const next = [...later, ...(renewAt === undefined ? [] : [renewAt])];
  return next.length === 0
    ? { ...counts, state: 'complete', at: begins }
    : { ...counts, state: 'later', at: Math.min(...next) };
}

/** Whether the service refuses the key. Every further call would be refused too. */
export const isRefusal = (code: DocketError['code']): boolean =>
  code === 'api.unauthorized' || code === 'api.forbidden';

/** Plans the slot's run and its calls, without the sections that readings will cover. Throws `plan.invalid`. */
function planSlotRun(
  { report, slot, begins }: DuePreparation,
  settings: OrgSettings,
  catalog: Catalog,
  now: number,
): PlannedRun {
  const { definition } = report;
  const { period, sectionPeriods } = createRunOrder({
    definition,
    settings,
    trigger: 'schedule',
    priority: 'scheduled',
    slot: new Date(slot).toISOString(),
    at: slot,
    deliver: true,
    now,
  });
  const periods = { period, ...(sectionPeriods === undefined ? {} : { sectionPeriods }) };
  return planRun({ definition, settings }, periods, catalog, begins);
}

const isDone = ({ calls }: PreparedCalls, entries: ReadonlyMap<string, PreparedEntry>): boolean =>
  calls.every(({ call }) => entries.has(call.id));

/** A response store that is always empty, and passes on the response of a call. */
const memoryStore = (receive: (response: CachedResponse) => void): ResponseStore => ({
  get: async () => undefined,
  put: async (_run, _call, response) => {
    receive(response as CachedResponse);
    return true;
  },
  delete: async () => {},
});

interface Prepared extends PlannedRun {
  readonly catalog: Catalog;
  readonly entries: Map<string, PreparedEntry>;
  readonly source: ResponseSource;
}

/**
 * Builds the tables whose calls are all answered, with the run's own checks. If a table fails, its calls are rejected,
 * so that the run makes them again.
 */
async function rejectIncomplete(
  { plan, split, catalog, entries, source }: Prepared,
  fetching: Omit<Parameters<typeof fetchDataset>[0], 'plan' | 'organization' | 'catalog' | 'folder'>,
  settings: OrgSettings,
): Promise<void> {
  const isAnswered = (call: string): boolean => entries.get(call)?.response != null;
  const collectSectionCalls = (section: SectionPlan): readonly string[] =>
    split === undefined
      ? collectAllCalls(section)
      : [...split.plan.sections].flatMap(([call, ids]) => (ids.includes(section.section.id) ? [call] : []));
  const sections = plan.sections.filter((section) => {
    const calls = collectSectionCalls(section);
    return calls.length > 0 && calls.every(isAnswered);
  });
  if (sections.length === 0) return;
  const input = {
    ...fetching,
    organization: settings.name ?? settings.id,
    catalog,
    calendar: settings,
    // Only lists write files, and these calls are not for lists.
    folder: '',
    responses: {
      get: async (_: string, call: string) => entries.get(call)?.response ?? undefined,
      put: async () => false,
      delete: async () => {},
    },
  };
  const failed = new Set<string>();
  const check = (dataset: Dataset) => {
    for (const { section } of incompleteNotes(dataset)) failed.add(section);
  };
  const used = new Set(sections.flatMap(split === undefined ? collectSectionCalls : collectAllCalls));
  const own = { ...plan, sections, calls: plan.calls.filter(({ id }) => used.has(id)) };
  if (split === undefined) {
    const dataset = await fetchDataset({ ...input, plan: own });
    if (dataset.kind === 'done') check(dataset.value);
  } else {
    const { by } = split.plan;
    const chosen = new Set(sections.map(({ section }) => section.id));
    const answers = await fetchSplit({ ...input, plan, by, only: chosen });
    const values = catalog.dimensions.find(({ id }) => id === by)?.values ?? [];
    if (answers.kind === 'done') {
      for (const { value } of values) {
        const dataset = sliceDataset(answers.value, own, value);
        await discardRefused(answers.value.prepared.input, answers.value.results.values(), dataset);
        check(dataset);
      }
    }
  }
  for (const id of new Set(sections.filter(({ section }) => failed.has(section.id)).flatMap(collectSectionCalls))) {
    const response = entries.get(id)?.response;
    if (response == null) continue;
    entries.set(id, { response: null });
    await putPrepared(fetching.responses, fetching.run, id, source, { ...response, body: null });
  }
}
