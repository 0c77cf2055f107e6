import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../../src/base/secrets/secret.ts';
import { createMarker, newArchiveId } from '../../../src/deliver/archive/archive-marker.ts';
import { createArchive } from '../../../src/deliver/archive/create-archive.ts';
import { exportRun } from '../../../src/deliver/archive/export.ts';
import { directoryArchive } from '../../../src/deliver/archive/inline-archive.ts';
import { artifactBytes } from '../../../src/deliver/archive/run-folder/artifact-bytes.ts';
import { readPublishedRun } from '../../../src/deliver/archive/run-folder/run-folder.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { createMarkerCheck, markerCheckedStorage } from '../../../src/deliver/archive/storage/marker-check.ts';
import { deliver } from '../../../src/deliver/deliver.ts';
import type { Ledger } from '../../../src/deliver/ledger/ledger.ts';
import { smtpMailer } from '../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import {
  definitionWith,
  deliverInput,
  folderFor,
  MAIL,
  manifestOf,
  ORDER,
  RUN,
  sealedRun,
  writeArtifact,
} from '../../support/delivery-case.ts';
import { faultyDisk } from '../../support/faulty-disk.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { memoryLedger } from '../../support/memory-ledger.ts';
import { scriptedSmtp } from '../../support/smtp-script.ts';

const NOW = Date.parse('2026-11-16T07:00:00Z');

async function world() {
  const root = await folderFor(onTestFinished);
  const disk = faultyDisk(onTestFinished);
  disk.here();
  return { root, disk, archive: directoryArchive(join(root, 'archive')) };
}

const files = (folder: string) => readdir(folder, { recursive: true }).catch(() => []);

test.each(['ENOSPC', 'EROFS', 'EIO'] as const)(
  'publishing that fails with %s can be retried, and leaves no partial run',
  async (code) => {
    const { root, disk, archive } = await world();
    const staged = await archive.stage(RUN);
    const artifacts = [await writeArtifact(staged, 'queue.csv', 'alerts\r\n3\r\n')];
    disk.breaks(code, join(root, 'archive'));
    await expect(archive.publish(staged, manifestOf(artifacts), artifacts, MAIL)).rejects.toMatchObject({
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

test('a read error of the disk does not count as a missing file', async () => {
  const { root } = await world();
  const artifact = await writeArtifact(root, 'queue.csv', 'alerts');
  // On Linux, a read from the start of this file fails with EIO.
  await expect(artifactBytes({ ...artifact, path: '/proc/self/mem' })).rejects.toMatchObject({
    code: 'archive.unreachable',
    retryable: true,
  });
  await expect(artifactBytes({ ...artifact, path: join(root, 'none') })).rejects.toMatchObject({
    code: 'archive.corrupt',
  });
});

test('an archive unmounted during a delivery is a retryable error, a missing file is not', async () => {
  const { root } = await world();
  const storage = directoryStorage(join(root, 'archive'));
  const { id } = await createMarker(storage, newArchiveId(), NOW);
  const now = () => NOW;
  const marked = markerCheckedStorage(
    storage,
    createMarkerCheck(storage, async () => id, { now, maxAgeMs: 0 }),
    now,
  );
  const archive = createArchive(marked, manualClock(NOW));
  const { published } = await sealedRun(root, undefined, archive);
  const server = await scriptedSmtp(() => ({}));
  const mailer = smtpMailer(new Secret(server.url));
  onTestFinished(async () => {
    await mailer.close();
    await server.close();
  });
  const memory = memoryLedger();
  let meanwhile: () => Promise<unknown> = async () => {};
  const ledger: Ledger = { ...memory, open: (...args) => meanwhile().then(() => memory.open(...args)) };
  const call = () =>
    deliver(
      deliverInput({
        definition: definitionWith([{ email: { to: ['lead@acme.example'], attach: ['csv'] } }]),
        published,
        mail: { mailer, from: 'reports@docket.example' },
        ledger,
        archive,
        clock: manualClock(NOW),
      }),
    );
  const [mounted, aside] = [join(root, 'archive'), join(root, 'aside')];
  // The empty mount point stays.
  meanwhile = () => rename(mounted, aside).then(() => mkdir(mounted));
  await expect(call()).rejects.toMatchObject({ code: 'archive.unreachable', retryable: true });
  await expect(readPublishedRun(published.folder, 'files', published.manifest, 'the run')).rejects.toMatchObject({
    code: 'archive.unreachable',
    where: 'the run',
  });
  await rm(mounted, { recursive: true });
  await rename(aside, mounted);
  meanwhile = async () => {};
  await expect(call()).resolves.toMatchObject({ receipts: [{ state: 'sent' }] });
  await rm(join(published.folder, 'files'), { recursive: true });
  await expect(readPublishedRun(published.folder, 'files', published.manifest, 'the run')).rejects.toMatchObject({
    code: 'archive.corrupt',
  });
});

test('metadata files fail on a full disk without a partial file', async () => {
  const { root, disk, archive } = await world();
  const { published: sealed } = await sealedRun(root, undefined, archive);
  const before = await files(join(root, 'archive'));
  disk.breaks('ENOSPC', join(root, 'archive'));
  const keeping = archive.putReceipts(sealed, []);
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
  'a directory delivery that fails with %s is retried later, and leaves no partial file',
  async (code) => {
    const { root, disk, archive } = await world();
    const { published } = await sealedRun(root, undefined, archive);
    const clock = manualClock(NOW);
    const ledger = memoryLedger();
    const out = join(root, 'out');
    const call = () =>
      deliver(
        deliverInput({
          definition: definitionWith([{ directory: { path: out } }]),
          published,
          mail: undefined,
          ledger,
          archive,
          clock,
        }),
      );
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

test('an export to a full disk leaves no folder', async () => {
  const { root, disk } = await world();
  const storage = directoryStorage(join(root, 'archive'));
  await sealedRun(root);
  const run = await storage.find(RUN);
  if (run === undefined) throw new Error('the run is not there');
  const out = join(root, 'taken', 'run');
  disk.breaks('ENOSPC', join(root, 'taken'));
  await expect(exportRun(run, out)).rejects.toMatchObject({ code: 'disk.unavailable', where: join(root, 'taken') });
  disk.mends();
  expect(await files(join(root, 'taken'))).toEqual([]);
});
