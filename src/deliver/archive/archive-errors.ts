import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { findDiskFailure, isErrno } from '../../base/errno.ts';
import { DocketError } from '../../base/error.ts';
import { describeDiskFailure } from '../../base/files/disk-error.ts';

/** Makes an `archive.corrupt` error. @param problem e.g. `mail.html has changed` */
export const archiveCorrupt = (
  location: string,
  problem: string,
  detail: { expected?: string; got?: string; cause?: unknown } = {},
) =>
  new DocketError('archive.corrupt', `The archived run in ${location} differs from what was published: ${problem}.`, {
    ...detail,
    where: location,
    next: 'Nothing of this run is sent. Restore it from a backup, or remove it and run the report again.',
  });

/**
 * Handles a file that cannot be read. Throws `archive.unreachable` for a disk failure, or when all of `folder` is gone
 * because the archive was unmounted; otherwise `archive.corrupt`.
 * @param location the folder's name in the error
 */
export const throwMissingFile =
  (folder: string, name: string, location = folder) =>
  async (cause: unknown): Promise<never> => {
    const failure = findDiskFailure(cause);
    const isFolderGone = failure === undefined && isAbsent(cause) && (await stat(folder).then(() => false, isAbsent));
    if (failure === undefined && !isFolderGone) throw archiveCorrupt(location, `${name} is missing`, { cause });
    const why = failure?.description ?? 'the folder of the run does not exist';
    throw new DocketError('archive.unreachable', `${name} of an archived run cannot be read: ${why}.`, {
      where: location,
      got: failure?.code ?? 'ENOENT',
      next: failure?.remedy ?? 'Check that the archive is mounted.',
      cause,
    });
  };

/** Whether the file or folder does not exist. */
export const isAbsent = (error: unknown): boolean => isErrno(error, 'ENOENT', 'ENOTDIR');

/** Turns file system errors into `archive.unwritable`. Other errors pass unchanged. */
export async function withWriteErrors<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof DocketError || !(cause instanceof Error && 'code' in cause)) throw cause;
    const failure = findDiskFailure(cause);
    throw new DocketError(
      'archive.unwritable',
      `The archive cannot be written: ${failure?.description ?? cause.message}.`,
      {
        where: dirname(folder),
        ...(failure === undefined ? {} : { got: await describeDiskFailure(failure.code, dirname(folder)) }),
        next: failure?.remedy ?? 'Check the folder and its permissions.',
        cause,
      },
    );
  }
}

const CORRUPT_PREFIX = /^The archived run in .* differs from what was published: /;

/** The problem without the sentence that `archiveCorrupt` puts around it. */
export const extractProblem = (message: string): string => message.replace(CORRUPT_PREFIX, '').replace(/\.$/, '');
