import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { deliver } from '../../src/deliver/deliver.ts';
import { directoryArchive } from '../../src/deliver/directory-archive.ts';
import { directoryShelf } from '../../src/deliver/directory-shelf.ts';
import { memoryLedger } from '../../src/deliver/memory-ledger.ts';
import { artifactBytes } from '../../src/deliver/sealed-folder.ts';
import { takeOut } from '../../src/deliver/take-out.ts';
import {
  definitionWith,
  folderFor,
  MAIL,
  manifestOf,
  NO_SECRETS,
  ORDER,
  RUN,
  SETTINGS,
  sealedRun,
  writeArtifact,
} from '../support/delivery-case.ts';
import { aDisk } from '../support/disk.ts';
import { manualClock } from '../support/manual-clock.ts';

const NOW = Date.parse('2026-11-16T07:00:00Z');

async function world() {
  const root = await folderFor(onTestFinished);
  const disk = aDisk(onTestFinished);
  disk.here();
  return { root, disk, archive: directoryArchive(join(root, 'archive')) };
}

const files = (folder: string) => readdir(folder, { recursive: true }).catch(() => []);

test.each(['ENOSPC', 'EROFS', 'EIO'] as const)(
  'a seal for which the disk says %s is tried again, and nothing is half there',
  async (code) => {
    const { root, disk, archive } = await world();
    const staged = await archive.stage(RUN);
    const artifacts = [await writeArtifact(staged, 'queue.csv', 'alerts\r\n3\r\n')];
    disk.breaks(code, join(root, 'archive'));
    await expect(archive.seal(staged, manifestOf(artifacts), artifacts, MAIL)).rejects.toMatchObject({
      code: 'archive.unwritable',
      retryable: true,
      got: expect.stringMatching(new RegExp(`^${code}, \\d+ bytes free$`)),
    });
    disk.mends();
    expect(await archive.find(ORDER)).toBeUndefined();
    await sealedRun(root, undefined, archive);
    expect(await archive.find(ORDER)).toBeDefined();
  },
);

test('a file that the disk cannot read is not taken for one that is missing', async () => {
  const { root } = await world();
  const artifact = await writeArtifact(root, 'queue.csv', 'alerts');
  // Linux answers EIO to whoever reads at its start.
  await expect(artifactBytes({ ...artifact, path: '/proc/self/mem' })).rejects.toMatchObject({
    code: 'archive.unreachable',
    retryable: true,
  });
  await expect(artifactBytes({ ...artifact, path: join(root, 'none') })).rejects.toMatchObject({
    code: 'archive.corrupt',
  });
});

test('papers for which there is no room say so, and leave nothing half-written', async () => {
  const { root, disk, archive } = await world();
  const { sealed } = await sealedRun(root, undefined, archive);
  const before = await files(join(root, 'archive'));
  disk.breaks('ENOSPC', join(root, 'archive'));
  const keeping = archive.keepReceipts(sealed, []);
  await expect(keeping).rejects.toMatchObject({
    code: 'archive.unwritable',
    retryable: true,
    where: expect.stringContaining(root),
    got: expect.stringMatching(/^ENOSPC, \d+ bytes free$/),
  });
  disk.mends();
  expect(await files(join(root, 'archive'))).toEqual(before);
});

test.each(['ENOSPC', 'EROFS', 'EDQUOT'] as const)(
  'a directory whose disk says %s is tried again later, and no file of it is half there',
  async (code) => {
    const { root, disk, archive } = await world();
    const { sealed } = await sealedRun(root, undefined, archive);
    const clock = manualClock(NOW);
    const ledger = memoryLedger();
    const out = join(root, 'out');
    const call = () =>
      deliver({
        order: ORDER,
        definition: definitionWith([{ directory: { path: out } }]),
        settings: SETTINGS,
        sealed,
        mail: undefined,
        ledger,
        archive,
        clock,
        signal: new AbortController().signal,
        observe: () => {},
        secrets: NO_SECRETS,
      });
    disk.breaks(code, out);
    const waits: number[] = [];
    for (let tries = 0; tries < 3; tries += 1) {
      const { receipts, outage } = await call();
      expect(receipts).toMatchObject([{ state: 'pending', detail: expect.stringContaining(code) }]);
      waits.push((outage?.until ?? NaN) - NOW);
    }
    expect(waits).toEqual([15_000, 30_000, 60_000]);
    disk.mends();
    expect(await files(out)).toEqual([]);
    expect((await call()).receipts).toMatchObject([{ state: 'sent' }]);
    expect((await files(out)).length).toBe(2);
  },
);

test('a run that is taken out for which there is no room leaves no folder behind', async () => {
  const { root, disk } = await world();
  const shelf = directoryShelf(join(root, 'archive'));
  await sealedRun(root);
  const run = await shelf.find(RUN);
  if (run === undefined) throw new Error('the run is not there');
  const out = join(root, 'taken', 'run');
  disk.breaks('ENOSPC', join(root, 'taken'));
  await expect(takeOut(run, out)).rejects.toMatchObject({ code: 'disk.unavailable', where: join(root, 'taken') });
  disk.mends();
  expect(await files(join(root, 'taken'))).toEqual([]);
});
