import { withTimeout } from '../../base/concurrency.ts';
import { toDocketError } from '../../base/error.ts';
import { SECOND_MS } from '../../base/time.ts';
import {
  type DeploymentProblem,
  type Finding,
  type HealthCheck,
  resultOfError,
  toProblems,
} from '../../services/deployment/probe.ts';
import { archiveProbe, redisProbe, stagingProbe } from '../../services/deployment/storage-health.ts';
import type { Feature } from '../feature.ts';
import { checkRedisClock } from './clock.ts';
import type { Examination, Probe, Probed, ProcessParts } from './probe-context.ts';
import { checkCircuits, checkLoss, checkProcesses, checkRole, evaluateFaults } from './processes.ts';
import { checkLatency, checkMemory, checkPersistence, checkServer } from './redis.ts';
import { checkPauses, checkScheduler, checkSchedules, checkWorkers, MAX_SCAN_AGE_MS } from './schedules.ts';

/**
 * All probes, in the order of `docket doctor`, `/readyz` and the page. Code that only `docket doctor` needs is loaded
 * when it is used.
 */
export const PROBES: readonly Probe[] = [
  {
    what: 'Node.js',
    doctor: async ({ now }) => (await import('./runtime.ts')).evaluateNodeVersion(process.versions.node, now),
  },
  {
    what: 'Time zone data',
    doctor: async ({ jobs, now }) =>
      (await import('./runtime.ts')).checkTimeZoneData(
        [...jobs.orgs.values()].map(({ timezone }) => timezone),
        now,
      ),
  },
  {
    what: 'Redis',
    doctor: checkServer,
    ready: {
      redis: ({ store }) =>
        store.ping().then(
          () => ({ ok: true }),
          (thrown: unknown) => ({ ok: false, detail: toDocketError(thrown).message }),
        ),
    },
  },
  { what: 'Redis role', after: 'Redis', shared: checkRole },
  { what: 'Redis on disk', hourly: 'all', doctor: checkPersistence },
  {
    what: 'Redis memory',
    after: 'Redis role',
    shared: checkMemory,
    trials: ({ store }) => [redisProbe(store.redis, store.prefix)],
  },
  { what: 'Redis latency', doctor: checkLatency },
  { what: 'Redis clock', after: 'Redis role', shared: checkRedisClock },
  { what: 'Redis data', after: 'Redis', shared: checkLoss },
  {
    what: 'Definitions',
    shared: ({ jobs }) => evaluateFaults(jobs),
    doctor: async (at) => (await import('./definitions.ts')).checkDefinitions(at, (await at.keys()).catalogs),
    ready: {
      definitions: ({ jobs }) => {
        const { reports, diagnostics, usingLastKnownGood: kept } = jobs();
        const detail = `${reports.size} loaded, ${diagnostics.length} faults${kept.size === 0 ? '' : `, ${kept.size} on the last good version`}`;
        return { ok: reports.size > 0, detail };
      },
    },
  },
  { what: 'Budget settings', doctor: async (at) => (await import('./api-keys.ts')).checkBudgetSettings(at) },
  { what: 'Scope of reports', doctor: async (at) => (await import('./definitions.ts')).checkReportScope(at) },
  { what: 'Processes', after: 'Redis', shared: checkProcesses },
  {
    what: 'Templates',
    hourly: 'all',
    doctor: async (at) => (await import('./definitions.ts')).checkTemplateFolder(at),
  },
  { what: 'Proxy', doctor: async (at) => (await import('./certificates.ts')).checkProxies(at) },
  { what: 'API', hourly: 'worker', doctor: (at) => at.api() },
  { what: 'API keys', doctor: async (at) => (await at.keys()).findings },
  {
    what: 'Mail servers',
    hourly: 'worker',
    doctor: async (at) => (await import('./mail.ts')).checkMailServers(at),
  },
  {
    what: 'Certificates',
    hourly: 'all',
    doctor: async (at) => (await import('./certificates.ts')).checkCertificates(at),
  },
  { what: 'Circuits', after: 'Redis', shared: checkCircuits },
  {
    what: 'Targets',
    doctor: async ({ jobs, context }) => (await import('./definitions.ts')).checkTargets(jobs, context),
  },
  {
    what: 'Deployment',
    doctor: async (at) => (await import('./archive.ts')).checkDeploymentIdentity(at),
    ready: {
      identity: ({ identity }) => {
        const conflict = identity.conflict();
        return conflict && { ok: false, detail: conflict.message };
      },
    },
  },
  {
    what: 'Archive',
    // The folder may be an empty mount point, so this must not write into it before the deployment is confirmed.
    after: 'Deployment',
    doctor: async (at) => (await import('./archive.ts')).checkArchive(at),
    trials: ({ worker, clock }) =>
      worker === undefined ? [] : [archiveProbe(worker.opened.storage, clock), stagingProbe(worker.opened.archive)],
  },
  {
    what: 'Stops and legal holds',
    after: 'Archive',
    doctor: async (at) => (await import('./archive.ts')).checkSwitches(at),
    ready: { switches: ({ worker }) => worker && checkReadable('stops and legal holds', worker.opened.switches) },
  },
  {
    what: 'Deny list',
    after: 'Archive',
    doctor: async (at) => (await import('./archive.ts')).checkDenyList(at),
    ready: { denials: ({ worker }) => worker && checkReadable('denied recipients', worker.opened.denials) },
  },
  {
    what: 'Readings',
    after: 'Deployment',
    doctor: async (at) => (await import('./archive.ts')).checkReadings(at),
  },
  {
    what: 'Tokens of the admin route',
    hourly: 'all',
    doctor: async ({ context: { config }, now }) =>
      config.DOCKET_ADMIN_TOKENS === undefined
        ? undefined
        : (await import('./admin-tokens.ts')).checkAdminTokens(config.DOCKET_ADMIN_TOKENS, now),
  },
  {
    what: 'Approvers',
    hourly: 'all',
    doctor: async ({ jobs, context, signIn }) => (await import('./approvers.ts')).checkApprovers(jobs, context, signIn),
  },
  {
    what: 'Schedules',
    after: 'Redis role',
    shared: checkScheduler,
    doctor: ({ redis, ...at }) => redis && checkSchedules({ ...at, redis }),
    ready: {
      scheduler: ({ scheduler, clock }) => {
        if (scheduler === undefined) return undefined;
        const at = scheduler();
        return at === undefined
          ? { ok: false, detail: 'no scan for due slots yet' }
          : {
              ok: clock.now() - at < MAX_SCAN_AGE_MS,
              detail: `last scan for due slots: ${new Date(at).toISOString()}`,
            };
      },
    },
  },
  { what: 'Pauses', after: 'Redis', doctor: ({ redis, prefix }) => redis && checkPauses({ redis, prefix }) },
  {
    what: 'Workers',
    after: 'Redis role',
    shared: checkWorkers,
    ready: {
      worker: ({ worker }) => worker && { ok: worker.isAccepting(), detail: `${worker.active()} runs active` },
    },
  },
];

