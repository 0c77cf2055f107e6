import type { EventSigning } from '../events/event-signing.ts';
import type { RetainedSince } from '../held-storage.ts';
import type { ArchiveStorage } from '../storage/archive-storage.ts';
import { CORRECTIONS_FOLDER, correctionArchive, correctionFolder } from './correction-archive.ts';

/**
 * Deletes the figures and corrections of runs that have left the archive, in organizations with a retention. Safe to
 * interrupt and to run twice at once.
 *
 * @param retainedSince epoch ms; undefined: no limit
 * @param isOpen whether a run has not ended: its figures are stored before it is published
 * @param signing records each deletion first
 * @returns the number of runs
 */
export async function deleteExpiredCorrections(
  storage: ArchiveStorage,
  retainedSince: RetainedSince,
  isOpen: (run: string) => Promise<boolean>,
  onFailure: (folder: string, error: unknown) => void,
  signing?: Pick<EventSigning, 'recordDeletion'>,
): Promise<number> {
  const corrections = correctionArchive(storage);
  let deleted = 0;
  for (const { run } of await corrections.list()) {
    if ((await retainedSince(run.org)) === undefined) continue;
    try {
      // Before the manifest is read: a run that is published in between was open.
      if ((await isOpen(run.id)) || (await storage.runFiles(run).get('manifest.json')) !== undefined) continue;
      await signing?.recordDeletion(run.org, correctionFolder(run));
      await corrections.delete(run);
      deleted += 1;
    } catch (error) {
      onFailure(`${CORRECTIONS_FOLDER}/${run.org}/${run.report}/${run.id}`, error);
    }
  }
  return deleted;
}
