import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { ARCHIVE_MARKER, createMarker, newArchiveId } from '../../src/deliver/archive-marker.ts';
import { markedShelf, markerCheck } from '../../src/deliver/marked-shelf.ts';
import { shelfArchive } from '../../src/deliver/shelf-archive.ts';
import { ARCHIVES, type TestArchive } from '../support/archives.ts';
import { ORDER, sealedRun } from '../support/delivery-case.ts';
import { manualClock } from '../support/manual-clock.ts';

const RUN = { id: ORDER.id, org: ORDER.org, report: ORDER.report };

/** The archive as a process opens it that expects this id. */
function marked({ shelf }: Pick<TestArchive, 'shelf'>, id: string, maxAgeMs = 0, now: () => number = systemClock.now) {
  const guarded = markedShelf(
    shelf,
    markerCheck(shelf, async () => id, { now, maxAgeMs }),
    now,
  );
  return { shelf: guarded, archive: shelfArchive(guarded, systemClock) };
}

describe.each(ARCHIVES)('an archive %s', (_, open) => {
  const writes: readonly (readonly [string, (of: ReturnType<typeof marked>) => Promise<unknown>])[] = [
    ['stage', ({ shelf }) => shelf.stage(RUN.id)],
    ['put', ({ shelf }) => shelf.box(RUN).put('receipts.json', '[]')],
    [
      'putTwo',
      ({ shelf }) => shelf.box(RUN).putTwo({ name: 'messages/a', bytes: '' }, { name: 'messages/b', bytes: '' }),
    ],
    ['remove', ({ shelf }) => shelf.remove(RUN)],
    ['a note', ({ shelf }) => shelf.notes.put('.swept', '1')],
    ['a new note', ({ shelf }) => shelf.notes.putNew('.ledger/a/b/c/run.json', '{}')],
    ['removing notes', ({ shelf }) => shelf.notes.remove('.ledger')],
  ];
  const absences: readonly (readonly [string, (of: ReturnType<typeof marked>) => Promise<unknown>])[] = [
    ['a run', ({ archive }) => archive.find(RUN)],
    ['a run by its id', ({ shelf }) => shelf.find(RUN.id)],
    ['a paper', ({ shelf }) => shelf.box(RUN).read('receipts.json')],
    ['a file', ({ shelf }) => shelf.box(RUN).pieces('files/a')],
    ['all papers', ({ shelf }) => shelf.box(RUN).names()],
    ['all runs', ({ shelf }) => shelf.runs().next()],
    ['a note', ({ shelf }) => shelf.notes.read('.swept')],
    ['all notes', ({ shelf }) => shelf.notes.names('.ledger')],
  ];

  test.each(writes)('is not written to without its marker: %s', async (_name, write) => {
    const at = await open(onTestFinished);
    await expect(write(marked(at, newArchiveId()))).rejects.toMatchObject({
      code: 'archive.marker_missing',
      where: at.shelf.place,
      retryable: true,
    });
    expect(await at.tree().catch(() => [])).toEqual([]);
  });

  test.each(writes)('is not written to with the marker of another: %s', async (_name, write) => {
    const at = await open(onTestFinished);
    const other = await createMarker(at.shelf, newArchiveId(), 0);
    const expected = newArchiveId();
    await expect(write(marked(at, expected))).rejects.toMatchObject({
      code: 'archive.marker_changed',
      expected: expect.stringContaining(expected),
      got: expect.stringContaining(other.id),
      retryable: true,
    });
    expect(await at.tree()).toEqual([ARCHIVE_MARKER]);
  });

  test.each(absences)('does not say that there is nothing without its marker: %s', async (_name, look) => {
    const at = await open(onTestFinished);
    const id = newArchiveId();
    await expect(look(marked(at, id))).rejects.toMatchObject({ code: 'archive.marker_missing' });
    await createMarker(at.shelf, id, 0);
    const found = await look(marked(at, id));
    expect(found === undefined || (Array.isArray(found) && found.length === 0) || Object(found).done).toBe(true);
  });

  test('with its marker is written to and read, until the marker is gone; with it back it goes on', async () => {
    const at = await open(onTestFinished);
    const { id } = await createMarker(at.shelf, newArchiveId(), 0);
    const { archive, shelf } = marked(at, id);
    const { sealed } = await sealedRun(at.root, undefined, archive);
    const before = await at.tree();
    const text = await at.shelf.notes.read(ARCHIVE_MARKER);
    if (at.store === undefined) await rm(join(at.shelf.place, ARCHIVE_MARKER));
    else at.store.objects.delete(`kept/here/${ARCHIVE_MARKER}`);
    await expect(archive.keepReceipts(sealed, [])).rejects.toMatchObject({ code: 'archive.marker_missing' });
    // What is there is what was sealed, whoever has mounted it.
    expect((await archive.peek(RUN))?.manifest.run).toBe(RUN.id);
    await at.shelf.notes.put(ARCHIVE_MARKER, 'half a mark');
    await expect(archive.keepReceipts(sealed, [])).rejects.toMatchObject({ code: 'archive.marker_changed' });
    await at.shelf.notes.put(ARCHIVE_MARKER, String(text));
    await archive.keepReceipts(sealed, []);
    expect(await archive.receipts(sealed)).toEqual([]);
    expect((await at.tree()).filter((name) => !before.includes(name))).toEqual([
      expect.stringMatching(/receipts\.json$/),
    ]);
    expect(await shelf.remove(RUN)).toBe(true);
  });

  test('has its marker read once in a while where that is said', async () => {
    const at = await open(onTestFinished);
    const { id } = await createMarker(at.shelf, newArchiveId(), 0);
    const clock = manualClock(1_000_000);
    let reads = 0;
    const notes = {
      ...at.shelf.notes,
      read: (name: string) => {
        reads += 1;
        return at.shelf.notes.read(name);
      },
    };
    const check = markerCheck({ place: at.shelf.place, notes }, async () => id, { now: clock.now, maxAgeMs: 5_000 });
    for (let write = 0; write < 10; write += 1) await check();
    expect(reads).toBe(1);
    clock.advance(5_000);
    await check();
    expect(reads).toBe(2);
    // Set back by an hour: what was good then is no better for it.
    clock.set(clock.now() - 3_600_000);
    await check();
    expect(reads).toBe(3);
  });
});
