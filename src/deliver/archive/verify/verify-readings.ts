import { toDocketError } from '../../../base/error.ts';
import { problemOf } from '../archive-errors.ts';
import { parseReading, parseReadingName, READINGS_FOLDER } from '../readings/reading-archive.ts';
import type { ArchiveStorage } from '../storage/archive-storage.ts';
import { type ArchiveFinding, errorFinding } from './verify-run.ts';

/**
 * Readings that were changed, moved or added. They are in no signed chain: their hashes show accidents only.
 * @param org only this organization
 */
export async function verifyReadings(
  { metadata, location }: ArchiveStorage,
  org: string | undefined,
): Promise<readonly ArchiveFinding[]> {
  const findings: ArchiveFinding[] = [];
  for (const name of await metadata.list(READINGS_FOLDER)) {
    if (org !== undefined && !name.startsWith(`${org}/`)) continue;
    const path = `${READINGS_FOLDER}/${name}`;
    const ref = parseReadingName(name);
    if (ref === undefined) {
      findings.push(errorFinding('reading.added', path, 'is no reading'));
      continue;
    }
    if (ref.call !== undefined) continue;
    const bytes = await metadata.get(path);
    // Expired since the listing.
    if (bytes === undefined) continue;
    try {
      parseReading(location, ref, bytes);
    } catch (thrown) {
      const error = toDocketError(thrown);
      if (error.code !== 'archive.corrupt') throw error;
      findings.push(errorFinding('reading.changed', path, `is damaged: ${problemOf(error.message)}`));
    }
  }
  return findings;
}
