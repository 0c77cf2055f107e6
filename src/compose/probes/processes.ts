import { relative } from 'node:path';
import { DAY_MS, isoInstant, MINUTE_MS } from '../../base/time.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { listOpenCircuits, type OpenCircuit } from '../../deliver/circuit/circuit-breaker.ts';
import {
  type ProcessFailure,
  type ProcessReport,
  type ReportPeak,
  redisProcessReports,
} from '../../queue/process-reports.ts';
import { type Identity, readIdentity } from '../../redis/identity.ts';
import { findReplica } from '../../redis/server-info.ts';
import { type CheckResult, type Finding, fail, formatSome, ok, warn } from '../../services/deployment/probe.ts';
import type { Probed } from './probe-context.ts';

/** Only principals of all organizations may see names of processes and servers. */
const FOR_ALL: readonly string[] = [];

export const checkRole = async ({ redis }: Pick<Probed, 'redis'>): Promise<CheckResult> => {
  const master = await findReplica(redis);
  if (master === undefined) return ok('accepts writes, as far as it says');
  return {
    ...fail(
      `Redis is a read-only replica of ${master}`,
      'Wait for the failover to end. If it does not, set REDIS_URL to the master, or to its Sentinels.',
    ),
    affects: 'Nothing is fetched or sent, and no decision can be recorded; runs continue afterwards.',
    problem: 'redis.replica',
  };
};

/** How long a loss of data is shown. */
const LOSS_SHOWN_MS = 3 * DAY_MS;

/** @param identity in this Redis; undefined before the first start */
export function evaluateLoss(identity: Identity | undefined, now: number): CheckResult | undefined {
  if (identity === undefined || !identity.restored || now - identity.since > LOSS_SHOWN_MS) return undefined;
  return {
    ...warn(
      `Redis lost data before ${isoInstant(identity.since)}: it was emptied, replaced or restored from an older backup`,
      'Docket restores deliveries from the archive and repeats none. Queue missing runs again: `docket backfill ORG/REPORT --from DAY --to DAY`. Check `docket pause` and `docket corrections`. Then turn on `appendonly yes`.',
    ),
    since: identity.since,
    affects: 'Runs that were queued or waited for people, and pauses, may be missing.',
    problem: 'redis.lost',
  };
}

export const checkLoss = async ({ redis, prefix, clock }: Probed): Promise<CheckResult | undefined> =>
  evaluateLoss(await readIdentity(redis, prefix), clock.now());

/** The failed checks of the running processes. Processes with the same failure share a finding. */
export function evaluateFailures(reports: readonly ProcessReport[]): readonly Finding[] {
  const failures = new Map<string, { readonly failure: ProcessFailure; readonly hosts: string[] }>();
  for (const { host, roles, failing } of reports) {
    for (const failure of failing) {
      const failureKey = `${failure.name} ${failure.detail}`;
      const found = failures.get(failureKey) ?? { failure, hosts: [] };
      found.hosts.push(`${host} (${roles.join(', ')})`);
      failures.set(failureKey, { ...found, failure: failure.since < found.failure.since ? failure : found.failure });
    }
  }
  return [...failures.values()].map(({ failure: { name, detail, since, ...own }, hosts }) => {
    const part = PARTS[name] ?? OTHER_PART;
    const { problem = part.problem, affects = part.affects, remedy = part.remedy } = own;
    return {
      what: `Process ${formatSome(hosts)}`,
      // Details of storage checks are already sentences.
      ...fail(detail !== '' && /^(archive|staging|identity)$/.test(name) ? detail : `${name}: ${detail}`, remedy),
      since,
      affects: `${affects} Found by ${formatSome(hosts)}.`,
      problem,
      orgs: FOR_ALL,
    };
  });
}

interface FailingPart {
  readonly problem: string;
  readonly affects: string;
  readonly remedy: string;
}

