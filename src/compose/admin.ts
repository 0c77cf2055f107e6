import { type AccessPorts, createAccess } from '../admin/access/access-of.ts';
import { reportSlotFinder } from '../admin/access/slots.ts';
import { createAdminApp, createProbeApp } from '../admin/app.ts';
import { type AuditLog, redisAuditLog } from '../admin/auth/audit.ts';
import type { Auth } from '../admin/auth/door.ts';
import { createLoginThrottle } from '../admin/auth/guesses.ts';
import { createRateLimit } from '../admin/auth/rate-limit.ts';
import { redisSessions } from '../admin/auth/sessions.ts';
import { noTokens, watchTokenFile } from '../admin/auth/token-file.ts';
import { openBullBoard } from '../admin/board.ts';
import { createStreamLimiter } from '../admin/event-streams.ts';
import type { Metrics } from '../admin/metrics.ts';
import { type AdminServer, listenAdmin } from '../admin/server.ts';
import { NO_ADDRESSES } from '../base/address-list.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { secretSource } from '../base/secret.ts';
import { version } from '../base/version.ts';
import type { DefinitionSource } from '../define/in-force.ts';
import { redisLedger } from '../deliver/redis-ledger.ts';
import { lastGoodVersion } from '../queue/in-force.ts';
import { redisLiveProgress } from '../queue/live.ts';
import { redisNoticeOutbox } from '../queue/owed-notices.ts';
import { redisActiveVersions } from '../queue/versions.ts';
import { openArchive } from './archive.ts';
import { budgetOverview } from './budget-lines.ts';
import { sharedBudgets } from './budgets.ts';
import { composeDecisionService } from './decisions.ts';
import { startValidationThread } from './definition-threads.ts';
import type { RunningDocket } from './docket.ts';
import { loadReleasePreview } from './held-pack.ts';
import { RETENTION_DAYS } from './keep-days.ts';
import { createRunFileReader } from './packs.ts';
import { createPlanExplainer } from './planning.ts';
import type { AppContext } from './ports.ts';
import { tracedRequests } from './traced-requests.ts';

/**
 * What a process answers over HTTP: `/healthz`, `/readyz` and `/metrics` in every role, the API and the page in the role
 * `admin`. Throws `config.invalid` when it cannot listen or the tokens cannot be read.
 *
 * @param metrics those that observe this process
 */
export async function composeAdmin(
  around: AppContext,
  jobs: DefinitionSource,
  {
    store,
    identity,
    health,
    metricsSnapshot,
  }: Pick<RunningDocket, 'store' | 'identity' | 'health' | 'metricsSnapshot'>,
  metrics: Metrics,
  { api }: { readonly api: boolean },
): Promise<AdminServer> {
  const { config, clock, log } = around;
  const { DOCKET_ADMIN_HOST: host, DOCKET_ADMIN_PORT: port } = config;
  const auth = await openAuth(around);
  const probes = { auth, health, metrics: () => metrics.scrape(metricsSnapshot), clock, log };
  const listening = { host, port, log, proxies: auth.proxies };
  if (!api) return listenAdmin(createProbeApp(probes), listening);
  const scope = createScope();
  try {
    const { redis, prefix } = store;
    const audit = redisAuditLog(redis, { prefix, clock, log });
    const ports = openAccessPorts(around, jobs, { store, identity }, audit, scope);
    const board =
      config.DOCKET_ADMIN_BULL_BOARD === 'on'
        ? scope.use(await openBullBoard(redis, { prefix }), (opened) => opened.close())
        : undefined;
    const streams = createStreamLimiter();
    const { tokens, loginThrottle } = auth;
    const app = createAdminApp({
      ...probes,
      auth: { ...auth, sessions: redisSessions({ redis, prefix, tokens, loginThrottle, audit, clock }) },
      access: (principal) => createAccess(ports, principal),
      streams,
      board,
      version: version(),
    });
    const traced = tracedRequests(app, around.trace);
    const server = scope.use(await listenAdmin(traced, listening), (opened) => opened.close());
    // Before the server: it would wait for them.
    scope.use(streams, (opened) => opened.close());
    return { ...server, close: () => scope.close() };
  } catch (error) {
    await scope.close();
    throw error;
  }
}

/** Who is let in. */
async function openAuth({ config, clock, log }: AppContext): Promise<Auth> {
  const { DOCKET_ADMIN_TOKENS: file, DOCKET_ADMIN_HOST: host } = config;
  const { DOCKET_ADMIN_TRUSTED_PROXIES: proxies = NO_ADDRESSES, DOCKET_ADMIN_NAMES: names = [] } = config;
  return {
    tokens: file === undefined ? noTokens(log) : await watchTokenFile(file, { clock, log }),
    loginThrottle: createLoginThrottle({ clock, log }),
    limit: createRateLimit(config.DOCKET_ADMIN_RATE, clock),
    proxies,
    names: [host.toLowerCase(), ...names],
  };
}

/** What stands behind all that somebody may see and do. */
function openAccessPorts(
  around: AppContext,
  jobs: DefinitionSource,
  { store, identity }: Pick<RunningDocket, 'store' | 'identity'>,
  audit: AuditLog,
  scope: Scope,
): AccessPorts {
  const { clock, log } = around;
  const { redis, prefix, trigger, runs, queue, pauses, definitions } = store;
  const versions = redisActiveVersions(redis, { prefix });
  const ledger = redisLedger(redis, { prefix: `${prefix}:`, ttlDays: RETENTION_DAYS });
  const { archive, storage, signing } = openArchive(around, scope, identity);
  const secrets = secretSource(around.env, around);
  const budgetOf = sharedBudgets(redis, prefix, clock);
  const explainer = createPlanExplainer(
    around,
    { redis, prefix, orgs: () => jobs.current().orgs, belongsTo: identity.known },
    scope,
  );
  const posted = scope.use(startValidationThread({ clock, catalogOf: explainer.catalogIfHeld }), (opened) =>
    opened.close(),
  );
  return {
    jobs: jobs.current,
    lastGood: async (name) => {
      const version = (await versions.read()).get(name);
      return version && lastGoodVersion(name, version, { jobs: jobs.current(), definitions, log });
    },
    trigger,
    runs,
    decisions: composeDecisionService({
      runs,
      queue,
      ledger,
      noticeOutbox: redisNoticeOutbox(redis, { prefix }),
      archive,
      storage,
      definitions,
      clock,
      log,
    }),
    pauses,
    archivedFiles: createRunFileReader(storage, signing),
    heldRun: (run) =>
      loadReleasePreview(run, {
        definitions,
        archive,
        ledger,
        secrets,
        clock,
        settingsNow: (org) => jobs.current().orgs.get(org),
        workingDirectory: around.workingDirectory,
      }),
    audit,
    live: redisLiveProgress(redis, { prefix }),
    findSlots: reportSlotFinder(),
    budgetsOf: (orgs) => budgetOverview(orgs, { secrets, budgetOf, inForce: jobs.current().orgs.values(), clock }),
    explainer,
    checkText: posted.validate,
    clock,
  };
}
