import { SWEPT } from './retention.ts';
import { readManifest } from './run-papers.ts';
import type { Shelf } from './shelf.ts';

/** Folders that are looked into: what is no run of ours may be there in any number. */
const MAX_LOOKED_AT = 200;

/** Whether Docket has archived anything here: a run whose manifest can be read, or it was swept. */
export async function holdsRuns({ runs, notes }: Pick<Shelf, 'runs' | 'notes'>): Promise<boolean> {
  if ((await notes.read(SWEPT)) !== undefined) return true;
  let looked = 0;
  for await (const { box } of runs()) {
    if ((await readManifest(box).catch(() => undefined)) !== undefined) return true;
    looked += 1;
    if (looked === MAX_LOOKED_AT) return false;
  }
  return false;
}
