import { stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { withArchive } from '../../compose/archive.ts';
import type { AppContext } from '../../compose/run-ports.ts';
import { type CheckResult, type Finding, fail, formatByteSize, ok, runCheck, warn } from './finding.ts';

const GB = 1024 ** 3;

/** Bytes. */
export interface DiskUsage {
  readonly free: number;
  readonly total: number;
}

/** A pack is a few megabytes, and an archive keeps every one of them. */
export function evaluateDiskUsage({ free, total }: DiskUsage): CheckResult {
  const detail = `${formatByteSize(free)} free`;
  const remedy = 'Make room, or let old runs go: DOCKET_ARCHIVE_DAYS, retention_days in org.yaml.';
  if (free < 0.1 * GB) return fail(detail, remedy);
  return free < GB || free < total * 0.03 ? warn(detail, remedy) : ok(free < 10 * GB ? detail : 'more than 10 GB free');
}

/** What the archive's own trial found: it can be written, and it keeps what stands there. */
export const evaluateArchiveProbe = ({
  ok: keeps,
  detail,
}: {
  readonly ok: boolean;
  readonly detail: string;
}): CheckResult =>
  keeps ? ok(detail) : warn(detail, 'Let nothing take runs out but `docket` itself (docs/archive.md).');

export async function checkArchive(context: AppContext): Promise<Finding[]> {
  const place = context.config.DOCKET_ARCHIVE ?? { kind: 'directory', folder: resolve('archive') };
  const folder = place.kind === 'directory' ? place.folder : place.staging;
  const tried = await runCheck('Archive', () =>
    withArchive(context, async ({ archive, storage, signing }) => {
      await signing?.ready();
      // Where files are made may be another place than where they are kept.
      await archive.discard(await archive.stage('doctor'));
      return evaluateArchiveProbe(await storage.probe());
    }),
  );
  if (tried.state === 'fail') return [tried];
  const room = await runCheck('Disk of the archive', async () => evaluateDiskUsage(await readDiskUsage(folder)));
  return [tried, room];
}

async function readDiskUsage(folder: string): Promise<DiskUsage> {
  let at = resolve(folder);
  while (at !== dirname(at) && (await stat(at).catch(() => undefined)) === undefined) at = dirname(at);
  const { bavail, blocks, bsize } = await statfs(at);
  return { free: bavail * bsize, total: blocks * bsize };
}
