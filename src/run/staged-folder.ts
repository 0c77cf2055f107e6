import { toDiskError } from '../base/files/disk-error.ts';
import type { Archive } from '../deliver/archive/archive.ts';
import type { RunOrder } from './run-record.ts';

/** Works in a private folder of the run that is deleted afterwards, unless it was published. Throws `disk.unavailable`. */
export async function inStagedFolder<T>(
  { id }: Pick<RunOrder, 'id'>,
  { archive }: { readonly archive: Pick<Archive, 'stage' | 'discard'> },
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await archive.stage(id);
  try {
    return await work(folder);
  } catch (thrown) {
    throw await toDiskError(thrown, folder);
  } finally {
    await archive.discard(folder);
  }
}
