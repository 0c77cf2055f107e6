import { DocketError } from '../../base/error.ts';
import type { ArchiveStorage } from './storage/archive-storage.ts';

/** Whether a legal hold covers the organization. Throws where that cannot be read: then nothing is deleted. */
export type IsHeld = (org: string) => Promise<boolean>;

/** Epoch ms from which on files of an organization are kept; undefined: no limit, or a legal hold. */
export type RetainedSince = (org: string) => number | undefined | Promise<number | undefined>;

/**
 * A storage that asks right before each deletion whether a legal hold covers it: one that is set while retention runs
 * stops it at the next file. Throws `archive.locked`.
 */
export function heldStorage(storage: ArchiveStorage, isHeld: IsHeld): ArchiveStorage {
  const assertFree = async (org: string): Promise<void> => {
    if (await isHeld(org))
      throw new DocketError('archive.locked', `A legal hold covers ${org}: nothing is deleted.`, {
        next: '`docket hold` lists the holds.',
      });
  };
  return {
    ...storage,
    delete: async (run, onFirstDelete) => {
      await assertFree(run.org);
      return storage.delete(run, onFirstDelete);
    },
    metadata: {
      ...storage.metadata,
      // `.reviews/<org>/…`: all folders that retention deletes name the organization second.
      deleteAll: async (folder) => {
        await assertFree(folder.split('/')[1] ?? '');
        return storage.metadata.deleteAll(folder);
      },
    },
  };
}
