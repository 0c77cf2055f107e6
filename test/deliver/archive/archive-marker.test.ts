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
    const { shelf, another, tree } = await open(onTestFinished);
    expect(await readMarker(shelf)).toBeUndefined();
    const { shelf: second } = await another();
    const [one, other] = await Promise.all([
      createMarker(shelf, newArchiveId(), NOW),
      createMarker(second, newArchiveId(), NOW),
    ]);
    expect(one).toEqual(other);
    expect(one).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      createdAt: '2026-11-22T10:00:00.000Z',
      deployed: false,
    });
    expect(await createMarker(shelf, newArchiveId(), NOW + 1)).toEqual(one);
    expect(await readMarker(second)).toEqual(one);
    expect(await tree()).toEqual([ARCHIVE_MARKER]);
  });

  test('contains version, id and instant only', async () => {
    const { shelf } = await open(onTestFinished);
    const marker = await createMarker(shelf, newArchiveId(), NOW);
    const { id } = marker;
    const standing = async () => JSON.parse((await shelf.metadata.get(ARCHIVE_MARKER))?.toString('utf8') ?? '');
    const plain = { docket_archive: 1, id, created_at: '2026-11-22T10:00:00.000Z' };
    expect(await standing()).toEqual({ ...plain, deployed: false });
    await markDeployed(shelf, marker);
    expect(await standing()).toEqual(plain);
    expect(await readMarker(shelf)).toEqual({ ...marker, deployed: true });
  });

  test.each([
    '',
    '{}',
    '{"docket_archive":2,"id":"x"}',
    '{"docket_archive":1,"id":"../x","created_at":"2026-01-01T00:00:00Z"}',
  ])('is an error and is not replaced when invalid (%j)', async (text) => {
    const { shelf } = await open(onTestFinished);
    await shelf.metadata.put(ARCHIVE_MARKER, text);
    await expect(readMarker(shelf)).rejects.toMatchObject({ code: 'archive.corrupt', where: shelf.location });
    await expect(createMarker(shelf, newArchiveId(), NOW)).rejects.toMatchObject({ code: 'archive.corrupt' });
    expect((await shelf.metadata.get(ARCHIVE_MARKER))?.toString('utf8')).toBe(text);
  });

  test('is not listed as a run', async () => {
    const { shelf } = await open(onTestFinished);
    await createMarker(shelf, newArchiveId(), NOW);
    const runs = [];
    for await (const run of shelf.listRuns()) runs.push(run);
    expect(runs).toEqual([]);
  });
});
