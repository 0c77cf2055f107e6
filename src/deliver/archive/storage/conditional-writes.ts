import { DocketError } from '../../../base/error.ts';
import type { ArchiveMetadata, ArchiveStorage } from './archive-storage.ts';

/**
 * Whether `putIfAbsent` never replaces a file, so that only one of two processes succeeds. Tests the store once. Throws
 * `archive.unwritable` if the test has no result, `archive.unreachable`.
 */
export const honoursConditions = async ({ conditionalWrites }: ArchiveMetadata): Promise<boolean> =>
  (await conditionalWrites?.()) ?? true;

/**
 * Throws `archive.unconditional` if one of two concurrent writes could be lost, and the errors of `honoursConditions`.
 *
 * @param what the feature that needs it, as the subject of a sentence
 */
export async function requireConditionalWrites(
  { metadata, location }: ArchiveStorage,
  what: 'Signing' | 'A review' | 'A correction',
): Promise<void> {
  if (await honoursConditions(metadata)) return;
  throw new DocketError(
    'archive.unconditional',
    `${what} needs an archive whose store supports conditional writes: without them, one of two simultaneous writes would be lost.`,
    {
      where: location,
      expected: `HTTP 412 for a PUT of an existing object with If-None-Match: *`,
      got: 'the store ignores the condition, or refuses it',
      next: 'Use a store that supports If-None-Match or a folder, or remove DOCKET_SIGNING_KEY, `approval`, `commentary` and `corrections`.',
    },
  );
}
