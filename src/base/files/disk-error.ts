import { stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { findDiskFailure, isErrno } from '../errno.ts';
import { DocketError } from '../error.ts';

/**
 * Free and total bytes of the disk with a folder, or with its nearest existing ancestor. Undefined if the system does
 * not report them, as on some network shares.
 */
export async function diskSpace(folder: string): Promise<{ free: number; total: number } | undefined> {
  try {
    let at = resolve(folder);
    while (at !== dirname(at) && (await stat(at).catch(() => undefined)) === undefined) at = dirname(at);
    const { bavail, blocks, bsize } = await statfs(at);
    return blocks === 0 ? undefined : { free: bavail * bsize, total: blocks * bsize };
  } catch {
    return undefined;
  }
}

/** Text for an error's `got`: `ENOSPC, 0 bytes free`. */
export async function describeDiskFailure(code: string, folder: string): Promise<string> {
  const space = await diskSpace(folder);
  return space === undefined ? code : `${code}, ${space.free} bytes free`;
}

/**
 * Converts a disk failure while writing to a folder into `disk.unavailable`. A missing folder, whose disk was
 * unmounted, counts as one. Returns anything else unchanged.
 */
export async function toDiskError(thrown: unknown, folder: string): Promise<unknown> {
  if (thrown instanceof DocketError && thrown.code !== 'disk.unavailable') return thrown;
  if (thrown instanceof DocketError && thrown.where !== undefined) return thrown;
  const failure = findDiskFailure(thrown) ?? (await findMissingFolder(thrown, folder));
  if (failure === undefined) return thrown;
  return new DocketError('disk.unavailable', `Files cannot be written: ${failure.description}.`, {
    where: folder,
    expected: 'a writable folder with enough free space',
    got: await describeDiskFailure(failure.code, folder),
    next: failure.remedy,
    cause: thrown,
  });
}

async function findMissingFolder(thrown: unknown, folder: string) {
  if (!isErrno(thrown, 'ENOENT') || (await stat(folder).catch(() => undefined)) !== undefined) return undefined;
  return {
    code: 'ENOENT',
    description: 'the folder does not exist',
    remedy: 'Mount the disk of the folder, or create the folder.',
  };
}
