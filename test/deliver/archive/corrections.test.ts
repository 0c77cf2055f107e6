import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CORRECTIONS_FOLDER, correctionArchive } from '../../../src/deliver/archive/corrections/correction-archive.ts';
import type { CorrectionEvent } from '../../../src/deliver/archive/corrections/correction-event.ts';
import { deleteExpiredCorrections } from '../../../src/deliver/archive/retention.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';

const runOf = (digit: string) => ({ id: digit.repeat(32), org: 'acme', report: 'kpis' });
const found = (seq: number, correction: number): CorrectionEvent => ({
  seq,
  at: 5,
  type: 'found',
  correction,
  figures: 'a'.repeat(64),
  changes: [{ section: 's', metric: 'm', bucket: null, group: null, before: 1, after: null }],
  material: 1,
  total: 1,
});

async function opened() {
  const root = await mkdtemp(join(tmpdir(), 'docket-corrections-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const storage = directoryStorage(root);
  return { root, storage, archive: correctionArchive(storage) };
}

test('figures are stored by their hash, and each event once under its number', async () => {
  const { root, archive } = await opened();
  const run = runOf('1');
  const hash = await archive.putFigures(run, '{"a":1}\n');
  expect(await archive.putFigures(run, '{"a":1}\n')).toBe(hash);
  expect((await archive.getFigures(run, hash))?.toString()).toBe('{"a":1}\n');
  expect(await archive.getFigures(run, 'b'.repeat(64))).toBeUndefined();
  expect(await Promise.all([archive.append(run, found(1, 1)), archive.append(run, found(1, 7))])).toContain(false);
  expect(await archive.append(run, found(2, 2))).toBe(true);
  expect((await archive.events(run)).map(({ seq }) => seq)).toEqual([1, 2]);
  expect(await archive.list()).toEqual([{ run, figures: [hash], lastEvent: 2 }]);
  const file = join(root, CORRECTIONS_FOLDER, run.org, run.report, run.id, 'figures', `${hash}.json`);
  await writeFile(file, '{"a":2}\n');
  await expect(archive.getFigures(run, hash)).rejects.toMatchObject({ code: 'archive.corrupt' });
  await expect(archive.putFigures({ ...run, org: '../x' }, 'x')).rejects.toMatchObject({ code: 'archive.unwritable' });
});

test('figures of corrections are deleted once their run has left the archive, but not before it is published', async () => {
  const { storage, archive } = await opened();
  const [gone, published, running] = [runOf('1'), runOf('2'), runOf('3')];
  for (const run of [gone, published, running]) await archive.putFigures(run, run.id);
  await storage.runFiles(published).put('manifest.json', '{}');
  const failures: unknown[] = [];
  const sweep = (since: number | undefined) =>
    deleteExpiredCorrections(
      storage,
      () => since,
      async (id) => id === running.id,
      (...failure) => failures.push(failure),
    );
  expect(await sweep(undefined)).toBe(0);
  expect(await sweep(1)).toBe(1);
  expect((await archive.list()).map(({ run }) => run.id)).toEqual([published.id, running.id]);
  expect(failures).toEqual([]);
});
