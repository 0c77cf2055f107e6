import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sha256 } from '../../../../src/base/sha256.ts';
import { correctionArchive } from '../../../../src/deliver/archive/corrections/correction-archive.ts';
import { directoryStorage } from '../../../../src/deliver/archive/storage/directory-storage.ts';
import { type ExpectedRecords, verifyRecords } from '../../../../src/deliver/archive/verify/verify-records.ts';

const run = { id: '1'.repeat(32), org: 'acme', report: 'kpis' };
const FOLDER = `acme/kpis/${run.id}`;
const CONTENT = 'c'.repeat(64);
const LIST = JSON.stringify({ version: 1, files: [{ name: 'dataset.json', sha256: sha256('rows') }] });
const FIGURES = sha256(LIST);
const FROZEN = `.reviews/${FOLDER}/figures/${FIGURES}`;
const EVENTS = `.reviews/${FOLDER}/events`;
const DECIDED = `.corrections/${FOLDER}/events`;

async function opened() {
  const root = await mkdtemp(join(tmpdir(), 'docket-records-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const storage = directoryStorage(root);
  const { metadata } = storage;
  await storage.runFiles(run).put('manifest.json', '{}');
  const corrections = correctionArchive(storage);
  const edition = await corrections.putFigures(run, '{}\n');
  for (const seq of [1, 2, 3]) await corrections.append(run, { seq, at: seq, type: 'withdrawn', correction: 1 });
  await metadata.put(`${FROZEN}/files.json`, LIST);
  await metadata.put(`${FROZEN}/dataset.json`, 'rows');
  await metadata.put(`${EVENTS}/000001.json`, JSON.stringify({ seq: 1, type: 'figures', figures: FIGURES }));
  await metadata.put(`${EVENTS}/000002.json`, JSON.stringify({ seq: 2, type: 'seal', content: CONTENT }));
  await metadata.put(`.reviews/.open/${run.id}/order.json`, '{}');
  const review = { content: CONTENT, figures: FIGURES, need: 0, approved_by: [], comments: [] };
  const expected: ExpectedRecords[] = [{ run, manifest: { edition_figures: edition, review } }];
  const codes = async (only: Parameters<typeof verifyRecords>[2] = {}) =>
    (await verifyRecords(storage, expected, only)).map(({ code }) => code);
  return { root, metadata, edition, codes };
}

test.each<[file: string, text: string | null, codes: readonly string[]]>([
  ['', '', []],
  [`${DECIDED}/000002.json`, null, ['correction.event_missing']],
  [`${DECIDED}/000002.json`, '{"seq":2', ['correction.event_changed']],
  [`${DECIDED}/000002.json`, '{"seq":3,"at":1,"type":"withdrawn","correction":1}', ['correction.event_changed']],
  [`.corrections/${FOLDER}`, null, ['correction.figures_missing']],
  [`${EVENTS}/000001.json`, null, ['review.event_missing']],
  [`${EVENTS}/000002.json`, null, ['review.seal_missing']],
  [`${EVENTS}/000002.json`, JSON.stringify({ seq: 2, type: 'seal', content: 'd' }), ['review.seal_missing']],
  [`${FROZEN}/dataset.json`, 'others', ['review.figures_changed']],
  [`${FROZEN}/dataset.json`, null, ['review.figures_missing']],
  [`${FROZEN}/files.json`, '{}', ['review.figures_changed']],
  [FROZEN, null, ['review.figures_missing']],
])('findings for %s with content %j', async (file, text, expected) => {
  const { root, metadata, codes } = await opened();
  if (text === null) await rm(join(root, file), { recursive: true });
  else if (file !== '') await metadata.put(file, text);
  expect(await codes()).toEqual(expected);
  expect(await codes({ run })).toEqual(expected);
});

test('changed figures of an edition are reported, and other organizations are not checked', async () => {
  const { root, metadata, edition, codes } = await opened();
  await metadata.put(`.corrections/${FOLDER}/figures/${edition}.json`, '{"a":1}');
  expect(await codes({ org: 'acme' })).toEqual(['correction.figures_changed']);
  await metadata.put(`.corrections/other/kpis/${'2'.repeat(32)}/events/000002.json`, '{}');
  expect(await codes({ org: 'acme' })).toEqual(['correction.figures_changed']);
  // Retention has removed the run after its manifest was read.
  for (const folder of ['.corrections', '.reviews', 'acme']) await rm(join(root, folder), { recursive: true });
  expect(await codes()).toEqual([]);
});
