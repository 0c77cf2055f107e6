import { accessOf } from '../admin/access/access-of.ts';
import { reportSlotFinder } from '../admin/access/slots.ts';
import { createAdmin, createProbes } from '../admin/app.ts';
import { redisAudit } from '../admin/auth/audit.ts';
import { countGuesses } from '../admin/auth/guesses.ts';
import { rateLimit } from '../admin/auth/rate-limit.ts';
import { redisSessions } from '../admin/auth/sessions.ts';
import { noTokens, tokenFile } from '../admin/auth/token-file.ts';
import { openBoard } from '../admin/board.ts';
import { eventStreams } from '../admin/event-streams.ts';
import type { Metrics } from '../admin/metrics.ts';
import { type AdminServer, listenAdmin } from '../admin/server.ts';
import { NO_ADDRESSES } from '../base/address-list.ts';
import { createScope } from '../base/scope.ts';
import { secretSource } from '../base/secret.ts';
import { version } from '../base/version.ts';
import type { JobsInForce } from '../define/in-force.ts';
import type { OrgSettings } from '../define/org.ts';
import { redisLedger } from '../deliver/redis-ledger.ts';
import { lastGood } from '../queue/in-force.ts';
import { redisLive } from '../queue/live.ts';
import { owedNotices } from '../queue/owed-notices.ts';
import { redisVersions } from '../queue/versions.ts';
import { openArchive } from './archive.ts';
import { budgetLines } from './budget-lines.ts';
import { sharedBudgets } from './budgets.ts';
import { bindDecisions } from './decisions.ts';
import type { RunningDocket } from './docket.ts';
import { KEEP_DAYS } from './keep-days.ts';
import { packsOf } from './packs.ts';
import { planningOf } from './planning.ts';
import type { Surroundings } from './ports.ts';
import { tracedRequests } from './traced-requests.ts';

/**
 * What a process answers over HTTP: `/healthz`, `/readyz` and `/metrics` in every role, the API in the role `admin`.
 * Throws `config.invalid` when it cannot listen, the tokens cannot be read or Bull Board is wanted and not installed.
 *
 * @param metrics those that observe this process
 */
export async function composeAdmin(
  around: Surroundings,
  jobs: JobsInForce,
  { store, health, readings }: Pick<RunningDocket, 'store' | 'health' | 'readings'>,
  metrics: Metrics,
  { api }: { readonly api: boolean },
): Promise<AdminServer> {
  const { config, clock, log } = around;
  const { DOCKET_ADMIN_TOKENS: file, DOCKET_ADMIN_HOST: host, DOCKET_ADMIN_PORT: port } = config;
  const { DOCKET_ADMIN_TRUSTED_PROXIES: proxies = NO_ADDRESSES, DOCKET_ADMIN_NAMES: names = [] } = config;
  const door = {
    tokens: file === undefined ? noTokens(log) : await tokenFile(file, { clock, log }),
    guesses: countGuesses({ clock, log }),
    limit: rateLimit(config.DOCKET_ADMIN_RATE, clock),
    proxies,
    names: [host.toLowerCase(), ...names],
  };
  const probes = {
    door,
    health,
    metrics: () => metrics.scrape(readings),
    clock,
    log,
  };
  if (!api) return listenAdmin(createProbes(probes), { host, port, log, proxies });
  const { redis, prefix, trigger, runs, queue, pauses, definitions } = store;
  const audit = redisAudit(redis, { prefix, clock, log });
  const versions = redisVersions(redis, { prefix });
  const ledger = redisLedger(redis, { prefix: `${prefix}:`, ttlDays: KEEP_DAYS });
  const scope = createScope();
  const board =
    config.DOCKET_ADMIN_BULL_BOARD === 'on'
      ? scope.use(await openBoard(redis, { prefix }), (opened) => opened.close())
      : undefined;
  const { archive, shelf } = openArchive(around, scope);
  const ports = {
    jobs: jobs.now,
    lastGood: async (name: string) => {
      const version = (await versions.read()).get(name);
      return version && lastGood(name, version, { jobs: jobs.now(), definitions, log });
    },
    trigger,
    runs,
    decisions: bindDecisions({ runs, queue, ledger, owed: owedNotices(redis, { prefix }), archive, clock, log }),
    pauses,
    packs: packsOf(shelf),
    audit,
    live: redisLive(redis, { prefix }),
    findSlots: reportSlotFinder(),
    lines: (orgs: readonly OrgSettings[]) =>
      budgetLines(orgs, {
        secrets: secretSource(around.env, around.learn),
        budgetOf: sharedBudgets(redis, prefix, clock),
        clock,
      }),
    planning: planningOf(around, { redis, prefix }, scope),
    clock,
  };
  const streams = eventStreams();
  const app = createAdmin({
    ...probes,
    door: {
      ...door,
      sessions: redisSessions({ redis, prefix, tokens: door.tokens, guesses: door.guesses, audit, clock }),
    },
    access: (principal) => accessOf(ports, principal),
    streams,
    board,
    version: version(),
  });
  const server = scope.use(
    await listenAdmin(tracedRequests(app, around.trace), { host, port, log, proxies }),
    (opened) => opened.close(),
  );
  // Before the server: it would wait for them.
  scope.use(streams, (opened) => opened.close());
  return { ...server, close: () => scope.close() };
}
