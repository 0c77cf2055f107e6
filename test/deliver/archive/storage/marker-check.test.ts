import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import {
  ARCHIVE_MARKER,
  createMarker,
  newArchiveId,
  readNewestRun,
} from '../../../../src/deliver/archive/archive-marker.ts';
import { createArchive } from '../../../../src/deliver/archive/create-archive.ts';
import { directoryStorage } from '../../../../src/deliver/archive/storage/directory-storage.ts';
import { createMarkerCheck, markerCheckedStorage } from '../../../../src/deliver/archive/storage/marker-check.ts';
import { ARCHIVES, type TestArchive } from '../../../support/archives.ts';
import { manifestOf, ORDER, sealedRun } from '../../../support/delivery-case.ts';
import { manualClock } from '../../../support/manual-clock.ts';

const RUN = { id: ORDER.id, org: ORDER.org, report: ORDER.report };

/** The archive as opened by a process that expects this id. */
function marked(
  { storage }: Pick<TestArchive, 'storage'>,
  id: string,
  maxAgeMs = 0,
  now: () => number = systemClock.now,
) {
  const guarded = markerCheckedStorage(
    storage,
    createMarkerCheck(storage, async () => id, { now, maxAgeMs }),
    now,
  );
  return { storage: guarded, archive: createArchive(guarded, systemClock) };
}

describe.each(ARCHIVES)('an archive %s', (_, open) => {
  const writes: readonly (readonly [string, (of: ReturnType<typeof marked>) => Promise<unknown>])[] = [
    ['stage', ({ storage }) => storage.stage(RUN.id)],
    ['put', ({ storage }) => storage.runFiles(RUN).put('receipts.json', '[]')],
    [
      'putPair',
      ({ storage }) =>
        storage.runFiles(RUN).putPair({ name: 'messages/a', bytes: '' }, { name: 'messages/b', bytes: '' }),
    ],
    ['remove', ({ storage }) => storage.delete(RUN)],
    ['a note', ({ storage }) => storage.metadata.put('.swept', '1')],
    ['a new note', ({ storage }) => storage.metadata.putIfAbsent('.ledger/a/b/c/run.json', '{}')],
    ['removing notes', ({ storage }) => storage.metadata.deleteAll('.ledger')],
  ];
  const absences: readonly (readonly [string, (of: ReturnType<typeof marked>) => Promise<unknown>])[] = [
    ['a run', ({ archive }) => archive.find(RUN)],
    ['a run by its id', ({ storage }) => storage.find(RUN.id)],
    ['a paper', ({ storage }) => storage.runFiles(RUN).get('receipts.json')],
    ['a file', ({ storage }) => storage.runFiles(RUN).stream('files/a')],
    ['all papers', ({ storage }) => storage.runFiles(RUN).list()],
    ['all runs', ({ storage }) => storage.listRuns().next()],
    ['a note', ({ storage }) => storage.metadata.get('.swept')],
    ['all notes', ({ storage }) => storage.metadata.list('.ledger')],
  ];

  test.each(writes)('refuses writes without its marker: %s', async (_name, write) => {
    const at = await open(onTestFinished);
    await expect(write(marked(at, newArchiveId()))).rejects.toMatchObject({
      code: 'archive.marker_missing',
      where: at.storage.location,
      retryable: true,
    });
    expect(await at.tree().catch(() => [])).toEqual([]);
  });

  test.each(writes)('refuses writes with another marker: %s', async (_name, write) => {
    const at = await open(onTestFinished);
    const other = await createMarker(at.storage, newArchiveId(), 0);
    const expected = newArchiveId();
    await expect(write(marked(at, expected))).rejects.toMatchObject({
      code: 'archive.marker_changed',
      expected: expect.stringContaining(expected),
      got: expect.stringContaining(other.id),
      retryable: true,
    });
    expect(await at.tree()).toEqual([ARCHIVE_MARKER]);
  });

  test.each(absences)(
    'fails without its marker, instead of reporting that nothing is there: %s',
    async (_name, look) => {
      const at = await open(onTestFinished);
      const id = newArchiveId();
      await expect(look(marked(at, id))).rejects.toMatchObject({ code: 'archive.marker_missing' });
      await createMarker(at.storage, id, 0);
      const found = await look(marked(at, id));
      expect(found === undefined || (Array.isArray(found) && found.length === 0) || Object(found).done).toBe(true);
    },
  );

  test('works while its marker exists, and again after it is restored', async () => {
    const at = await open(onTestFinished);
    const { id } = await createMarker(at.storage, newArchiveId(), 0);
    const { archive, storage } = marked(at, id);
    const { published: sealed } = await sealedRun(at.root, undefined, archive);
    const before = await at.tree();
    const text = await at.storage.metadata.get(ARCHIVE_MARKER);
    if (at.store === undefined) await rm(join(at.storage.location, ARCHIVE_MARKER));
    else at.store.objects.delete(`kept/here/${ARCHIVE_MARKER}`);
    await expect(archive.putReceipts(sealed, [])).rejects.toMatchObject({ code: 'archive.marker_missing' });
    // Manifests of sealed runs can be read without the marker check.
    expect((await archive.peek(RUN))?.manifest.run).toBe(RUN.id);
    await at.storage.metadata.put(ARCHIVE_MARKER, 'half a mark');
    await expect(archive.putReceipts(sealed, [])).rejects.toMatchObject({ code: 'archive.marker_changed' });
    await at.storage.metadata.put(ARCHIVE_MARKER, String(text));
    await archive.putReceipts(sealed, []);
    expect(await archive.getReceipts(sealed)).toEqual([]);
    expect((await at.tree()).filter((name) => !before.includes(name))).toEqual([
      expect.stringMatching(/receipts\.json$/),
    ]);
    expect(await storage.delete(RUN)).toBe(true);
  });

  test('reads its marker at most once within maxAgeMs', async () => {
    const at = await open(onTestFinished);
    const { id } = await createMarker(at.storage, newArchiveId(), 0);
    const clock = manualClock(1_000_000);
    let reads = 0;
    // Without a file identity, as in a bucket, only the age decides.
    const { identity: _none, ...rest } = at.storage.metadata;
    const metadata = {
      ...rest,
      get: (name: string) => {
        reads += 1;
        return at.storage.metadata.get(name);
      },
    };
    const check = createMarkerCheck({ location: at.storage.location, metadata }, async () => id, {
      now: clock.now,
      maxAgeMs: 5_000,
    });
    for (let write = 0; write < 10; write += 1) await check();
    expect(reads).toBe(1);
    clock.advance(5_000);
    await check();
    expect(reads).toBe(2);
    // Set back by an hour: the cached result is no longer used.
    clock.set(clock.now() - 3_600_000);
    await check();
    expect(reads).toBe(3);
  });
});

