import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { directoryArchive, inlineArchive } from '../../../src/deliver/archive/inline-archive.ts';
import { runProblems } from '../../../src/deliver/archive/verify/verify-run.ts';
import { ARCHIVES, sealIn, type TestArchive } from '../../support/archives.ts';
import { folderFor, MAIL, manifestOf, ORDER, RUN, writeArtifact } from '../../support/delivery-case.ts';

const folder = () => folderFor(onTestFinished);
const tree = async (root: string) => (await readdir(root, { recursive: true })).sort();

const ILLUSTRATED = {
  ...MAIL,
  pictures: [{ cid: 'onboarding.0123@docket', name: 'mail-onboarding.png', bytes: Buffer.from('a picture') }],
};
const PLACE = `acme/weekly-kpi/${RUN}`;
const DELIVERY = 'a'.repeat(32);
const nameOf = (text: string): string =>
  `messages/${DELIVERY}.${createHash('sha256').update(text).digest('hex').slice(0, 16)}.eml`;

/** The names of the run's files, without the folder in which a bucket keeps sealed files. */
const namesOf = async ({ tree: all }: TestArchive): Promise<string[]> =>
  (await all()).map((path) => path.replace(`${PLACE}/`, '').replace(/^[0-9a-f]{16}\//, '')).sort();

describe.each(ARCHIVES)('an archive %s', (where, open) => {
  const opened = () => open(onTestFinished);

  test('has exactly the files, the e-mail and the manifest of a published run', async () => {
    const on = await opened();
    const { archive } = on;
    const staged = await archive.stage(RUN);
    const artifact = await writeArtifact(staged, 'KPIs – Zürich.xlsx', 'workbook');
    await writeFile(join(staged, 'half-written.tmp'), 'what a renderer left behind');

    const sealed = await archive.publish(staged, manifestOf([artifact]), [artifact], MAIL);

    expect(await namesOf(on)).toEqual(['files/KPIs – Zürich.xlsx', 'mail.html', 'mail.txt', 'manifest.json']);
    expect((await on.tree()).every((path) => path.startsWith(`${PLACE}/`))).toBe(true);
    expect(sealed.mail).toEqual(MAIL);
    expect(sealed.artifacts).toMatchObject([
      { name: artifact.name, bytes: 8, sha256: artifact.sha256, format: 'xlsx' },
    ]);
    expect(await readFile(sealed.artifacts[0]!.path, 'utf8')).toBe('workbook');
    expect(await runProblems((await on.storage.find(RUN))!)).toEqual([]);
  });

  test('returns the same bytes to another process, which discards only its own checkout', async () => {
    const on = await opened();
    const first = await sealIn(on);
    const other = await on.another();
    const found = (await other.archive.find(ORDER))!;
    const known = ({ name, sha256, bytes }: (typeof found.artifacts)[number]) => ({ name, sha256, bytes });
    expect(found.artifacts.map(known)).toEqual(first.artifacts.map(known));
    expect(found.mail).toEqual(first.mail);
    expect(found.manifest.files).toEqual(first.manifest.files);
    expect(await readFile(found.artifacts[1]!.path, 'utf8')).toBe('alerts\r\n3\r\n');
    await other.archive.discardCheckout(found);
    await on.archive.discardCheckout(first);
    expect(await on.staged()).toEqual([]);
    expect((await other.archive.find(ORDER))?.manifest).toEqual(found.manifest);
    expect(await on.archive.peek(ORDER)).toEqual({ manifest: found.manifest });
  });

  test('publishes the pictures of the e-mail', async () => {
    const { archive, append } = await opened();
    await archive.publish(await archive.stage(RUN), manifestOf([]), [], ILLUSTRATED);
    expect((await archive.find(ORDER))?.mail).toEqual(ILLUSTRATED);
    await append('mail-onboarding.png', '!');
    await expect(archive.find(ORDER)).rejects.toMatchObject({
      code: 'archive.corrupt',
      message: expect.stringContaining('mail-onboarding.png'),
    });
  });

  test.each(['../mail-a.png', 'mail-a.html', 'mail-../a.png', 'mail.png'])(
    'refuses a picture named %s and publishes nothing',
    async (name) => {
      const { archive, tree: all } = await opened();
      const mail = { ...MAIL, pictures: [{ ...ILLUSTRATED.pictures[0]!, name }] };
      const staged = await archive.stage(RUN);
      const sealing = archive.publish(staged, manifestOf([]), [], mail);
      await expect(sealing).rejects.toMatchObject({ code: 'archive.unwritable' });
      await archive.discard(staged);
      expect(await archive.find(ORDER)).toBeUndefined();
      expect(await all()).toEqual([]);
    },
  );

  test('publishes files from outside the staged folder', async () => {
    const { archive } = await opened();
    const artifact = await writeArtifact(await folder(), 'queue.csv', 'a');
    const sealed = await archive.publish(await archive.stage(RUN), manifestOf([artifact]), [artifact], MAIL);
    expect(await readFile(sealed.artifacts[0]!.path, 'utf8')).toBe('a');
  });

  test('publishes and finds a large file', async () => {
    const { archive, ...on } = await opened();
    const staged = await archive.stage(RUN);
    const bytes = Buffer.alloc(17 * 1024 * 1024, 'abcdefghijklmnopqrstuvwxyz0123456789');
    const artifact = await writeArtifact(staged, 'big.xlsx', bytes);
    await archive.discardCheckout(await archive.publish(staged, manifestOf([artifact]), [artifact], MAIL));
    const found = await (await on.another()).archive.find(ORDER);
    expect((await readFile(found!.artifacts[0]!.path)).equals(bytes)).toBe(true);
  });

  test('does not find a staged run', async () => {
    const { archive, staged: left } = await opened();
    expect(await archive.find(ORDER)).toBeUndefined();
    const staged = await archive.stage(RUN);
    await writeArtifact(staged, 'queue.csv', 'a');
    expect(await archive.find(ORDER)).toBeUndefined();
    await archive.discard(staged);
    await archive.discard(staged);
    expect(await left()).toEqual([]);
  });

  test('keeps the files of the first of several publishers, and returns them to the others', async () => {
    const on = await opened();
    const sealed = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const { archive } = await on.another();
        const staged = await archive.stage(RUN);
        const artifact = await writeArtifact(staged, 'queue.csv', `of ${index}`);
        const mine = await archive.publish(staged, manifestOf([artifact]), [artifact], MAIL);
        return { sha256: mine.artifacts[0]?.sha256, bytes: await readFile(mine.artifacts[0]!.path, 'utf8') };
      }),
    );
    expect(new Set(sealed.map(({ sha256, bytes }) => `${sha256} ${bytes}`)).size).toBe(1);
    // The files of the others are gone as well.
    expect(await namesOf(on)).toEqual(['files/queue.csv', 'mail.html', 'mail.txt', 'manifest.json']);
    expect(await runProblems((await on.storage.find(RUN))!)).toEqual([]);
    expect(sealed[0]?.bytes).toBe((await on.storage.runFiles(ORDER).get('files/queue.csv'))?.toString());
  });

  test.each<readonly [string, (on: TestArchive) => Promise<void>, string]>([
    ['a changed file', (on) => on.append('files/queue.csv', '!'), 'queue.csv'],
    ['a missing file', (on) => on.remove('files/queue.csv'), 'queue.csv'],
    ['a changed e-mail', (on) => on.append('mail.html', '!'), 'mail.html'],
    ['a missing e-mail', (on) => on.remove('mail.txt'), 'e-mail'],
    ['a broken manifest', (on) => on.write('manifest.json', '{"version":1'), 'manifest.json'],
    ['a strange manifest', (on) => on.write('manifest.json', '{"version":2}'), 'manifest.json'],
  ])('finds a run corrupt because of %s', async (_, damage, named) => {
    const on = await opened();
    await sealIn(on);
    await damage(on);
    const { archive } = await on.another();
    await expect(archive.find(ORDER)).rejects.toMatchObject({
      code: 'archive.corrupt',
      message: expect.stringContaining(named),
      retryable: false,
    });
    if (where === 'in a bucket') expect(await on.staged()).toHaveLength(1);
  });

  test('finds a run corrupt if it has a sent message and no manifest', async () => {
    const on = await opened();
    const sealed = await sealIn(on);
    await on.archive.putMessage(sealed, DELIVERY, Buffer.from('left'));
    await on.remove('manifest.json');
    await expect(on.archive.find(ORDER)).rejects.toMatchObject({
      code: 'archive.corrupt',
      message: expect.stringContaining('manifest.json'),
    });
  });

  test('stores all messages, and only the last receipts', async () => {
    const on = await opened();
    const sealed = await sealIn(on);
    const { archive } = on;
    expect(await archive.getReceipts(sealed)).toEqual([]);
    await archive.putMessage(sealed, DELIVERY, Buffer.from('first'));
    await archive.putMessage(sealed, DELIVERY, Buffer.from('second'));
    await archive.putReceipts(sealed, []);
    expect(await namesOf(on)).toEqual(
      expect.arrayContaining([
        ...['first', 'second'].flatMap((text) => [nameOf(text), `${nameOf(text)}.sha256`]),
        'receipts.json',
      ]),
    );
    const box = on.storage.runFiles(ORDER);
    for (const text of ['first', 'second']) expect((await box.get(nameOf(text)))?.toString()).toBe(text);
    expect(JSON.parse(String(await box.get('receipts.json')))).toEqual([]);
    expect(await archive.find(ORDER)).toBeDefined();
  });

  test('returns the state of the latest attempt, regardless of the order of writes', async () => {
    const on = await opened();
    const sealed = await sealIn(on);
    const attempt = { delivery: DELIVERY, epoch: 1, detail: null, at: 1 } as const;
    const state = async () => (await (await on.another()).archive.getArchivedStates(sealed)).get(DELIVERY);
    expect(await state()).toBeUndefined();
    await on.archive.putAttempt(sealed, { ...attempt, state: 'sending' });
    expect(await state()).toMatchObject({ state: 'sending', epoch: 1 });
    await on.archive.putAttempt(sealed, { ...attempt, state: 'unknown' });
    // The store was slow: the first record is written after the second.
    await on.archive.putAttempt(sealed, { ...attempt, state: 'sending' });
    expect(await state()).toMatchObject({ state: 'unknown', epoch: 1 });
    const decision = { to: 'sent', by: 'ada', reason: 'she has it', at: 2 } as const;
    await on.archive.putAttempt(sealed, { ...attempt, state: 'sent', decision });
    await on.archive.putAttempt(sealed, { ...attempt, state: 'refused' });
    expect(await state()).toMatchObject({ state: 'sent', epoch: 1 });
    await on.archive.putAttempt(sealed, { ...attempt, epoch: 2, state: 'sending' });
    await on.archive.putAttempt(sealed, { ...attempt, epoch: 1, state: 'pending' });
    expect(await state()).toMatchObject({ state: 'sending', epoch: 2 });
  });

  test('stores a release', async () => {
    const on = await opened();
    const sealed = await sealIn(on);
    await on.archive.putRelease(sealed, { by: 'ada', reason: 'known gap', at: 7 });
    expect(JSON.parse(String(await on.storage.runFiles(ORDER).get('release.json')))).toEqual({
      by: 'ada',
      reason: 'known gap',
      at: 7,
    });
  });

  test.each(['../escape', '/etc', '.hidden', 'a/b', ''])(
    'refuses a run, organization or report named %j',
    async (name) => {
      const { archive } = await opened();
      const refusal = { code: 'archive.unwritable', retryable: false };
      await expect(archive.stage(name)).rejects.toMatchObject(refusal);
      await expect(archive.find({ ...ORDER, org: name })).rejects.toMatchObject(refusal);
      await expect(archive.find({ ...ORDER, report: name })).rejects.toMatchObject(refusal);
    },
  );

  test.each(['../escape.csv', 'a/b.csv', '.hidden', 'manifest.json', 'Mail.html', 'nul\0.csv'])(
    'refuses an artifact named %j',
    async (name) => {
      const { archive } = await opened();
      const staged = await archive.stage(RUN);
      const artifact = { ...(await writeArtifact(staged, 'x.csv', 'x')), name };
      await expect(archive.publish(staged, manifestOf([artifact]), [artifact], MAIL)).rejects.toMatchObject({
        code: 'archive.unwritable',
      });
      expect(await archive.find(ORDER)).toBeUndefined();
    },
  );

  test('removes abandoned staged folders after a day, regardless of the process’s clock', async () => {
    const { archive } = await opened();
    const dead = await archive.stage(RUN);
    const alive = await archive.stage(RUN);
    const twoDaysAgo = Date.now() / 1000 - 2 * 86_400;
    await utimes(dead, twoDaysAgo, twoDaysAgo);
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.now() + 30 * 86_400_000 });
    // It does not look for them with each run, but after an hour at the latest.
    vi.advanceTimersByTime(2 * 3_600_000);
    onTestFinished(() => void vi.useRealTimers());
    await archive.stage(RUN);
    await expect(stat(dead)).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(stat(alive)).resolves.toBeDefined();
  });
});