const STORAGE = 'Runs wait there, and spend no attempt.';
/** By the name of the check. Each failure is also a metric, a line of `/readyz`, and an alert by its `problem`. */
const PARTS: Readonly<Record<string, FailingPart>> = {
  archive: {
    problem: 'archive.unusable',
    affects: STORAGE,
    remedy: 'Mount the archive, free its disk or start its store; `docket doctor` on that machine shows the folder.',
  },
  staging: {
    problem: 'staging.unusable',
    affects: STORAGE,
    remedy: 'Free the disk of the staging folder; `docket doctor` on that machine shows the folder.',
  },
  switches: {
    problem: 'switch.unreadable',
    affects: 'Nothing is sent or deleted; runs wait, and spend no attempt.',
    remedy: 'Mount the archive or start its store. Restore a damaged file of `.switches/` in it from a backup.',
  },
  denials: {
    problem: 'denials.unreadable',
    affects: 'Nothing is sent, not even notices to owners; runs and notices wait.',
    remedy: 'Mount the archive or start its store. Restore a damaged file of `.denied/` in it from a backup.',
  },
  identity: {
    problem: 'deployment.conflict',
    affects: 'The process writes nothing to the archive.',
    remedy: 'Mount the archive if it is not mounted; otherwise correct DOCKET_ARCHIVE or REDIS_URL.',
  },
  definitions: {
    problem: 'definitions.none',
    affects: 'No report starts by its schedule there.',
    remedy: 'Check the folder DOCKET_JOBS and its mount; `docket check` shows what is in it.',
  },
  scheduler: {
    problem: 'process.unready',
    affects: 'That process opens no slots.',
    remedy: 'Read its log, and restart it if it does not recover.',
  },
  worker: {
    problem: 'process.unready',
    affects: 'That process takes no runs.',
    remedy: 'Read its log, and restart it if it does not recover.',
  },
};

/** For failed lines of `docket doctor`. */
const OTHER_PART: FailingPart = {
  problem: 'check.failed',
  affects: 'Everything that depends on it fails.',
  remedy: '`docket doctor` on that machine shows more.',
};

/** A rolling update takes a while, so differences are reported only after this time. */
const UPDATE_MS = 5 * MINUTE_MS;

/** Checks that all processes have the same definitions and version. */
export function evaluateAgreement(reports: readonly ProcessReport[], now: number): readonly Finding[] {
  const settled = reports.filter(({ started }) => now - started > UPDATE_MS);
  const differing = (of: (report: ProcessReport) => string, name: (report: ProcessReport) => string) => {
    const groups = groupBy(settled, of);
    const named = [...groups.values()].map((members) => {
      const [first] = members;
      return first === undefined ? '' : `${name(first)} on ${formatSome(members.map(({ host }) => host))}`;
    });
    return groups.size > 1 ? named.join('; ') : undefined;
  };
  const definitions = differing(
    (report) => report.definitions.digest,
    ({ definitions: { digest, reports: count } }) => `${digest.slice(0, 8)} (${formatReports(count)})`,
  );
  const versions = differing(
    (report) => report.version,
    ({ version }) => version,
  );
  return [
    ...(definitions === undefined
      ? []
      : [
          {
            what: 'Definitions of processes',
            ...fail(
              `processes have different definitions: ${definitions}`,
              'Give all processes the same DOCKET_JOBS, or complete the update. SIGHUP makes a process read its folder again.',
            ),
            affects: 'Which definition a scheduled run has depends on the scheduler that activated it last.',
            problem: 'definitions.differ',
            orgs: FOR_ALL,
          },
        ]),
    ...(versions === undefined
      ? []
      : [
          {
            what: 'Versions of processes',
            ...warn(
              `processes have different versions: ${versions}`,
              'Complete the update: restart the older processes.',
            ),
            affects: 'New features wait until all processes have the new version.',
            problem: 'versions.differ',
            orgs: FOR_ALL,
          },
        ]),
  ];
}

/** Smaller losses count as ordinary changes. */
const MIN_LOST = 3;

