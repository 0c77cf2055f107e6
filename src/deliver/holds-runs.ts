import { LAST_SWEEP_FILE } from './retention.ts';
import { readManifest } from './run-papers.ts';
import type { ArchiveStorage } from './shelf.ts';

/** Folders that are looked into: what is no run of ours may be there in any number. */
const MAX_INSPECTED_RUNS = 200;

/** Whether Docket has archived anything here: a run whose manifest can be read, or it was swept. */
export async function hasArchivedRuns({
  listRuns,
  metadata,
}: Pick<ArchiveStorage, 'listRuns' | 'metadata'>): Promise<boolean> {
  if ((await metadata.get(LAST_SWEEP_FILE)) !== undefined) return true;
  let looked = 0;
  for await (const { files } of listRuns()) {
    if ((await readManifest(files).catch(() => undefined)) !== undefined) return true;
    looked += 1;
    if (looked === MAX_INSPECTED_RUNS) return false;
  }
  return false;
}
