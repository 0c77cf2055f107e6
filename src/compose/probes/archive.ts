import { stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { KEYS_FOLDER } from '../../deliver/archive/chain/chain.ts';
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