test.each([
  ['the archive', directoryArchive],
  ['the folder of an inline run', inlineArchive],
])('abandoned staged folders in %s are removed after a day, and nothing else', async (_, make) => {
  const root = await folder();
  const archive = make(root);
  const dead = await archive.stage(RUN);
  const alive = await archive.stage(RUN);
  const stranger = join(root, 'notes');
  await mkdir(stranger);
  const twoDaysAgo = Date.now() / 1000 - 2 * 86_400;
  for (const path of [dead, stranger]) await utimes(path, twoDaysAgo, twoDaysAgo);
  await make(root).stage(RUN);
  await expect(stat(dead)).rejects.toMatchObject({ code: 'ENOENT' });
  await expect(stat(alive)).resolves.toBeDefined();
  await expect(stat(stranger)).resolves.toBeDefined();
});

test('archive.unwritable has a location and a next step', async () => {
  const root = await folder();
  await writeFile(join(root, 'archive'), 'a file');
  await expect(directoryArchive(join(root, 'archive')).stage(RUN)).rejects.toMatchObject({
    code: 'archive.unwritable',
    retryable: true,
    next: expect.stringContaining('permissions'),
  });
});

test('an inline run writes directly into the folder, and keeps files that are not its own', async () => {
  const root = join(await folder(), 'out');
  await mkdir(root);
  await writeFile(join(root, 'notes.txt'), 'mine');
  await writeFile(join(root, 'queue.csv'), 'of last week');
  await writeFile(join(root, 'receipts.json'), 'of last week');
  const archive = inlineArchive(root);
  const staged = await archive.stage(RUN);
  const artifact = await writeArtifact(staged, 'queue.csv', 'of this week');
  const sealed = await archive.publish(staged, manifestOf([artifact]), [artifact], MAIL);

  expect(sealed.folder).toBe(root);
  expect(await tree(root)).toEqual(['mail.html', 'mail.txt', 'manifest.json', 'notes.txt', 'queue.csv']);
  expect(await readFile(join(root, 'queue.csv'), 'utf8')).toBe('of this week');
  expect(await archive.find(ORDER)).toEqual(sealed);
  expect(await archive.find({ ...ORDER, id: 'another' })).toBeUndefined();

  await archive.putMessage(sealed, 'a'.repeat(32), Buffer.from('message'));
  await archive.putReceipts(sealed, []);
  expect(await tree(root)).toEqual(expect.arrayContaining([nameOf('message'), 'receipts.json', 'notes.txt']));
});

test('a discarded inline run does not change the folder', async () => {
  const root = await folder();
  await writeFile(join(root, 'queue.csv'), 'of last week');
  const archive = inlineArchive(root);
  const staged = await archive.stage(RUN);
  await writeArtifact(staged, 'queue.csv', 'of this week');
  await archive.discard(staged);
  expect(await tree(root)).toEqual(['queue.csv']);
  expect(await readFile(join(root, 'queue.csv'), 'utf8')).toBe('of last week');
});
