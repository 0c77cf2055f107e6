import { type AccessPorts, accessOf } from '../admin/access/access-of.ts';
import { reportSlotFinder } from '../admin/access/slots.ts';
import { createAdmin, createProbes } from '../admin/app.ts';
import { type Audit, redisAudit } from '../admin/auth/audit.ts';
import type { Door } from '../admin/auth/door.ts';
import { countGuesses } from '../admin/auth/guesses.ts';
import { rateLimit } from '../admin/auth/rate-limit.ts';
import { redisSessions } from '../admin/auth/sessions.ts';
import { noTokens, tokenFile } from '../admin/auth/token-file.ts';
import { openBoard } from '../admin/board.ts';
import { eventStreams } from '../admin/event-streams.ts';
import type { Metrics } from '../admin/metrics.ts';
import { type AdminServer, listenAdmin } from '../admin/server.ts';
import { NO_ADDRESSES } from '../base/address-list.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { secretSource } from '../base/secret.ts';
import { version } from '../base/version.ts';
import type { JobsInForce } from '../define/in-force.ts';
import { redisLedger } from '../deliver/redis-ledger.ts';
import { lastGood } from '../queue/in-force.ts';
import { redisLive } from '../queue/live.ts';
import { owedNotices } from '../queue/owed-notices.ts';
import { redisVersions } from '../queue/versions.ts';
import { openArchive } from './archive.ts';
import { budgetLines } from './budget-lines.ts';
import { sharedBudgets } from './budgets.ts';
import { bindDecisions } from './decisions.ts';
import { postedThread } from './definition-threads.ts';
import type { RunningDocket } from './docket.ts';
import { heldPack } from './held-pack.ts';
import { KEEP_DAYS } from './keep-days.ts';
import { packsOf } from './packs.ts';
import { planningOf } from './planning.ts';
import type { Surroundings } from './ports.ts';
import { tracedRequests } from './traced-requests.ts';

/**
 * What a process answers over HTTP: `/healthz`, `/readyz` and `/metrics` in every role, the API and the page in the role
 * `admin`. Throws `config.invalid` when it cannot listen or the tokens cannot be read.
 *
 * @param metrics those that observe this process
 */
export async function composeAdmin(
  around: Surroundings,
  jobs: JobsInForce,
  { store, identity, health, readings }: Pick<RunningDocket, 'store' | 'identity' | 'health' | 'readings'>,
  metrics: Metrics,
  { api }: { readonly api: boolean },
): Promise<AdminServer> {
  const { config, clock, log } = around;
  const { DOCKET_ADMIN_HOST: host, DOCKET_ADMIN_PORT: port } = config;
  const door = await openDoor(around);
  const probes = { door, health, metrics: () => metrics.scrape(readings), clock, log };
  const listening = { host, port, log, proxies: door.proxies };
  if (!api) return listenAdmin(createProbes(probes), listening);
  const scope = createScope();
  try {
    const { redis, prefix } = store;
    const audit = redisAudit(redis, { prefix, clock, log });
    const ports = openPorts(around, jobs, { store, identity }, audit, scope);
    const board =
      config.DOCKET_ADMIN_BULL_BOARD === 'on'
        ? scope.use(await openBoard(redis, { prefix }), (opened) => opened.close())
        : undefined;
    const streams = eventStreams();
    const { tokens, guesses } = door;
    const app = createAdmin({
      ...probes,
      door: { ...door, sessions: redisSessions({ redis, prefix, tokens, guesses, audit, clock }) },
      access: (principal) => accessOf(ports, principal),
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
async function openDoor({ config, clock, log }: Surroundings): Promise<Door> {
  const { DOCKET_ADMIN_TOKENS: file, DOCKET_ADMIN_HOST: host } = config;
  const { DOCKET_ADMIN_TRUSTED_PROXIES: proxies = NO_ADDRESSES, DOCKET_ADMIN_NAMES: names = [] } = config;
  return {
    tokens: file === undefined ? noTokens(log) : await tokenFile(file, { clock, log }),
    guesses: countGuesses({ clock, log }),
    limit: rateLimit(config.DOCKET_ADMIN_RATE, clock),
    proxies,
    names: [host.toLowerCase(), ...names],
  };
}

/** What stands behind all that somebody may see and do. */
function openPorts(
  around: Surroundings,
  jobs: JobsInForce,
  { store, identity }: Pick<RunningDocket, 'store' | 'identity'>,
  audit: Audit,
  scope: Scope,
): AccessPorts {
  const { clock, log } = around;
  const { redis, prefix, trigger, runs, queue, pauses, definitions } = store;
  const versions = redisVersions(redis, { prefix });
  const ledger = redisLedger(redis, { prefix: `${prefix}:`, ttlDays: KEEP_DAYS });
  const { archive, shelf, signing } = openArchive(around, scope, identity);
  const secrets = secretSource(around.env, around);
  const budgetOf = sharedBudgets(redis, prefix, clock);
  const planning = planningOf(around, { redis, prefix, orgs: () => jobs.now().orgs, belongsTo: identity.known }, scope);
  const posted = scope.use(postedThread({ clock, catalogOf: planning.catalogIfHeld }), (opened) => opened.close());
  return {
    jobs: jobs.now,
    lastGood: async (name) => {
      const version = (await versions.read()).get(name);
      return version && lastGood(name, version, { jobs: jobs.now(), definitions, log });
    },
    trigger,
    runs,
    decisions: bindDecisions({
      runs,
      queue,
      ledger,
      owed: owedNotices(redis, { prefix }),
      archive,
      shelf,
      definitions,
      clock,
      log,
    }),
    pauses,
    packs: packsOf(shelf, signing),
    heldPack: (run) =>
      heldPack(run, {
        definitions,
        archive,
        ledger,
        secrets,
        clock,
        settingsNow: (org) => jobs.now().orgs.get(org),
        workingDirectory: around.workingDirectory,
      }),
    audit,
    live: redisLive(redis, { prefix }),
    findSlots: reportSlotFinder(),
    lines: (orgs) => budgetLines(orgs, { secrets, budgetOf, inForce: jobs.now().orgs.values(), clock }),
    planning,
    checkText: posted.check,
    clock,
  };
}
