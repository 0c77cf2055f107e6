import { DocketError } from '../../base/error.ts';
import type { ArchiveStorage } from './storage/archive-storage.ts';

/** Whether a legal hold covers the organization. Throws if the holds cannot be read: nothing is deleted then. */
export type IsHeld = (org: string) => Promise<boolean>;

/**
 * Epoch ms from which files of an organization are kept; undefined if nothing expires: no limit is set, or a legal hold
 * covers it.
 */
export type RetainedSince = (org: string) => number | undefined | Promise<number | undefined>;

/**
 * A storage that checks for a legal hold right before each deletion: a hold that is set during retention stops it at
 * the next file. Throws `archive.locked`.
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
      // `.reviews/<org>/…`: in every folder that retention deletes, the organization is the second part.
      deleteAll: async (folder) => {
        await assertFree(folder.split('/')[1] ?? '');
        return storage.metadata.deleteAll(folder);
      },
    },
  };
}