/** The probes of features come before this one, so that the lines of `docket doctor` keep their order. */
const FEATURES_BEFORE = 'Approvers';

/** All probes of a process with these features. */
export function collectProbes(features: readonly Pick<Feature, 'probes'>[] = []): readonly Probe[] {
  const at = PROBES.findIndex(({ what }) => what === FEATURES_BEFORE);
  return PROBES.toSpliced(at, 0, ...features.flatMap(({ probes = [] }) => probes));
}

/** The checks of `/readyz`, except for the trial writes. */
export async function checkParts(parts: ProcessParts, probes = PROBES): Promise<readonly HealthCheck[]> {
  const checks = probes
    .flatMap(({ ready = {} }) => Object.entries(ready))
    .map(async ([name, look]) => {
      const check = await look(parts);
      return check === undefined ? [] : [{ name, ...check }];
    });
  return (await Promise.all(checks)).flat();
}

/** Finds out why reports do not go out, or soon will not, for the page. Throws `redis.unreachable`. */
export async function findProblems(at: Probed, probes = PROBES): Promise<readonly DeploymentProblem[]> {
  const failed = new Set<string>();
  const problems: DeploymentProblem[] = [];
  const look = async ({ what, after, shared }: Probe) => {
    if (after !== undefined && failed.has(after)) return;
    const result = await shared?.(at);
    if (result === undefined) return;
    const found = 'state' in result ? [result] : result;
    if (found.some(({ state }) => state === 'fail')) failed.add(what);
    problems.push(...found.flatMap(toProblems));
  };
  for (const probe of probes) await look(probe);
  return problems;
}

/** The lines of `docket doctor`. A failed check does not stop the others. Throws only the signal's reason. */
export async function examine(at: Examination, probes = PROBES): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const { what, after, shared, doctor } of probes) {
    if (findings.some((finding) => finding.what === after && finding.state === 'fail')) continue;
    at.signal.throwIfAborted();
    try {
      const { redis } = at;
      const found = await (doctor ? doctor(at) : redis && shared?.({ ...at, redis }));
      if (found !== undefined) findings.push(...('state' in found ? [{ what, ...found }] : found));
    } catch (thrown) {
      at.signal.throwIfAborted();
      findings.push({ what, ...resultOfError(thrown) });
    }
  }
  return findings;
}

const TIMEOUT_MS = 5 * SECOND_MS;

/**
 * Whether a worker can read a document of the deployment, such as the deny list. Undefined if Redis is the cause, which
 * another check reports.
 *
 * @param what plural, e.g. `stops and legal holds`
 */
async function checkReadable(
  what: string,
  document: { readonly read: () => Promise<unknown> },
): Promise<Omit<HealthCheck, 'name'> | undefined> {
  const error = await withTimeout(
    document.read().then(() => undefined, toDocketError),
    TIMEOUT_MS,
    () => 'timeout' as const,
  );
  if (error === undefined) return { ok: true, detail: `${what} can be read` };
  if (error !== 'timeout' && error.code !== 'switch.unreadable') return undefined;
  return { ok: false, detail: `${what} cannot be read from the archive` };
}
