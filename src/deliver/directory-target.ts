import { createHash, randomBytes } from 'node:crypto';
import { link, readFile, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { diskFacts } from '../base/disk-error.ts';
import { diskFaultOf } from '../base/disk-fault.ts';
import { DocketError, isStorageOutage, wordsOf } from '../base/error.ts';
import type { Artifact } from '../render/artifact.ts';
import type { Ending } from './attempt.ts';
import { makeFolder, syncPath, writeSynced } from './durable-file.ts';
import { type Fence, noFence } from './fence.ts';
import { artifactBytes } from './sealed-folder.ts';
import { otherBytes, Taken } from './taken.ts';

/**
 * The folder that a filled path template names, resolved against the working directory. A part that came from data
 * could otherwise climb out of it, so `..` is refused wherever it stands. Throws `deliver.target_refused`.
 */
export function targetFolder(path: string, workingDirectory: string): string {
  const parts = path.split(/[/\\]/);
  if (path.trim() !== '' && !parts.includes('..') && !/\p{Cc}/u.test(path)) return resolve(workingDirectory, path);
  throw new DocketError('deliver.target_refused', 'The path of the directory cannot be used.', {
    expected: 'a path without ".." and control characters',
    got: JSON.stringify(path),
    next: 'Correct deliveries[].directory.path in the report definition.',
  });
}

/** What stands under a file's name: what cannot be read is somebody else's, unless the disk is to blame, which is thrown. */
async function standing(path: string, { sha256 }: Artifact): Promise<'absent' | 'same' | 'other'> {
  try {
    const digest = createHash('sha256').update(await readFile(path));
    return digest.digest('hex') === sha256 ? 'same' : 'other';
  } catch (error) {
    if (diskFaultOf(error) !== undefined) throw error;
    return codeOf(error) === 'ENOENT' ? 'absent' : 'other';
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);

/** Whether the folder already holds exactly these files. */
export async function holdsAll(folder: string, artifacts: readonly Artifact[]): Promise<boolean> {
  for (const artifact of artifacts) {
    if ((await standing(join(folder, artifact.name), artifact)) !== 'same') return false;
  }
  return true;
}

/** What of a failure makes the delivery worth another call, with what is free for people. */
async function faultOf(error: unknown, folder: string): Promise<Partial<Ending>> {
  if (error instanceof DocketError) return isStorageOutage(error) ? { diskFault: true } : {};
  const fault = diskFaultOf(error);
  if (fault === undefined) return {};
  const facts = await diskFacts(fault.code, folder);
  return { diskFault: true, detail: `The directory cannot be written: ${fault.words} (${facts})` };
}

/** File systems without hard links say one of these; there the look before has to do. */
const NO_LINKS: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** Gives a file its name unless somebody has it: a rename would replace what stands there. Throws `EEXIST`. */
async function nameNew(temporary: string, final: string): Promise<void> {
  try {
    await link(temporary, final);
  } catch (error) {
    if (!NO_LINKS.has(codeOf(error))) throw error;
    return rename(temporary, final);
  }
  await rm(temporary, { force: true });
}

/**
 * Writes all files under temporary names, synced, then gives them their names one after the other: whoever watches the
 * folder sees whole files only. A file of the same name with other bytes is replaced if `overwrite` says so; otherwise
 * the delivery is refused before any file is written. A failure before the first name is given leaves nothing behind and
 * may be retried; after it, somebody may have taken a file already.
 */
export async function writeAll(
  folder: string,
  artifacts: readonly Artifact[],
  signal: AbortSignal,
  overwrite = false,
  fence: Fence = noFence,
): Promise<Ending> {
  const written: { temporary: string; final: string }[] = [];
  let named = 0;
  try {
    await makeFolder(folder);
    const missing: { artifact: Artifact; final: string }[] = [];
    for (const artifact of artifacts) {
      const final = join(folder, artifact.name);
      const stands = await standing(final, artifact);
      if (stands === 'other' && !overwrite) throw new Taken(otherBytes(final));
      if (stands !== 'same') missing.push({ artifact, final });
    }
    for (const { artifact, final } of missing) {
      signal.throwIfAborted();
      const temporary = join(folder, `.docket-${randomBytes(8).toString('hex')}.tmp`);
      written.push({ temporary, final });
      await writeSynced(temporary, await artifactBytes(artifact));
    }
    for (const { temporary, final } of written) {
      await fence.pass();
      if (overwrite) await rename(temporary, final);
      else await nameNew(temporary, final);
      named += 1;
    }
    await syncPath(folder);
    return { state: 'sent', detail: `${artifacts.length} ${artifacts.length === 1 ? 'file' : 'files'}` };
  } catch (error) {
    for (const { temporary } of written) await rm(temporary, { force: true }).catch(() => {});
    const why = wordsOf(error);
    if (named === 0 && error instanceof Taken) return { state: 'refused', detail: why };
    if (named === 0)
      return { state: 'pending', detail: `The directory cannot be written: ${why}`, ...(await faultOf(error, folder)) };
    return { state: 'unknown', detail: `${named} of ${written.length} files were written: ${why}` };
  }
}
