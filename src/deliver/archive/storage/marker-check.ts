import { coalesceCalls } from '../../../base/concurrency.ts';
import { DocketError, toDocketError } from '../../../base/error.ts';
import { ARCHIVE_MARKER, type ArchiveMarker, type MarkedArchive, putNewestRun, readMarker } from '../archive-marker.ts';
import type { ArchiveStorage, RunFiles, RunRef } from './archive-storage.ts';

/**
 * A storage that calls `check` before every write and deletion, and before it reports something as absent. An unmounted
 * disk leaves an empty folder: without the check, published runs would be made and sent again, and new files would be
 * lost.
 *
 * @param check rejects unless the storage is this deployment's archive
 * @param now epoch ms
 */
export function markerCheckedStorage(
  storage: ArchiveStorage,
  check: () => Promise<void>,
  now: () => number,
): ArchiveStorage {
  const checkBefore =
    <Args extends unknown[], Result>(write: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      await check();
      return write(...args);
    };
  const checkIfAbsent =
    <Args extends unknown[], Result>(read: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const result = await read(...args);
      if (result === undefined || (Array.isArray(result) && result.length === 0)) await check();
      return result;
    };
  const checkedFiles = (files: RunFiles): RunFiles => ({
    location: files.location,
    get: checkIfAbsent(files.get),
    stream: checkIfAbsent(files.stream),
    put: checkBefore(files.put),
    putPair: checkBefore(files.putPair),
    list: checkIfAbsent(files.list),
  });
  const { metadata } = storage;
  let newest: { readonly run: RunRef; readonly at: number } | undefined;
  // If several runs are published meanwhile, one write names the last of them.
  const writeNewest = coalesceCalls(async () => {
    if (newest !== undefined) await putNewestRun(metadata, newest.run, newest.at);
  });
  return {
    ...storage,
    stage: checkBefore(storage.stage),
    runFiles: (run) => checkedFiles(storage.runFiles(run)),
    async *listRuns(org, report) {
      await check();
      for await (const run of storage.listRuns(org, report)) yield { ...run, files: checkedFiles(run.files) };
    },
    find: checkIfAbsent(async (id: string) => {
      const run = await storage.find(id);
      return run === undefined ? undefined : { ...run, files: checkedFiles(run.files) };
    }),
    publish: async (run, ...rest) => {
      await check();
      const folder = await storage.publish(run, ...rest);
      if (folder === undefined) return undefined;
      newest = { run, at: now() };
      await writeNewest();
      return folder;
    },
    delete: checkBefore(storage.delete),
    metadata: {
      get: checkIfAbsent(metadata.get),
      put: checkBefore(metadata.put),
      putIfAbsent: checkBefore(metadata.putIfAbsent),
      list: checkIfAbsent(metadata.list),
      deleteAll: checkBefore(metadata.deleteAll),
      ...(metadata.conditionalWrites === undefined ? {} : { conditionalWrites: metadata.conditionalWrites }),
    },
  };
}

/**
 * Makes a check that compares the archive's marker with the expected id. It reads the marker at most once in
 * `maxAgeMs`, and, if the storage can identify files, only when the file has changed. Throws `archive.marker_missing`
 * and `archive.marker_changed`, both retryable: the archive may be mounted again.
 *
 * @param expected id of this deployment's archive
 * @param now epoch ms
 */
export function createMarkerCheck(
  archive: MarkedArchive,
  expected: () => Promise<string>,
  { now, maxAgeMs }: { readonly now: () => number; readonly maxAgeMs: number },
): () => Promise<void> {
  let verified: { readonly at: number; readonly id: string; readonly file: string | undefined } | undefined;
  return async () => {
    const id = await expected();
    // The absolute difference, because the clock may have been set back.
    if (verified !== undefined && Math.abs(now() - verified.at) < maxAgeMs) return;
    // Identified before it is read: if the file is replaced in between, the next check reads it again.
    const file = await archive.metadata.identity?.(ARCHIVE_MARKER);
    if (file !== undefined && verified?.file === file && verified.id === id) return;
    assertMarker(archive.location, await readMarkerForCheck(archive, id), id);
    verified = { at: now(), id, file };
  };
}

/**
 * Reads the marker for a check. An unreadable marker counts as a different one: `archive.marker_changed` is retryable.
 */
async function readMarkerForCheck(archive: MarkedArchive, id: string): Promise<ArchiveMarker | undefined> {
  try {
    return await readMarker(archive);
  } catch (thrown) {
    const error = toDocketError(thrown);
    throw error.code === 'archive.corrupt' ? markerChanged(archive.location, id, 'an unreadable marker', error) : error;
  }
}

function assertMarker(location: string, marker: ArchiveMarker | undefined, id: string): void {
  if (marker === undefined) {
    throw new DocketError(
      'archive.marker_missing',
      `The archive has no marker, ${ARCHIVE_MARKER}: it may not be mounted.`,
      {
        where: location,
        expected: `the archive ${id}`,
        got: 'no marker; nothing was written',
        next: `Mount the archive, or restore ${ARCHIVE_MARKER} from a backup. Runs wait until then.`,
      },
    );
  }
  if (marker.id !== id) throw markerChanged(location, id, `the archive ${marker.id}; nothing was written`);
}

const markerChanged = (location: string, id: string, got: string, cause?: unknown): DocketError =>
  new DocketError('archive.marker_changed', 'The archive is not the one that this process started with.', {
    where: location,
    expected: `the archive ${id}`,
    got,
    next: 'Mount the archive of this deployment. Runs wait until then. To move to another one on purpose, stop all processes and run docket start --adopt.',
    cause,
  });
