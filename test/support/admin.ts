import { createAccess } from '../../src/admin/access/access.ts';
import { reportSlotFinder } from '../../src/admin/access/report-slots.ts';
import type { AdminServices } from '../../src/admin/access/services.ts';
import { createStreamLimiter } from '../../src/admin/api/stream-limiter.ts';
import { type AdminPorts, createAdminApp } from '../../src/admin/app.ts';
import type { TokenEntry } from '../../src/admin/auth/tokens.ts';
import type { AdminApp } from '../../src/admin/hono-env.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import { BUILT_IN_KINDS } from '../../src/compose/built-in-kinds.ts';
import { kindLabels } from '../../src/definitions/schema/kinds.ts';
import { NOBODY_DENIED } from '../../src/deliver/denials/deny-list.ts';
import { NO_SWITCHES } from '../../src/deliver/switches/switches.ts';
import type { StateCounts } from '../../src/queue/runs/run-counts.ts';
import type { SearchIndex } from '../../src/queue/runs/search-index.ts';
import { RUN_STATES } from '../../src/run/run-record.ts';
import type { CorrectionService } from '../../src/services/corrections/correction-service.ts';
import type { PlanExplainer } from '../../src/services/definitions/explain-report.ts';
import type { DeploymentForecast } from '../../src/services/forecast/forecast-deployment.ts';
import { DEFAULT_ASSUMPTIONS } from '../../src/services/forecast/forecast-run.ts';
import type { ArchivedDeliveries } from '../../src/services/listings/received.ts';
import type { ReviewService } from '../../src/services/reviews/create-review-service.ts';
import type { RunFileReader } from '../../src/services/runs/run-file-reader.ts';
import { NO_HISTORY } from '../../src/services/runs/run-history.ts';
import type { SelectionService } from '../../src/services/selections/create-selection-service.ts';
import { NO_AUDIT, NO_DECISIONS, NO_PAUSES } from './decision-harness.ts';

export { NO_AUDIT };

import { fake } from './fake.ts';
import { partsOver } from './features.ts';
import { loadedJobs } from './loaded-jobs.ts';
import { createPageAuth } from './page-auth.ts';

/** An empty archive. */
export const NO_PACKS: RunFileReader = {
  files: async () => undefined,
  file: async () => undefined,
  outputs: async () => undefined,
  preview: async () => undefined,
};

/** A planner that knows no definition. */
export const NO_PLANNING: PlanExplainer = { explain: () => Promise.reject(new Error('not here')) };

/** No run in any state. */
export const NO_RUNS = Object.fromEntries(RUN_STATES.map((state) => [state, 0])) as StateCounts;

/** Empty search indexes. */
export const NO_SEARCH_INDEX: SearchIndex = {
  refresh: async () => {},
  repair: async () => 0,
  findRecipients: async () => [],
  reports: async () => [],
};

/** Runs without reviews. */
export const NO_REVIEWS: ReviewService = {
  view: async () => undefined,
  file: async () => undefined,
  preview: async () => undefined,
  comment: () => Promise.reject(new Error('not here')),
  approve: () => Promise.reject(new Error('not here')),
  reject: () => Promise.reject(new Error('not here')),
  delegate: () => Promise.reject(new Error('not here')),
};

/** The archive has nothing that Redis does not have. */
export const NO_ARCHIVED: ArchivedDeliveries = { list: async () => ({ deliveries: [], next: null, error: undefined }) };

/** A service without selections. */
const NO_SELECTIONS: SelectionService = {
  preview: () => Promise.reject(new Error('not here')),
  find: () => Promise.reject(new Error('not here')),
  decide: () => Promise.reject(new Error('not here')),
};

/** A forecast of a deployment without reports. */
const NO_FORECAST: Omit<DeploymentForecast, 'window'> = {
  forecast: { runs: [], keys: [], lateSlots: [], unplanned: [], paused: [] },
  assumptions: DEFAULT_ASSUMPTIONS,
  actual: new Map(),
};

/** A service that adds nobody to a run. */
const NO_RECIPIENTS: AdminServices['recipients'] = {
  send: () => Promise.reject(new Error('not here')),
  proposals: async () => [],
  decide: () => Promise.reject(new Error('not here')),
};

/** No corrections. */
const NO_CORRECTIONS: CorrectionService = {
  list: async () => [],
  find: async () => undefined,
  send: () => Promise.reject(new Error('not here')),
  open: () => Promise.reject(new Error('not here')),
  dismiss: () => Promise.reject(new Error('not here')),
  reopen: () => Promise.reject(new Error('not here')),
};

/** The services of an empty deployment that allows nothing, except for the given ones. */
export const accessPorts = (given: Partial<AdminServices> = {}): AdminServices =>
  fake({
    jobs: () => loadedJobs(),
    lastGood: async () => undefined,
    trigger: () => Promise.reject(new Error('not here')),
    runs: fake({
      get: async () => undefined,
      list: async () => [],
      listAndCount: async () => ({ runs: [], total: 0 }),
      findIdsByPrefix: async () => [],
    }),
    ledger: fake({ list: async () => [] }),
    definitions: fake({ get: async () => undefined }),
    searchIndex: NO_SEARCH_INDEX,
    archivedDeliveries: NO_ARCHIVED,
    decisions: NO_DECISIONS,
    selections: NO_SELECTIONS,
    recipients: NO_RECIPIENTS,
    pauses: NO_PAUSES,
    readings: fake({ list: async () => [] }),
    deploymentProblems: async () => [],
    archivedFiles: NO_PACKS,
    heldRun: async () => undefined,
    reviewService: NO_REVIEWS,
    correctionService: NO_CORRECTIONS,
    correctionIndex: fake({ summaries: async () => [] }),
    switches: fake({ known: async () => NO_SWITCHES }),
    denials: fake({ read: async () => NOBODY_DENIED, known: async () => NOBODY_DENIED }),
    runHistory: async () => NO_HISTORY,
    earlierDelivery: async () => undefined,
    countRuns: async () => NO_RUNS,
    waitingByPriority: async () => ({ on_demand: 0, scheduled: 0, backfill: 0 }),
    processes: async () => [],
    processRoles: async () => new Map(),
    countWorkers: async () => 1,
    audit: NO_AUDIT,
    live: fake({ get: async () => undefined }),
    findSlots: reportSlotFinder(),
    budgetsOf: async () => ({ budgets: [], unknown: [] }),
    forecast: async (window) => ({ ...NO_FORECAST, window }),
    explainer: NO_PLANNING,
    checkText: () => Promise.reject(new Error('not here')),
    viewTemplate: async () => null,
    kindLabels: kindLabels(BUILT_IN_KINDS),
    clock: systemClock,
    ...given,
  });

/** The admin route for these tokens. */
export function createTestAdmin(
  entries: readonly TokenEntry[],
  given: Partial<AdminServices> = {},
  { log = silentLog, clock = systemClock, ...change }: Partial<AdminPorts> & { log?: Log; clock?: Clock } = {},
): AdminApp {
  const ports = accessPorts({ clock: { ...systemClock, ...clock }, ...given });
  return createAdminApp({
    auth: createPageAuth(entries, { clock, log }),
    access: (principal) => createAccess(ports, principal),
    streams: createStreamLimiter(),
    parts: partsOver(ports),
    version: '0.0.0',
    health: async () => [{ name: 'redis', ok: true }],
    metrics: async () => ({ type: 'text/plain', body: '' }),
    clock,
    log,
    ...change,
  });
}
