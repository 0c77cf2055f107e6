import { startPeriodicTasks } from '../base/periodic.ts';
import type { Scope } from '../base/scope.ts';
import { SECOND_MS } from '../base/time.ts';
import type { DefinitionSource } from '../definitions/load/definition-source.ts';
import { MAX_ORG_BYTES, redisResponseStore } from '../fetch/cache/redis-response-store.ts';
import type { ResponseCache } from '../fetch/cache/response-cache.ts';
import { freezeReports } from '../queue/definitions/active-reports.ts';
import { redisActiveVersions } from '../queue/definitions/active-versions.ts';
import type { FrozenDefinition } from '../queue/definitions/definition-store.ts';
import { activePauses } from '../queue/jobs/pause-enforcement.ts';
import type { RedisClient } from '../redis/client.ts';
import type { LuaScript } from '../redis/script.ts';
import { currentSettings } from '../services/definitions/frozen-definition.ts';
import type { Deployment } from '../services/deployment/deployment.ts';
import { redisPreparationIndex } from '../services/preparations/preparation-index.ts';
import { createPreparationRounds, type PreparationRounds } from '../services/preparations/preparation-rounds.ts';
import type { PortsFactories } from './run-ports.ts';

/** Interval of the checks whether tokens can be used for upcoming slots. */
const ROUND_INTERVAL_MS = 10 * SECOND_MS;

interface PreparationParts extends Deployment, Pick<PortsFactories, 'buildRequestPorts'> {
  readonly jobs: DefinitionSource;
  readonly sharedAnswers: ResponseCache;
  readonly storeScript: LuaScript;
  readonly keyOf: (org: string) => Promise<string | undefined>;
}

/** Makes calls for upcoming slots ahead of time, until the scope closes. */
export function openPreparations(parts: PreparationParts, scope: Scope): Pick<PreparationRounds, 'isDue'> {
  const { redis, prefix, jobs, sharedAnswers, storeScript, clock, log } = parts;
  const stop = new AbortController();
  const rounds = createPreparationRounds({
    ...parts,
    paused: () => activePauses(parts),
    index: redisPreparationIndex(redis, { prefix }),
    reports: loadedReports(jobs),
    activeDigests: readActiveDigests(redis, prefix),
    settingsNow: (frozen) => currentSettings(frozen, parts.orgs()),
    buildPreparePorts: async (settings, ttlMs) => ({
      ...(await parts.buildRequestPorts(settings)),
      responses: redisResponseStore(redis, {
        prefix: `${prefix}:`,
        org: settings.id,
        script: storeScript,
        ttlS: Math.ceil(ttlMs / SECOND_MS),
        // Leaves the other half to runs that are due.
        maxOrgBytes: MAX_ORG_BYTES / 2,
      }),
      responseCache: sharedAnswers,
    }),
    signal: stop.signal,
  });
  scope.use(startPeriodicTasks({ steps: [rounds.round], clock, log, everyMs: ROUND_INTERVAL_MS }), (opened) =>
    opened.close(),
  );
  scope.use(stop, (controller) => controller.abort());
  return rounds;
}

/** The reports in the files of this process. Returns the same objects as long as the files do not change. */
function loadedReports(jobs: DefinitionSource): () => readonly FrozenDefinition[] {
  let known:
    | { readonly of: ReturnType<DefinitionSource['current']>; readonly reports: readonly FrozenDefinition[] }
    | undefined;
  return () => {
    const of = jobs.current();
    if (known?.of !== of) known = { of, reports: freezeReports(of) };
    return known.reports;
  };
}

/** Digests of the active versions, by report. Reads them again only when one has changed. */
function readActiveDigests(redis: RedisClient, prefix: string): () => Promise<ReadonlyMap<string, string>> {
  const versions = redisActiveVersions(redis, { prefix });
  let known: { readonly revision: number; readonly digests: ReadonlyMap<string, string> } | undefined;
  return async () => {
    const revision = await versions.revision();
    if (known !== undefined && known.revision === revision) return known.digests;
    const digests = new Map([...(await versions.read())].map(([name, { digest }]) => [name, digest] as const));
    known = revision === undefined ? undefined : { revision, digests };
    return digests;
  };
}
