import { statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createAccess } from '../admin/access/access.ts';
import { reportSlotFinder } from '../admin/access/report-slots.ts';
import type { AdminServices } from '../admin/access/services.ts';
import { createStreamLimiter } from '../admin/api/stream-limiter.ts';
import { createAdminApp, createProbeApp } from '../admin/app.ts';
import type { Auth } from '../admin/auth/authenticate.ts';
import { createLoginThrottle } from '../admin/auth/login-throttle.ts';
import { createRateLimit } from '../admin/auth/rate-limit.ts';
import { redisSessions } from '../admin/auth/sessions.ts';
import { noTokens, watchTokenFile } from '../admin/auth/token-file.ts';
import { openBullBoard } from '../admin/bull-board.ts';
import type { AdminApp } from '../admin/hono-env.ts';
import type { ExpectedSeries, Metrics, ProcessInfo } from '../admin/metrics/process-metrics.ts';
import { type AdminServer, listenAdmin } from '../admin/server.ts';
import { type AppContext, version } from '../base/context.ts';
import { NO_ADDRESSES } from '../base/net/address-list.ts';
import { startPeriodicTasks } from '../base/periodic.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { asciiLowerCase } from '../base/text/fold.ts';
import { MINUTE_MS } from '../base/time.ts';
import type { Trace } from '../base/trace.ts';
import type { DefinitionSource } from '../definitions/load/definition-source.ts';
import type { Definitions } from '../definitions/load/load-definitions.ts';
import { kindLabels, resolveTarget } from '../definitions/schema/kinds.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import { TARGETS } from '../deliver/targets/registry.ts';
import { cachedCatalog } from '../fetch/cache/catalog-cache.ts';
import { lastGoodVersion } from '../queue/definitions/active-reports.ts';
import { redisActiveVersions } from '../queue/definitions/active-versions.ts';
import { redisProcessRegistry } from '../queue/process-registry.ts';
import { redisProcessReports } from '../queue/process-reports.ts';
import { redisLiveProgress } from '../queue/runs/live-progress.ts';
import { countRunsByState } from '../queue/runs/run-counts.ts';
import { redisReadingIndex } from '../queue/schedules/reading-index.ts';
import { sharedBudgets } from '../services/budgets/budgets.ts';
import { budgetOverview } from '../services/budgets/inspect-budgets.ts';
import { createCorrectionService } from '../services/corrections/correction-service.ts';
import { redisWatchIndex } from '../services/corrections/watch-index.ts';
import { startValidationThread } from '../services/definitions/definition-threads.ts';
import { createTemplateViewer } from '../services/definitions/view-template.ts';
import { createDecisionService } from '../services/deliveries/decisions.ts';
import { createRecipientService } from '../services/deliveries/recipients.ts';
import { createForecastRound, forecastService } from '../services/forecast/forecast-deployment.ts';
import { startForecastThread } from '../services/forecast/forecast-thread.ts';
import { redisForecasts } from '../services/forecast/stored-forecasts.ts';
import { createArchivedDeliveries } from '../services/listings/archived-deliveries.ts';
import { createReviewService } from '../services/reviews/create-review-service.ts';
import { findDeliveredInRecords } from '../services/runs/already-delivered.ts';
import { loadReleasePreview } from '../services/runs/release-preview.ts';
import { createRunFileReader } from '../services/runs/run-file-reader.ts';
import { loadRunHistory } from '../services/runs/run-history.ts';
import { createSelectionService } from '../services/selections/create-selection-service.ts';
import { checkBucket, composeFindDelivered, openArchive } from './archive.ts';
import { BUILT_IN_KINDS, FORMATS } from './built-in-kinds.ts';
import { composePlanExplainer } from './catalogs.ts';
import type { RunningDocket } from './docket.ts';
import { type DocketContext, findSignIn } from './feature.ts';
import { DEFINITION_THREAD, FORECAST_THREAD } from './threads.ts';

/**
 * Opens the HTTP server of a process: `/healthz`, `/readyz` and `/metrics` in every role, the API and the page in the
 * role `admin`. Throws `config.invalid` if it cannot listen or read the tokens.
 *
 * @param metrics the metrics of this process
 */
