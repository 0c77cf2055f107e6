import { execFileSync } from 'node:child_process';
import { open, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { replaceFiles } from '../../../../src/base/files/durable-file.ts';
import { writeFiles } from '../../../../src/deliver/targets/directory/directory-target.ts';
import { folderFor, writeArtifact } from '../../../support/delivery-case.ts';

const never = new AbortController().signal;

async function twoFiles() {
  const root = await folderFor(onTestFinished);
  const artifacts = [await writeArtifact(root, 'a.csv', 'first'), await writeArtifact(root, 'b.csv', 'second')];
  return { root, out: join(root, 'out'), artifacts };
}

test('a single file is reported as "1 file"', async () => {
  const { out, artifacts } = await twoFiles();
  expect(await writeFiles(out, artifacts.slice(0, 1), never)).toEqual({ state: 'sent', detail: '1 file' });
  expect(await readdir(out)).toEqual(['a.csv']);
});

test('a delivery stays pending if a file is in the place of its folder', async () => {
  const { root, artifacts } = await twoFiles();
  const ending = await writeFiles(join(root, 'a.csv', 'out'), artifacts, never);
  expect(ending).toMatchObject({
    state: 'pending',
    detail: expect.stringContaining('The directory cannot be written'),
  });
});

test('a name that is taken by something unreadable refuses the delivery and is kept', async () => {
  const { out, artifacts } = await twoFiles();
  // A folder with that name.
  await writeFiles(join(out, 'b.csv'), artifacts.slice(0, 1), never);
  expect(await writeFiles(out, artifacts, never)).toMatchObject({ state: 'refused' });
  expect(await readdir(out)).toEqual(['b.csv']);
});

/**
 * Writes both files into `out`. Another program takes `name` after the folder was checked, before any file has its
 * name.
 */
async function takenMeanwhile(name: string) {
  const { root, out, artifacts } = await twoFiles();
  const pipe = join(root, 'pipe');
  execFileSync('mkfifo', [pipe]);
  // The second file is read from a pipe, so no file gets its name until the text is written there.
  const ending = writeFiles(out, [artifacts[0]!, { ...artifacts[1]!, path: pipe }], never);
  const feed = await open(pipe, 'w');
  await writeFile(join(out, name), 'theirs');
  await feed.writeFile('second');
  await feed.close();
  return { out, ending: await ending };
}

test('a name taken by another program meanwhile is kept; the delivery is unknown if a file already has its name', async () => {
  const first = await takenMeanwhile('a.csv');
  expect(first.ending).toMatchObject({ state: 'pending', detail: expect.stringContaining('EEXIST') });
  expect(await readdir(first.out)).toEqual(['a.csv']);
  const second = await takenMeanwhile('b.csv');
  expect(second.ending).toMatchObject({
    state: 'unknown',
    detail: expect.stringContaining('1 of 2 files were written: EEXIST'),
  });
  expect((await readdir(second.out)).sort()).toEqual(['a.csv', 'b.csv']);
  for (const { out } of [first, second]) expect(await contentsOf(out)).toContain('theirs');
});

const contentsOf = async (folder: string) =>
  Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));

test('files that replace others leave nothing behind if one of them cannot be written', async () => {
  const root = await folderFor(onTestFinished);
  const [one, other] = [join(root, 'one.json'), join(root, 'other.json')];
  await replaceFiles([{ path: other, bytes: 'old' }]);
  // The first path is a folder, so nothing after it is replaced.
  await writeFiles(one, [await writeArtifact(root, 'x', 'x')], never);
  await expect(
    replaceFiles([
      { path: one, bytes: 'new' },
      { path: other, bytes: 'new' },
    ]),
  ).rejects.toMatchObject({ code: 'EISDIR' });
  expect(await readFile(other, 'utf8')).toBe('old');
  expect((await readdir(root)).sort()).toEqual(['one.json', 'other.json', 'x']);
  await expect(replaceFiles([{ path: join(root, 'absent', 'x'), bytes: 'x' }])).rejects.toMatchObject({
    code: 'ENOENT',
  });
});