test('a directory reads its marker once, and again if the file has changed', async () => {
  const storage = directoryStorage(await mkdtemp(join(tmpdir(), 'docket-marker-')));
  onTestFinished(() => rm(storage.location, { recursive: true, force: true }));
  const { id } = await createMarker(storage, newArchiveId(), 0);
  const get = vi.fn(storage.metadata.get);
  const archive = { location: storage.location, metadata: { ...storage.metadata, get } };
  const check = createMarkerCheck(archive, async () => id, { now: () => 0, maxAgeMs: 0 });
  for (let write = 0; write < 10; write += 1) await check();
  expect(get).toHaveBeenCalledTimes(1);
  const marker = await storage.metadata.get(ARCHIVE_MARKER);
  // The same file with the same length.
  await writeFile(join(storage.location, ARCHIVE_MARKER), `${marker}`.replace(id, newArchiveId()));
  await expect(check()).rejects.toMatchObject({ code: 'archive.marker_changed' });
  await rm(join(storage.location, ARCHIVE_MARKER));
  await expect(check()).rejects.toMatchObject({ code: 'archive.marker_missing' });
  await storage.metadata.put(ARCHIVE_MARKER, `${marker}`);
  await check();
});

test('several runs published at once need one more write to record the newest, before any counts as published', async () => {
  const storage = directoryStorage(await mkdtemp(join(tmpdir(), 'docket-newest-')));
  onTestFinished(() => rm(storage.location, { recursive: true, force: true }));
  const put = vi.fn(storage.metadata.put);
  const publish = async () => storage.location;
  const checked = markerCheckedStorage(
    { ...storage, publish, metadata: { ...storage.metadata, put } },
    async () => {},
    () => 7,
  );
  const publishRun = async (id: string) => {
    await checked.publish({ ...RUN, id }, '', manifestOf([]), []);
    return (await readNewestRun(storage.metadata))?.run;
  };
  const [first, ...others] = await Promise.all(['a', 'b', 'c', 'd'].map(publishRun));
  expect(first).toMatch(/^[ad]$/);
  expect(others).toEqual(['d', 'd', 'd']);
  expect(put).toHaveBeenCalledTimes(2);
});