export async function composeAdmin(
  context: DocketContext,
  jobs: DefinitionSource,
  {
    store,
    health,
    problems,
    problemCodes,
    metricsSnapshot,
  }: Pick<RunningDocket, 'store' | 'health' | 'problems' | 'problemCodes' | 'metricsSnapshot'>,
  metrics: Metrics,
  { api }: { readonly api: boolean },
): Promise<AdminServer> {
  const { config, clock, log } = context;
  const { DOCKET_ADMIN_HOST: host, DOCKET_ADMIN_PORT: port } = config;
  const signIn = findSignIn(context);
  const auth = await openAuth(context, signIn?.hostName);
  const probes = { auth, health, problemCodes, metrics: () => metrics.scrape(metricsSnapshot), clock, log };
  const listening = { host, port, log, proxies: auth.proxies };
  if (!api) return listenAdmin(createProbeApp(probes), listening);
  const scope = createScope();
  try {
    const { redis, prefix, audit } = store;
    await checkBucket(openArchive(context, scope), log);
    const ports = openAdminServices(context, jobs, { store, problems }, scope);
    const board =
      config.DOCKET_ADMIN_BULL_BOARD === 'on' ? scope.add(await openBullBoard(redis, { prefix })) : undefined;
    const parts = await Promise.all((context.features ?? []).flatMap(({ admin }) => admin?.() ?? []));
    const streams = createStreamLimiter();
    const { tokens, loginThrottle } = auth;
    const accounts = await signIn?.open({ redis, prefix, loginThrottle });
    const sessions = redisSessions({ redis, prefix, tokens, accounts, loginThrottle, audit, clock });
    const app = createAdminApp({
      ...probes,
      auth: { ...auth, sessions, accounts },
      access: (principal) => createAccess(ports, principal),
      streams,
      parts: parts.map((open) => open(ports)),
      board,
      version: version(),
    });
    const traced = tracedRequests(app, context.trace);
    const server = scope.add(await listenAdmin(traced, listening));
    // Streams must close before the server, which waits for them.
    scope.add(streams);
    return { ...server, close: () => scope.close() };
  } catch (error) {
    await scope.close();
    throw error;
  }
}

/** @param provider the host name to which an account provider sends browsers back */
async function openAuth({ config, clock, log }: AppContext, provider: string | undefined): Promise<Auth> {
  const { DOCKET_ADMIN_TOKENS: file, DOCKET_ADMIN_HOST: host } = config;
  const { DOCKET_ADMIN_TRUSTED_PROXIES: proxies = NO_ADDRESSES, DOCKET_ADMIN_NAMES: names = [] } = config;
  return {
    tokens:
      file === undefined
        ? noTokens(provider === undefined ? log : undefined)
        : await watchTokenFile(file, { clock, log }),
    loginThrottle: createLoginThrottle({ clock, log }),
    limit: createRateLimit(config.DOCKET_ADMIN_RATE, clock),
    proxies,
    names: [asciiLowerCase(host), ...names, ...(provider === undefined ? [] : [provider])],
  };
}

