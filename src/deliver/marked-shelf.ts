import { DocketError, toDocketError } from '../base/error.ts';
import { ARCHIVE_MARKER, type ArchiveMarker, type MarkedArchive, readMarker } from './archive-marker.ts';
import { noteNewestRun } from './newest-run.ts';
import type { RunBox, Shelf } from './shelf.ts';

/**
 * A shelf that is trusted only while `check` says that it is the archive of this deployment: it is asked before anything
 * is written or removed, and before something that is not there is taken for missing. A disk that is not mounted leaves an
 * empty folder behind: what was sealed would be made and sent again, and nothing written there would be found later.
 *
 * @param check rejects when it is not
 * @param now epoch ms
 */
export function markedShelf(shelf: Shelf, check: () => Promise<void>, now: () => number): Shelf {
  const checked =
    <Args extends unknown[], Result>(write: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      await check();
      return write(...args);
    };
  const found =
    <Args extends unknown[], Result>(read: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const result = await read(...args);
      if (result === undefined || (Array.isArray(result) && result.length === 0)) await check();
      return result;
    };
  const markedBox = (box: RunBox): RunBox => ({
    place: box.place,
    read: found(box.read),
    pieces: found(box.pieces),
    put: checked(box.put),
    putTwo: checked(box.putTwo),
    names: found(box.names),
  });
  const { notes } = shelf;
  return {
    ...shelf,
    stage: checked(shelf.stage),
    box: (run) => markedBox(shelf.box(run)),
    async *runs(org, report) {
      await check();
      for await (const run of shelf.runs(org, report)) yield { ...run, box: markedBox(run.box) };
    },
    find: found(async (id: string) => {
      const run = await shelf.find(id);
      return run === undefined ? undefined : { ...run, box: markedBox(run.box) };
    }),
    publish: async (run, ...rest) => {
      await check();
      const folder = await shelf.publish(run, ...rest);
      if (folder !== undefined) await noteNewestRun(notes, run, now());
      return folder;
    },
    remove: checked(shelf.remove),
    notes: {
      read: found(notes.read),
      put: checked(notes.put),
      putNew: checked(notes.putNew),
      names: found(notes.names),
      remove: checked(notes.remove),
    },
  };
}

/**
 * Compares the archive's marker with the one that is expected: one small read, at most one in `maxAgeMs`. Throws
 * `archive.marker_missing` and `archive.marker_changed`, which are worth another try: the archive may be mounted again.
 *
 * @param expected id of this deployment's archive
 * @param now epoch ms
 */
export function markerCheck(
  archive: MarkedArchive,
  expected: () => Promise<string>,
  { now, maxAgeMs }: { readonly now: () => number; readonly maxAgeMs: number },
): () => Promise<void> {
  let goodAt: number | undefined;
  return async () => {
    const id = await expected();
    // In either direction: the clock may have been set.
    if (goodAt !== undefined && Math.abs(now() - goodAt) < maxAgeMs) return;
    assertMarker(archive.place, await readTrusted(archive, id), id);
    goodAt = now();
  };
}

/** As `readMarker`; a marker that nobody can read is another than ours, and may be restored. */
async function readTrusted(archive: MarkedArchive, id: string): Promise<ArchiveMarker | undefined> {
  try {
    return await readMarker(archive);
  } catch (thrown) {
    const error = toDocketError(thrown);
    throw error.code === 'archive.corrupt' ? changed(archive.place, id, 'a marker that cannot be read', error) : error;
  }
}

function assertMarker(place: string, marker: ArchiveMarker | undefined, id: string): void {
  if (marker === undefined) {
    throw new DocketError(
      'archive.marker_missing',
      `The archive has no marker, ${ARCHIVE_MARKER}: it may not be mounted.`,
      {
        where: place,
        expected: `the archive ${id}`,
        got: 'no marker; nothing was written',
        next: `Mount the archive, or restore ${ARCHIVE_MARKER} from a backup; runs wait until it is there.`,
      },
    );
  }
  if (marker.id !== id) throw changed(place, id, `the archive ${marker.id}; nothing was written`);
}

const changed = (place: string, id: string, got: string, cause?: unknown): DocketError =>
  new DocketError('archive.marker_changed', 'The archive is another one than this process started with.', {
    where: place,
    expected: `the archive ${id}`,
    got,
    next: 'Mount the archive of this deployment; runs wait until it is there. To move to another one on purpose, stop all processes and run docket start --adopt.',
    cause,
  });
