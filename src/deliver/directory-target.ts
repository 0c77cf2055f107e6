import { createHash, randomBytes } from 'node:crypto';
import { readFile, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DocketError } from '../base/error.ts';
import type { Artifact } from '../render/artifact.ts';
import type { Ending } from './attempt.ts';
import { makeFolder, syncPath, writeSynced } from './durable-file.ts';
import { artifactBytes } from './sealed-folder.ts';

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

/** Whether the folder already holds exactly these files. */
export async function holdsAll(folder: string, artifacts: readonly Artifact[]): Promise<boolean> {
  for (const artifact of artifacts) {
    const bytes = await readFile(join(folder, artifact.name)).catch(() => undefined);
    if (bytes === undefined || createHash('sha256').update(bytes).digest('hex') !== artifact.sha256) return false;
  }
  return true;
}

/**
 * Writes all files under temporary names, synced, then gives them their names one after the other: whoever watches the
 * folder sees whole files only. A file of the same name is replaced. A failure before the first name is given leaves
 * nothing behind and may be retried; after it, somebody may have taken a file already.
 */
export async function writeAll(folder: string, artifacts: readonly Artifact[], signal: AbortSignal): Promise<Ending> {
  const written: { temporary: string; final: string }[] = [];
  let named = 0;
  try {
    await makeFolder(folder);
    for (const artifact of artifacts) {
      signal.throwIfAborted();
      const temporary = join(folder, `.docket-${randomBytes(8).toString('hex')}.tmp`);
      written.push({ temporary, final: join(folder, artifact.name) });
      await writeSynced(temporary, await artifactBytes(artifact));
    }
    for (const { temporary, final } of written) {
      await rename(temporary, final);
      named += 1;
    }
    await syncPath(folder);
    return { state: 'sent', detail: `${artifacts.length} ${artifacts.length === 1 ? 'file' : 'files'}` };
  } catch (error) {
    for (const { temporary } of written) await rm(temporary, { force: true }).catch(() => {});
    const why = error instanceof Error ? error.message : String(error);
    if (named === 0) return { state: 'pending', detail: `The directory cannot be written: ${why}` };
    return { state: 'unknown', detail: `${named} of ${written.length} files were written: ${why}` };
  }
}