/** The ports behind `Access`. */
function openAdminServices(
  context: AppContext,
  jobs: DefinitionSource,
  { store, problems }: Pick<RunningDocket, 'store' | 'problems'>,
  scope: Scope,
): AdminServices {
  const { clock, log } = context;
  const { redis, prefix, definitions, secrets, storage, signing, orgs, identity } = store;
  const versions = redisActiveVersions(redis, { prefix });
  const processes = redisProcessRegistry(redis, { prefix, self: 'reader' });
  const budgetOf = sharedBudgets(redis, prefix, clock);
  const explainer = composePlanExplainer(context, { redis, prefix, orgs, belongsTo: identity.known }, scope);
  const validation = scope.add(
    startValidationThread({ clock, entry: DEFINITION_THREAD, catalogOf: explainer.getCachedCatalog }),
  );
  const decisions = createDecisionService(store);
  const forecasts = scope.add(startForecastThread({ clock, entry: FORECAST_THREAD }));
  const forecasting = {
    ...store,
    jobs: jobs.current,
    processes: redisProcessReports(redis, { prefix }),
    cachedCatalog: (key: string, settings: OrgSettings) => cachedCatalog(redis, `${prefix}:`, key, settings.org),
    unknownKey: ({ id }: OrgSettings) => `This process does not have the API key of ${id}.`,
    checks: redisWatchIndex(redis, { prefix }).checks,
    compute: forecasts.compute,
    stored: redisForecasts(redis, { prefix }),
  };
  const steps = [createForecastRound(forecasting)];
  scope.use(startPeriodicTasks({ steps, clock, log, everyMs: 5 * MINUTE_MS }), (opened) => opened.close());
  return {
    ...store,
    jobs: jobs.current,
    lastGood: async (name) => {
      const version = (await versions.read()).get(name);
      return version && lastGoodVersion(name, version, { jobs: jobs.current(), definitions, targets: TARGETS, log });
    },
    archivedDeliveries: createArchivedDeliveries(store),
    decisions,
    selections: createSelectionService(store, decisions),
    recipients: createRecipientService(store),
    reviewService: createReviewService(store, composeFindDelivered(context, store, scope)),
    correctionIndex: redisWatchIndex(redis, { prefix }),
    correctionService: createCorrectionService(store),
    readings: redisReadingIndex(redis, { prefix }),
    deploymentProblems: problems,
    archivedFiles: createRunFileReader(storage, signing),
    heldRun: (run) => loadReleasePreview(run, store),
    runHistory: (record, rows) => loadRunHistory(record, rows, store),
    earlierDelivery: findDeliveredInRecords(store),
    countRuns: (which) => countRunsByState(redis, prefix, which),
    waitingByPriority: store.queue.waitingByPriority,
    processes: redisProcessReports(redis, { prefix }).list,
    processRoles: processes.roles,
    countWorkers: async () => (await processes.countByRole()).get('worker') ?? 0,
    live: redisLiveProgress(redis, { prefix }),
    findSlots: reportSlotFinder(),
    budgetsOf: (named) => budgetOverview(named, { secrets, budgetOf, activeOrgs: orgs().values(), clock }),
    forecast: forecastService(forecasting),
    explainer,
    checkText: validation.validate,
    viewTemplate: createTemplateViewer(() => jobs.current().folder, explainer.getCachedCatalog, FORMATS),
    kindLabels: kindLabels(BUILT_IN_KINDS),
  };
}

/** The process labels and the disk for the metrics. @param keeps whether the process writes to the archive */
export function processInfo(
  { config, clock }: Pick<AppContext, 'config' | 'clock'>,
  { keeps }: { readonly keeps: boolean },
  targets = TARGETS,
): ProcessInfo {
  const location = config.DOCKET_ARCHIVE ?? { kind: 'directory', folder: resolve('archive') };
  const facts = { version: version(), clock, targetKinds: targets.map(({ kind }) => kind) };
  if (!keeps || location.kind !== 'directory') return facts;
  return {
    ...facts,
    disk: async () => {
      const { bavail, blocks, bsize } = await statfs(location.folder);
      return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
    },
  };
}

/** The series that start at 0: every organization, with the target kinds of its reports. */
export function expectedSeries(
  jobs: Pick<Definitions, 'orgs' | 'reports'>,
  targets = TARGETS,
): readonly ExpectedSeries[] {
  const kinds = new Map([...jobs.orgs.keys()].map((org) => [org, new Set<string>()]));
  for (const { org, deliveries } of jobs.reports.values()) {
    for (const delivery of deliveries) {
      kinds.get(org)?.add(resolveTarget(delivery, targets).target.kind);
    }
  }
  return [...kinds].map(([org, of]) => ({ org, kinds: of }));
}

/**
 * Traces requests that may change something, in the caller's trace if there is a `traceparent`. Reads are not traced: a
 * polling page would dominate the traces.
 */
function tracedRequests(app: Pick<AdminApp, 'fetch'>, trace: Trace | undefined): Pick<AdminApp, 'fetch'> {
  if (trace === undefined) return app;
  return {
    fetch: (request, ...rest) => {
      const { method, headers, url } = request;
      if (method === 'GET' || method === 'HEAD') return app.fetch(request, ...rest);
      const parent = headers.get('traceparent') ?? undefined;
      const span = { name: method, kind: 'server', method, path: new URL(url).pathname, parent } as const;
      return trace.span(span, async (setAttributes) => {
        const response = await app.fetch(request, ...rest);
        const { status } = response;
        setAttributes({ status, ...(status < 500 ? {} : { error: String(status) }) });
        return response;
      });
    },
  };
}
