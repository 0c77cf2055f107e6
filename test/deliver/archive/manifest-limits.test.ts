import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { manifestSchema } from '../../../src/deliver/archive/manifest.ts';
import { folderFor, manifestOf, ORDER, sealedRun } from '../../support/delivery-case.ts';

async function sealedWith(change: (manifest: Record<string, unknown>) => unknown) {
  const { archive, published: sealed } = await sealedRun(await folderFor(onTestFinished));
  const path = join(sealed.folder, 'manifest.json');
  const manifest: Record<string, unknown> = JSON.parse(await readFile(path, 'utf8'));
  await writeFile(path, JSON.stringify(change(manifest)));
  return archive.find(ORDER);
}

const many = <T>(entry: T): T[] => Array<T>(200_000).fill(entry);
const FILE = { name: 'a.csv', format: 'csv', bytes: 1, sha256: 'a'.repeat(64) };
const CONDITION = { target: '0-email', recipient: null, send_if: 'changed', send: true, reason: 'The figures differ.' };
const CALL = { id: 'a', method: 'POST', path: '/', sections: [], asOf: null, cached: null, correlationId: null };

test.each<[string, unknown]>([
  ['files', FILE],
  ['recipients', 'lead@acme.example'],
  ['conditions', CONDITION],
  ['calls', { ...CALL, rows: 0, saved: false }],
  ['incomplete', { section: 'queue', code: 'truncated', text: '', incomplete: true }],
])('a manifest with 200,000 entries under %s is refused', async (field, entry) => {
  await expect(sealedWith((manifest) => ({ ...manifest, [field]: many(entry) }))).rejects.toMatchObject({
    code: 'archive.corrupt',
    got: expect.stringMatching(new RegExp(`^${field}: Too big`)),
  });
});

test('a manifest of 500 packs with ten files each is accepted', () => {
  const files = Array.from({ length: 5_000 }, (_, index) => ({ ...FILE, name: `${index}.csv` }));
  expect(manifestSchema.parse({ ...manifestOf([]), files }).files).toHaveLength(5_000);
});

test('a manifest with 200,000 pictures is refused', async () => {
  const pictures = many({ name: 'mail-a.png', cid: 'a', sha256: 'a'.repeat(64) });
  await expect(
    sealedWith((manifest) => ({ ...manifest, mail: { html_sha256: '', text_sha256: '', pictures } })),
  ).rejects.toMatchObject({ code: 'archive.corrupt', got: expect.stringMatching(/^mail\.pictures: Too big/) });
});

test('a manifest is not read beyond the size limit', async () => {
  await expect(sealedWith((manifest) => ({ ...manifest, more: 'x'.repeat(65 * 1024 * 1024) }))).rejects.toMatchObject({
    code: 'archive.corrupt',
    expected: expect.stringContaining('bytes'),
  });
});

test('a manifest with fields of a later version is accepted', async () => {
  await expect(sealedWith((manifest) => ({ ...manifest, more: many(1) }))).resolves.toMatchObject({
    manifest: { run: ORDER.id },
  });
});
