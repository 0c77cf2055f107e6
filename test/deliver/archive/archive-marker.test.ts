import { describe, expect, onTestFinished, test } from 'vitest';
import {
  ARCHIVE_MARKER,
  createMarker,
  markDeployed,
  newArchiveId,
  readMarker,
} from '../../../src/deliver/archive/archive-marker.ts';
import { ARCHIVES } from '../../support/archives.ts';

const NOW = Date.parse('2026-11-22T10:00:00Z');

describe.each(ARCHIVES)('the marker of an archive %s', (_, open) => {
  test('is created once by concurrent writers', async () => {
    const { storage, another, tree } = await open(onTestFinished);
    expect(await readMarker(storage)).toBeUndefined();
    const { storage: second } = await another();
    const [one, other] = await Promise.all([
      createMarker(storage, newArchiveId(), NOW),
      createMarker(second, newArchiveId(), NOW),
    ]);
    expect(one).toEqual(other);
    expect(one).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      createdAt: '2026-11-22T10:00:00.000Z',
      deployed: false,
    });
    expect(await createMarker(storage, newArchiveId(), NOW + 1)).toEqual(one);
    expect(await readMarker(second)).toEqual(one);
    expect(await tree()).toEqual([ARCHIVE_MARKER]);
  });

  test('contains only version, id and time', async () => {
    const { storage } = await open(onTestFinished);
    const marker = await createMarker(storage, newArchiveId(), NOW);
    const { id } = marker;
    const standing = async () => JSON.parse((await storage.metadata.get(ARCHIVE_MARKER))?.toString('utf8') ?? '');
    const plain = { docket_archive: 1, id, created_at: '2026-11-22T10:00:00.000Z' };
    expect(await standing()).toEqual({ ...plain, deployed: false });
    await markDeployed(storage, marker);
    expect(await standing()).toEqual(plain);
    expect(await readMarker(storage)).toEqual({ ...marker, deployed: true });
  });

  test.each([
    '',
    '{}',
    '{"docket_archive":2,"id":"x"}',
    '{"docket_archive":1,"id":"../x","created_at":"2026-01-01T00:00:00Z"}',
  ])('is an error and is not replaced if invalid (%j)', async (text) => {
    const { storage } = await open(onTestFinished);
    await storage.metadata.put(ARCHIVE_MARKER, text);
    await expect(readMarker(storage)).rejects.toMatchObject({ code: 'archive.corrupt', where: storage.location });
    await expect(createMarker(storage, newArchiveId(), NOW)).rejects.toMatchObject({ code: 'archive.corrupt' });
    expect((await storage.metadata.get(ARCHIVE_MARKER))?.toString('utf8')).toBe(text);
  });

  test('is not listed as a run', async () => {
    const { storage } = await open(onTestFinished);
    await createMarker(storage, newArchiveId(), NOW);
    const runs = [];
    for await (const run of storage.listRuns()) runs.push(run);
    expect(runs).toEqual([]);
  });
});
