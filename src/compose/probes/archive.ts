import { stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { DocketError } from '../../base/error.ts';
import { isoInstant } from '../../base/time.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { ARCHIVE_MARKER, type ArchiveMarker, readMarker } from '../../deliver/archive/archive-marker.ts';
import { KEYS_FOLDER } from '../../deliver/archive/chain/chain.ts';
import { readingArchive } from '../../deliver/archive/readings/reading-archive.ts';
import { archivedDenials } from '../../deliver/denials/shared-denials.ts';
import { archivedSwitches } from '../../deliver/switches/archived-switches.ts';
import { stopSentence, switchScope } from '../../deliver/switches/switches.ts';
import type { ReadingSummary } from '../../queue/schedules/reading-index.ts';
import { type Identity, readIdentity } from '../../redis/identity.ts';
import {
  type CheckResult,
  type Finding,
  fail,
  formatByteSize,
  formatSome,
  ok,
  runCheck,
  warn,
} from '../../services/deployment/probe.ts';
import { stagingProbe } from '../../services/deployment/storage-health.ts';
import { RECENT_DAYS, summarizeReadings } from '../../services/readings/summarize-readings.ts';
import { withArchive } from '../archive.ts';
import type { Examination } from './probe-context.ts';

const GB = 1024 ** 3;

/** @param usage bytes */
export function evaluateDiskUsage({ free, total }: { readonly free: number; readonly total: number }): CheckResult {
  const detail = `${formatByteSize(free)} free`;
  const remedy = 'Free disk space, or remove old runs: DOCKET_ARCHIVE_DAYS, retention_days in org.yaml.';
  if (free < 0.1 * GB) return fail(detail, remedy);
  return free < GB || free < total * 0.03 ? warn(detail, remedy) : ok(free < 10 * GB ? detail : 'more than 10 GB free');
}

/**
 * Evaluates the archive's own probe: it is writable, and two simultaneous writes do not replace each other.
 *
 * @param needs what relies on conditional writes: `DOCKET_SIGNING_KEY`, names of reports
 */
export function evaluateArchiveProbe(
  probe: { readonly ok: boolean; readonly detail: string },
  needs: readonly string[],
): CheckResult {
  if (probe.ok) return ok(probe.detail);
  const remedy = 'Use a store that supports If-None-Match, or a folder.';
  const detail = `${probe.detail}; which of two runs delivers a period is decided in Redis alone`;
  return needs.length === 0 ? warn(detail, remedy) : fail(`${detail}; needed by ${formatSome(needs)}`, remedy);
}

/** Names of the reports that need conditional writes, for reviews or corrections. */
const reportsWithEvents = ({ reports }: Pick<Definitions, 'reports'>): readonly string[] =>
  [...reports.values()]
    .filter(
      ({ approval, corrections, sections }) =>
        approval !== undefined ||
        corrections !== undefined ||
        sections.some(({ commentary }) => commentary !== undefined),
    )
    .map(({ org, report }) => `${org}/${report}`);

export async function checkArchive({ context, jobs }: Examination): Promise<Finding[]> {
  const location = context.config.DOCKET_ARCHIVE ?? {
    kind: 'directory',
    folder: resolve(context.workingDirectory ?? '', 'archive'),
  };
  const folder = location.kind === 'directory' ? location.folder : location.staging;
  const unsigned = await runCheck('Signing key', () =>
    withArchive(context, async ({ storage, signing }) => {
      const keys = signing === undefined ? await storage.metadata.list(KEYS_FOLDER) : [];
      if (keys.length === 0) return ok('set, or not needed');
      return fail(
        'the archive is signed, and DOCKET_SIGNING_KEY is not set here: this process can neither decide reviews and corrections nor sign runs',
        'Set DOCKET_SIGNING_KEY for each worker, each admin process and commands that decide.',
      );
    }),
  );
  const archive = await runCheck('Archive', () =>
    withArchive(context, async ({ archive: runs, storage, signing }) => {
      await signing?.ready();
      // The staging folder may be on another disk.
      await stagingProbe(runs).probe();
      const needs = [...(signing === undefined ? [] : ['DOCKET_SIGNING_KEY']), ...reportsWithEvents(jobs)];
      return evaluateArchiveProbe(await storage.probe(), needs);
    }),
  );
  const signing = unsigned.state === 'ok' ? [] : [unsigned];
  if (archive.state === 'fail') return [archive, ...signing];
  const disk = await runCheck('Disk of the archive', async () => evaluateDiskUsage(await readDiskUsage(folder)));
  return [archive, ...signing, disk];
}

async function readDiskUsage(folder: string) {
  let at = resolve(folder);
  while (at !== dirname(at) && (await stat(at).catch(() => undefined)) === undefined) at = dirname(at);
  const { bavail, blocks, bsize } = await statfs(at);
  return { free: bavail * bsize, total: blocks * bsize };
}

/** @param known the identity in Redis; `away` if Redis is unreachable */
export function evaluateIdentity(known: Identity | 'away' | undefined, marker: ArchiveMarker | undefined): CheckResult {
  const archive = marker === undefined ? `the archive has no marker, ${ARCHIVE_MARKER}` : `the archive is ${marker.id}`;
  if (known === 'away') return ok(`${archive}; Redis cannot be reached`);
  if (known === undefined) {
    return marker === undefined
      ? ok('neither Redis nor the archive has an identity; the first start creates it')
      : ok(`${archive}; Redis has no identity and takes this one at the next start`);
  }
  const since = `since ${new Date(known.since).toISOString()}`;
  if (marker?.id !== known.id) {
    return fail(
      `Redis belongs to the archive ${known.id} ${since}; ${archive}`,
      'Mount the archive if it is not mounted; otherwise correct DOCKET_ARCHIVE or REDIS_URL. docket start --adopt joins them.',
    );
  }
  return ok(`${known.id}, in Redis and in the archive${known.restored ? `; restored in Redis ${since}` : ''}`);
}

/** Checks that Redis and the archive belong to the same deployment. Changes nothing. */
export const checkDeploymentIdentity = ({ context, redis, server, prefix }: Examination): Promise<CheckResult> =>
  withArchive(context, async ({ storage }) => {
    if (context.redis) return ok('none: the Redis is private');
    const [marker, known] = await Promise.all([
      readMarker(storage),
      redis === undefined || server instanceof DocketError ? ('away' as const) : readIdentity(redis, prefix),
    ]);
    return evaluateIdentity(known, marker);
  });

export function evaluateReadings(summaries: readonly Pick<ReadingSummary, 'org' | 'missed'>[]): CheckResult {
  const gaps = summaries.flatMap(({ org, missed }) => missed.map(({ day, question }) => `${org} ${day} ${question}`));
  if (gaps.length === 0) return ok(`none missed in the last ${RECENT_DAYS} days, of ${summaries.length} organizations`);
  const named = gaps.slice(0, 3).join(', ');
  return warn(
    `${gaps.length} missed in the last ${RECENT_DAYS} days: ${named}${gaps.length > 3 ? ', …' : ''}`,
    'A missed day stays a gap. `docket readings` says why; keep a worker running at the time of the reading.',
  );
}

/** Missed readings of the organizations with `readings`. Undefined if there are none. */
export async function checkReadings({ jobs, context, now }: Examination): Promise<CheckResult | undefined> {
  const orgs = [...jobs.orgs.values()].filter(({ readings }) => readings !== undefined);
  if (orgs.length === 0) return undefined;
  return withArchive(context, async ({ storage }) => {
    const archive = readingArchive(storage);
    return evaluateReadings(await Promise.all(orgs.map((settings) => summarizeReadings(archive, settings, now))));
  });
}

const WHAT = 'Stops and legal holds';

/** The stops and holds in force, as this machine reads them from the archive. */
export async function checkSwitches({ context }: Pick<Examination, 'context'>): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  const read = await runCheck(WHAT, () =>
    withArchive(context, async ({ storage }) => {
      const { switches } = await archivedSwitches(storage).read();
      for (const each of switches) {
        const option = each.org ?? '--all';
        const detail =
          each.kind === 'stop'
            ? stopSentence(each)
            : `A legal hold covers ${switchScope(each)} since ${isoInstant(each.since)} by ${each.by}: ${each.reason}`;
        const release = `\`docket ${each.kind} ${option} --release --reason "…"\` ends it.`;
        found.push({ what: WHAT, ...warn(detail, release) });
      }
      return ok('none');
    }),
  );
  return found.length > 0 ? found : [read];
}

/** Checks that this machine can read the deny list. */
export const checkDenyList = ({ context }: Pick<Examination, 'context'>): Promise<Finding> =>
  runCheck('Deny list', () =>
    withArchive(context, async ({ storage }) => {
      const { entries } = await archivedDenials(storage).read();
      return ok(entries.length === 0 ? 'empty' : `addresses and domains: ${entries.length}`);
    }),
  );
