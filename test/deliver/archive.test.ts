import { appendFile, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { directoryArchive, inlineArchive } from '../../src/deliver/directory-archive.ts';
import { folderFor, MAIL, manifestOf, ORDER, RUN, sealedRun, writeArtifact } from '../support/delivery-case.ts';

const folder = () => folderFor(onTestFinished);
const tree = async (root: string) => (await readdir(root, { recursive: true })).sort();

test('a sealed run has its files, its e-mail and its manifest under organization, report and run, and nothing else', async () => {
  const root = await folder();
  const archive = directoryArchive(root);
  const staged = await archive.stage(RUN);
  const artifact = await writeArtifact(staged, 'KPIs – Zürich.xlsx', 'workbook');
  await writeFile(join(staged, 'half-written.tmp'), 'what a renderer left behind');

  const sealed = await archive.seal(staged, manifestOf([artifact]), [artifact], MAIL);

  expect(sealed.folder).toBe(join(root, 'acme', 'weekly-kpi', RUN));
  expect(await tree(sealed.folder)).toEqual([
    'files',
    'files/KPIs – Zürich.xlsx',
    'mail.html',
    'mail.txt',
    'manifest.json',
  ]);
  expect(sealed.mail).toEqual(MAIL);
  expect(sealed.artifacts).toMatchObject([{ name: artifact.name, bytes: 8, sha256: artifact.sha256, format: 'xlsx' }]);
  expect(await readFile(sealed.artifacts[0]!.path, 'utf8')).toBe('workbook');
  expect(await archive.find(ORDER)).toEqual(sealed);
  expect(await readdir(join(root, '.staging'))).toEqual([]);
});

const ILLUSTRATED = {
  ...MAIL,
  pictures: [{ cid: 'onboarding.0123@docket', name: 'mail-onboarding.png', bytes: Buffer.from('a picture') }],
};

test('the pictures of the e-mail are kept beside it, and found with it', async () => {
  const archive = directoryArchive(await folder());
  const sealed = await archive.seal(await archive.stage(RUN), manifestOf([]), [], ILLUSTRATED);
  expect(await readFile(join(sealed.folder, 'mail-onboarding.png'), 'utf8')).toBe('a picture');
  expect((await archive.find(ORDER))?.mail).toEqual(ILLUSTRATED);
  await appendFile(join(sealed.folder, 'mail-onboarding.png'), '!');
  await expect(archive.find(ORDER)).rejects.toMatchObject({
    code: 'archive.corrupt',
    message: expect.stringContaining('mail-onboarding.png has changed'),
  });
});

test.each(['../mail-a.png', 'mail-a.html', 'mail-../a.png', 'mail.png'])(
  'a picture named %s is refused, and nothing is sealed',
  async (name) => {
    const archive = directoryArchive(await folder());
    const mail = { ...MAIL, pictures: [{ ...ILLUSTRATED.pictures[0]!, name }] };
    const staged = await archive.stage(RUN);
    await expect(archive.seal(staged, manifestOf([]), [], mail)).rejects.toMatchObject({ code: 'archive.unwritable' });
    expect(await archive.find(ORDER)).toBeUndefined();
  },
);

test('files that were made elsewhere end up in the sealed folder', async () => {
  const [root, elsewhere] = [await folder(), await folder()];
  const archive = directoryArchive(root);
  const artifact = await writeArtifact(elsewhere, 'queue.csv', 'a');
  const sealed = await archive.seal(await archive.stage(RUN), manifestOf([artifact]), [artifact], MAIL);
  expect(await readFile(join(sealed.folder, 'files', 'queue.csv'), 'utf8')).toBe('a');
});

test('a run that is not sealed is not found, however much of it is staged', async () => {
  const root = await folder();
  const archive = directoryArchive(root);
  expect(await archive.find(ORDER)).toBeUndefined();
  const staged = await archive.stage(RUN);
  await writeArtifact(staged, 'queue.csv', 'a');
  expect(await archive.find(ORDER)).toBeUndefined();
  await archive.discard(staged);
  await archive.discard(staged);
  expect(await readdir(join(root, '.staging'))).toEqual([]);
});

test('of many who seal a run at once the first wins, and the others get what it sealed', async () => {
  const root = await folder();
  const sealers = Array.from({ length: 8 }, async (_, index) => {
    const archive = directoryArchive(root);
    const staged = await archive.stage(RUN);
    const artifact = await writeArtifact(staged, 'queue.csv', `of ${index}`);
    return archive.seal(staged, manifestOf([artifact]), [artifact], MAIL);
  });
  const [first, ...others] = await Promise.all(sealers);
  for (const other of others) expect(other).toEqual(first);
  expect(await readdir(join(root, '.staging'))).toEqual([]);
});

test.each([
  ['a changed file', (at: string) => appendFile(join(at, 'files', 'queue.csv'), '!'), 'queue.csv has changed'],
  ['a missing file', (at: string) => rm(join(at, 'files', 'queue.csv')), 'queue.csv is missing'],
  ['a changed e-mail', (at: string) => appendFile(join(at, 'mail.html'), '!'), 'mail.html has changed'],
  ['a missing e-mail', (at: string) => rm(join(at, 'mail.txt')), 'the e-mail is missing'],
  ['a broken manifest', (at: string) => writeFile(join(at, 'manifest.json'), '{"version":1'), 'manifest.json'],
  ['a strange manifest', (at: string) => writeFile(join(at, 'manifest.json'), '{"version":2}'), 'manifest.json'],
  ['a missing manifest', (at: string) => rm(join(at, 'manifest.json')), 'no manifest.json'],
])('%s makes the run corrupt, not found or trusted', async (_, damage, what) => {
  const { archive, sealed } = await sealedRun(await folder());
  await damage(sealed.folder);
  await expect(archive.find(ORDER)).rejects.toMatchObject({
    code: 'archive.corrupt',
    message: expect.stringContaining(what),
    retryable: false,
  });
});

test('messages and receipts are kept beside the run, and written anew as a whole', async () => {
  const { archive, sealed } = await sealedRun(await folder());
  await archive.keepMessage(sealed, 'a'.repeat(32), Buffer.from('first'));
  await archive.keepMessage(sealed, 'a'.repeat(32), Buffer.from('second'));
  await archive.keepReceipts(sealed, []);
  expect(await readdir(join(sealed.folder, 'messages'))).toEqual([
    `${'a'.repeat(32)}.eml`,
    `${'a'.repeat(32)}.eml.sha256`,
  ]);
  expect(await readFile(join(sealed.folder, 'messages', `${'a'.repeat(32)}.eml`), 'utf8')).toBe('second');
  expect(JSON.parse(await readFile(join(sealed.folder, 'receipts.json'), 'utf8'))).toEqual([]);
  expect(await archive.find(ORDER)).toBeDefined();
});

test.each(['../escape', '/etc', '.hidden', 'a/b', ''])(
  'a run, organization or report named %j is refused',
  async (name) => {
    const root = await folder();
    const archive = directoryArchive(root);
    const refusal = { code: 'archive.unwritable', retryable: false };
    await expect(archive.stage(name)).rejects.toMatchObject(refusal);
    await expect(archive.find({ ...ORDER, org: name })).rejects.toMatchObject(refusal);
    await expect(archive.find({ ...ORDER, report: name })).rejects.toMatchObject(refusal);
  },
);

test.each(['../escape.csv', 'a/b.csv', '.hidden', 'manifest.json', 'Mail.html', 'nul\0.csv'])(
  'an artifact named %j is refused',
  async (name) => {
    const archive = directoryArchive(await folder());
    const staged = await archive.stage(RUN);
    const artifact = { ...(await writeArtifact(staged, 'x.csv', 'x')), name };
    await expect(archive.seal(staged, manifestOf([artifact]), [artifact], MAIL)).rejects.toMatchObject({
      code: 'archive.unwritable',
    });
    expect(await archive.find(ORDER)).toBeUndefined();
  },
);

test.each([
  ['the archive', directoryArchive],
  ['the folder of an inline run', inlineArchive],
])('what a dead process staged a day ago in %s is swept away, and what is being made is not', async (_, make) => {
  const root = await folder();
  const archive = make(root, { now: () => Date.now(), sleep: async () => {} });
  const dead = await archive.stage(RUN);
  const alive = await archive.stage(RUN);
  const stranger = join(root, 'notes');
  await mkdir(stranger);
  const twoDaysAgo = Date.now() / 1000 - 2 * 86_400;
  for (const path of [dead, stranger]) await utimes(path, twoDaysAgo, twoDaysAgo);
  await archive.stage(RUN);
  await expect(stat(dead)).rejects.toMatchObject({ code: 'ENOENT' });
  await expect(stat(alive)).resolves.toBeDefined();
  await expect(stat(stranger)).resolves.toBeDefined();
});

test('an archive that cannot be written says where and what to do', async () => {
  const root = await folder();
  await writeFile(join(root, 'archive'), 'a file');
  await expect(directoryArchive(join(root, 'archive')).stage(RUN)).rejects.toMatchObject({
    code: 'archive.unwritable',
    retryable: true,
    next: expect.stringContaining('permissions'),
  });
});

test('an inline run puts its files straight into the folder and leaves strangers alone', async () => {
  const root = join(await folder(), 'out');
  await mkdir(root);
  await writeFile(join(root, 'notes.txt'), 'mine');
  await writeFile(join(root, 'queue.csv'), 'of last week');
  await writeFile(join(root, 'receipts.json'), 'of last week');
  const archive = inlineArchive(root);
  const staged = await archive.stage(RUN);
  const artifact = await writeArtifact(staged, 'queue.csv', 'of this week');
  const sealed = await archive.seal(staged, manifestOf([artifact]), [artifact], MAIL);

  expect(sealed.folder).toBe(root);
  expect(await tree(root)).toEqual(['mail.html', 'mail.txt', 'manifest.json', 'notes.txt', 'queue.csv']);
  expect(await readFile(join(root, 'queue.csv'), 'utf8')).toBe('of this week');
  expect(await archive.find(ORDER)).toEqual(sealed);
  expect(await archive.find({ ...ORDER, id: 'another' })).toBeUndefined();

  await archive.keepMessage(sealed, 'a'.repeat(32), Buffer.from('message'));
  await archive.keepReceipts(sealed, []);
  expect(await tree(root)).toEqual(
    expect.arrayContaining([`messages/${'a'.repeat(32)}.eml`, 'receipts.json', 'notes.txt']),
  );
});

test('an inline run that is discarded leaves the folder as it was', async () => {
  const root = await folder();
  await writeFile(join(root, 'queue.csv'), 'of last week');
  const archive = inlineArchive(root);
  const staged = await archive.stage(RUN);
  await writeArtifact(staged, 'queue.csv', 'of this week');
  await archive.discard(staged);
  expect(await tree(root)).toEqual(['queue.csv']);
  expect(await readFile(join(root, 'queue.csv'), 'utf8')).toBe('of last week');
});
