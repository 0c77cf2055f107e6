import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createArchive } from '../../../src/deliver/archive/create-archive.ts';
import type { ArchiveStorage } from '../../../src/deliver/archive/storage/archive-storage.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { createRunFileReader } from '../../../src/services/runs/run-file-reader.ts';
import { archiveUrl, bucketStorage } from '../../support/archives.ts';
import { manifestOf, writeArtifact } from '../../support/delivery-case.ts';
import { type S3Server, s3Server } from '../../support/s3-server.ts';

const RUN = { id: 'a'.repeat(32), org: 'acme', report: 'weekly' };
const PICTURE = { cid: 'chart@docket', name: 'mail-queue.png', bytes: Buffer.from('\x89PNG') };
let root: string;
let server: S3Server;
let storage: ArchiveStorage;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'docket-packs-'));
  server = await s3Server();
  storage = bucketStorage(archiveUrl(server, join(root, 'staging')));
});
afterEach(async () => {
  storage.close();
  await server.close();
  await rm(root, { recursive: true, force: true });
});

const seal = async (on: ArchiveStorage): Promise<void> => {
  const archive = createArchive(on, systemClock);
  const staged = await archive.stage(RUN.id);
  const artifacts = [await writeArtifact(staged, 'Übersicht.csv', 'alerts\r\n3\r\n')];
  const mail = { html: '<img src="cid:chart@docket">', text: 'Hello', pictures: [PICTURE] };
  await archive.publish(staged, { ...manifestOf(artifacts, RUN.id), ...RUN }, artifacts, mail);
};
/** Replaces the bytes of the object whose key has this ending. */
const change = (ending: string, bytes: string): void => {
  const [key = '', held] = [...server.objects].find(([name]) => name.endsWith(ending)) ?? [];
  if (held === undefined) throw new Error(`nothing ends with ${ending} in ${[...server.objects.keys()]}`);
  server.objects.set(key, { ...held, bytes: Buffer.from(bytes) });
};

it('returns the file names of a run in a bucket, whole files, and the mail with its pictures inline', async () => {
  await seal(storage);
  const packs = createRunFileReader(storage);
  expect((await packs.files(RUN))?.map(({ name }) => name)).toEqual([
    'Übersicht.csv',
    'mail.html',
    'mail.txt',
    'mail-queue.png',
  ]);
  const file = await packs.file(RUN, 'Übersicht.csv');
  expect(String(await buffer(await (file ?? expect.fail('no file')).open()))).toBe('alerts\r\n3\r\n');
  expect(await packs.preview(RUN)).toContain('src="data:image/png;base64,');
  expect(await packs.file(RUN, 'manifest.json')).toBeUndefined();
});

it('returns which template filled a workbook', async () => {
  const archive = createArchive(storage, systemClock);
  const staged = await archive.stage(RUN.id);
  const workbook = { template: 'board.xlsx', sha256: 'c'.repeat(64), tables: [], names: [] };
  const artifacts = [await writeArtifact(staged, 'Board.xlsx', 'PK')];
  const { files, ...manifest } = manifestOf(artifacts, RUN.id);
  const filled = { ...manifest, ...RUN, files: files.map((file) => ({ ...file, workbook })) };
  await archive.publish(staged, filled, artifacts, { html: '', text: '', pictures: [] });
  expect((await createRunFileReader(storage).files(RUN))?.[0]).toMatchObject({ name: 'Board.xlsx', workbook });
});

it('returns nothing for a run that the bucket does not have', async () => {
  const packs = createRunFileReader(storage);
  expect([await packs.files(RUN), await packs.file(RUN, 'mail.txt'), await packs.preview(RUN)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

it('refuses files that were changed in the bucket, and fails if the bucket does not respond', async () => {
  await seal(storage);
  const packs = createRunFileReader(storage);
  const file = (await packs.file(RUN, 'Übersicht.csv')) ?? expect.fail('no file');
  change('bersicht.csv', 'alerts\r\n9\r\n');
  await expect(file.open()).rejects.toMatchObject({ code: 'archive.corrupt' });
  change('mail.html', '<script>alert(1)</script>');
  await expect(packs.preview(RUN)).rejects.toMatchObject({ code: 'archive.corrupt' });
  server.fault = () => ({ when: 'before', how: { status: 403, code: 'AccessDenied' } });
  await expect(packs.files(RUN)).rejects.toMatchObject({ code: 'archive.unreachable' });
});

it('opens no file outside of the run, whatever its manifest says', async () => {
  const here = directoryStorage(join(root, 'archive'));
  await seal(here);
  const manifest = join(root, 'archive', RUN.org, RUN.report, RUN.id, 'manifest.json');
  const name = '../../../../../outside.txt';
  await writeFile(join(root, 'outside.txt'), 'secret');
  const artifact = { name, format: 'csv', bytes: 6, sha256: 'ab'.repeat(32) } as const;
  await writeFile(manifest, JSON.stringify({ ...manifestOf([], RUN.id), ...RUN, files: [artifact] }));
  await expect(createRunFileReader(here).file(RUN, name)).rejects.toMatchObject({ code: 'archive.corrupt' });
});