/** Checks whether a jobs folder is unreadable or empty, or has lost most of its reports within a day. */
export function evaluateFolders(reports: readonly ProcessReport[], peak: ReportPeak | undefined): readonly Finding[] {
  return reports.flatMap(({ host, roles, definitions: { reports: count, unreadable } }): Finding[] => {
    const what = `Jobs folder of ${host} (${roles.join(', ')})`;
    if (unreadable !== null) {
      return [
        {
          what,
          ...fail(
            `the jobs folder of ${host} cannot be read: ${unreadable.why}`,
            'Mount the folder DOCKET_JOBS, or correct its permissions. If it was emptied on purpose, send the process SIGHUP.',
          ),
          since: unreadable.since,
          affects: `The process keeps its ${formatReports(count)} until it restarts. Changes do not take effect.`,
          problem: 'definitions.unreadable',
          orgs: FOR_ALL,
        },
      ];
    }
    const lost = (peak?.reports ?? 0) - count;
    if (peak === undefined || lost <= 0 || (count > 0 && (lost <= MIN_LOST || count > peak.reports / 2))) return [];
    return [
      {
        what,
        ...fail(
          `the jobs folder of ${host} lost ${lost} of ${peak.reports} reports`,
          'Check the folder DOCKET_JOBS and its mount, and restore the files. If they were removed on purpose, this ends by itself after a day.',
        ),
        since: peak.at,
        affects:
          count === 0 ? 'No report starts by its schedule.' : `${formatReports(lost)} no longer start by schedule.`,
        problem: 'definitions.lost',
        orgs: FOR_ALL,
      },
    ];
  });
}

export async function checkProcesses({ redis, prefix, clock }: Probed): Promise<readonly Finding[]> {
  const store = redisProcessReports(redis, { prefix });
  const [reports, peak] = await Promise.all([store.list(), store.peak()]);
  const found = [
    ...evaluateFailures(reports),
    ...evaluateAgreement(reports, clock.now()),
    ...evaluateFolders(reports, peak),
  ];
  return found.length > 0 ? found : [{ what: 'Processes', ...ok(`${reports.length} running, none reports a problem`) }];
}

/** Errors in files of definitions, by organization. */
export function evaluateFaults({
  folder,
  diagnostics,
}: Pick<Definitions, 'folder' | 'diagnostics'>): readonly Finding[] {
  const byOrg = groupBy(diagnostics, ({ file }) => relative(folder, file).split(/[/\\]/)[0] ?? '');
  return [...byOrg].map(([org, faults]) => {
    const files = [...new Set(faults.map(({ file }) => relative(folder, file)))];
    return {
      what: `Definitions of ${org}`,
      ...fail(
        `${faults.length} ${faults.length === 1 ? 'error' : 'errors'} in ${formatSome(files)}`,
        '`docket check` shows each with its line and what to do.',
      ),
      affects: 'These files keep their last valid version, or are left out if they never had one.',
      problem: 'definitions.faults',
      orgs: [org],
    };
  });
}

export const evaluateCircuits = (circuits: readonly OpenCircuit[]): readonly Finding[] =>
  circuits.map(({ service: key, since, why }) => {
    // For a mail server, the name ends with a fingerprint of its settings.
    const service = key.replace(/ [0-9a-f]{8}$/, '');
    return {
      what: `Circuit of ${service}`,
      ...fail(
        `${service} fails: ${why}`,
        'Fix the server or its address. Docket tries it again every 1 to 10 minutes; `docket runs --state waiting` lists the waiting runs.',
      ),
      since,
      affects: 'Deliveries to it wait, and spend no attempt.',
      problem: 'circuit.open',
      orgs: FOR_ALL,
    };
  });

export const checkCircuits = async ({ redis, prefix }: Probed): Promise<readonly Finding[] | CheckResult> => {
  const found = evaluateCircuits(await listOpenCircuits(redis, { prefix: `${prefix}:` }));
  return found.length > 0 ? found : ok('none is open');
};

const formatReports = (count: number): string => `${count} ${count === 1 ? 'report' : 'reports'}`;

function groupBy<Item>(items: Iterable<Item>, keyOf: (item: Item) => string): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}
