import { stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { diskFaultOf } from './disk-fault.ts';
import { DocketError } from './error.ts';

/** Bytes. */
export interface DiskSpace {
  readonly free: number;
  readonly total: number;
}

/**
 * What is free on the disk of a folder, or of the nearest one above it that is there. Undefined where the system does not
 * say, as some network shares do not.
 */
export async function diskSpace(folder: string): Promise<DiskSpace | undefined> {
  try {
    let at = resolve(folder);
    while (at !== dirname(at) && (await stat(at).catch(() => undefined)) === undefined) at = dirname(at);
    const { bavail, blocks, bsize } = await statfs(at);
    return blocks === 0 ? undefined : { free: bavail * bsize, total: blocks * bsize };
  } catch {
    return undefined;
  }
}

/** The fault of a disk for `got` of an error, with what is free: `ENOSPC, 0 bytes free`. */
export async function diskFacts(code: string, folder: string): Promise<string> {
  const space = await diskSpace(folder);
  return space === undefined ? code : `${code}, ${space.free} bytes free`;
}

/**
 * A fault of the disk that was thrown while files were made in a folder, as `disk.unavailable`; so is the loss of the folder,
 * whose disk was taken away. Anything else is returned as it is.
 */
export async function diskError(thrown: unknown, folder: string): Promise<unknown> {
  if (thrown instanceof DocketError && thrown.code !== 'disk.unavailable') return thrown;
  if (thrown instanceof DocketError && thrown.where !== undefined) return thrown;
  const fault = diskFaultOf(thrown) ?? (await lossOf(thrown, folder));
  if (fault === undefined) return thrown;
  return new DocketError('disk.unavailable', `Files cannot be written: ${fault.words}.`, {
    where: folder,
    expected: 'a folder that can be written, with room for the files',
    got: await diskFacts(fault.code, folder),
    next: 'Free space on the disk of the folder, or mount it again for writing.',
    cause: thrown,
  });
}

async function lossOf(thrown: unknown, folder: string) {
  const missing = thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT';
  if (!missing || (await stat(folder).catch(() => undefined)) !== undefined) return undefined;
  return { code: 'ENOENT', words: 'the folder is gone' };
}
