import { stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { withArchive } from '../../compose/archive.ts';
import type { Surroundings } from '../../compose/ports.ts';
import { examine, type Finding, fail, ok, sizeWords, type Verdict, warn } from './finding.ts';

const GB = 1024 ** 3;

/** Bytes. */
export interface Room {
  readonly free: number;
  readonly total: number;
}

/** A pack is a few megabytes, and an archive keeps every one of them. */
export function judgeRoom({ free, total }: Room): Verdict {
  const detail = `${sizeWords(free)} free`;
  const remedy = 'Make room, or let old runs go: DOCKET_ARCHIVE_DAYS, retention_days in org.yaml.';
  if (free < 0.1 * GB) return fail(detail, remedy);
  return free < GB || free < total * 0.03 ? warn(detail, remedy) : ok(free < 10 * GB ? detail : 'more than 10 GB free');
}

/** What the archive's own trial found: it can be written, and it keeps what stands there. */
export const judgeShelf = ({ ok: keeps, detail }: { readonly ok: boolean; readonly detail: string }): Verdict =>
  keeps ? ok(detail) : warn(detail, 'Let nothing take runs out but `docket` itself (docs/archive.md).');

export async function examineArchive(around: Surroundings): Promise<Finding[]> {
  const place = around.config.DOCKET_ARCHIVE ?? { kind: 'directory', folder: resolve('archive') };
  const folder = place.kind === 'directory' ? place.folder : place.staging;
  const tried = await examine('Archive', () =>
    withArchive(around, async ({ archive, shelf, signing }) => {
      await signing?.ready();
      // Where files are made may be another place than where they are kept.
      await archive.discard(await archive.stage('doctor'));
      return judgeShelf(await shelf.probe());
    }),
  );
  if (tried.state === 'fail') return [tried];
  const room = await examine('Disk of the archive', async () => judgeRoom(await roomOf(folder)));
  return [tried, room];
}

async function roomOf(folder: string): Promise<Room> {
  let at = resolve(folder);
  while (at !== dirname(at) && (await stat(at).catch(() => undefined)) === undefined) at = dirname(at);
  const { bavail, blocks, bsize } = await statfs(at);
  return { free: bavail * bsize, total: blocks * bsize };
}
