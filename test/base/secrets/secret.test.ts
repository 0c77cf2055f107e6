import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { secretSource } from '../../../src/base/secrets/secret.ts';

const LARGEST = 64 * 1024;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-secret-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('a file with a secret may have at most 64 KiB', async () => {
  const file = join(folder, 'large');
  await writeFile(file, 'x'.repeat(LARGEST));
  expect((await secretSource({})({ file })).reveal().length).toBe(LARGEST);
  await writeFile(file, 'x'.repeat(LARGEST + 1));
  await expect(secretSource({})({ file })).rejects.toMatchObject({
    code: 'config.secret_missing',
    where: file,
    expected: 'at most 65536 bytes',
    got: 'more',
    next: expect.stringMatching(/./),
  });
});

test('a variable with a secret may have at most 64 KiB', async () => {
  const source = secretSource({ LARGE: 'x'.repeat(LARGEST), LARGER: 'x'.repeat(LARGEST + 1) });
  expect((await source({ env: 'LARGE' })).reveal().length).toBe(LARGEST);
  await expect(source({ env: 'LARGER' })).rejects.toMatchObject({ code: 'config.secret_missing', where: 'LARGER' });
});

test('a secret file that is no regular file is refused at once', async () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  for (const file of ['/dev/zero', pipe, folder]) {
    await expect(secretSource({})({ file })).rejects.toMatchObject({
      code: 'config.secret_missing',
      where: file,
      expected: expect.stringMatching(/./),
      got: expect.stringMatching(/./),
      next: expect.stringMatching(/./),
    });
  }
});
