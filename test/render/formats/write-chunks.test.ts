import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeChunks } from '../../../src/render/formats/format.ts';

const never = new AbortController().signal;

/** More than a stream buffers before it waits for its file. */
const LARGE = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(70_000));

test.each([
  ['nothing', []],
  ['a text', ['one']],
  ['small texts', ['one', 'two', 'three']],
  ['large texts', LARGE],
] as const)('writes %s in order, and closes the source of the texts', async (_, texts) => {
  const folder = await mkdtemp(join(tmpdir(), 'docket-chunks-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  let open = 0;
  function* read() {
    open += 1;
    try {
      yield* texts;
    } finally {
      open -= 1;
    }
  }
  const path = join(folder, 'file');
  await writeChunks(path, read(), never);
  expect(await readFile(path, 'utf8')).toBe(texts.join(''));
  // The file exists already.
  await expect(writeChunks(path, read(), never)).rejects.toMatchObject({ code: 'EEXIST' });
  expect(open).toBe(0);
});
