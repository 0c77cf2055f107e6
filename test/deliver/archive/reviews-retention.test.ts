import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { deleteExpiredReviews } from '../../../src/deliver/archive/retention.ts';
import { createReviewArchive } from '../../../src/deliver/archive/reviews/create-review-archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { type ReviewEvent, reviewEventSchema } from '../../../src/run/review/review-event.ts';

const NOW = 1_000;
const DOCKET = { person: 'docket', name: 'Docket', principal: 'docket' };
const runOf = (digit: string) => ({ id: digit.repeat(32), org: 'acme', report: 'kpis' });
const event = (seq: number, at: number): ReviewEvent => ({ seq, at, by: DOCKET, type: 'cancel', reason: 'r' });

test('an unreadable open review is reported after the others are listed', async () => {
  const root = await mkdtemp(join(tmpdir(), 'docket-reviews-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const storage = directoryStorage(root);
  const reviews = createReviewArchive(storage, reviewEventSchema);
  const [first, second] = [runOf('1'), runOf('2')];
  for (const run of [first, second]) await reviews.open(run, 'order');
  const broken = (await storage.metadata.list('.reviews/.open')).find((name) => name.startsWith(first.id));
  await storage.metadata.put(`.reviews/.open/${broken}`, '{');
  const found: string[] = [];
  const list = async () => {
    for await (const { run } of reviews.listOpen()) found.push(run.id);
  };
  await expect(list()).rejects.toMatchObject({ code: 'archive.corrupt' });
  expect(found).toEqual([second.id]);
});

test('reviews are deleted once their last event is old, if they have ended and their run is not in the archive', async () => {
  const root = await mkdtemp(join(tmpdir(), 'docket-reviews-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const storage = directoryStorage(root);
  const reviews = createReviewArchive(storage, reviewEventSchema);
  const [ended, recent, open, published] = [runOf('1'), runOf('2'), runOf('3'), runOf('4')];
  for (const run of [ended, recent, open, published]) {
    await reviews.append(run, 1, event(1, NOW - 500));
    await reviews.put(run, `figures/${'a'.repeat(64)}/dataset.json`, '{}');
  }
  await reviews.append(recent, 2, event(2, NOW - 5));
  await reviews.open(open, '{}');
  await storage.runFiles(published).put('manifest.json', '{}');

  const failures: unknown[] = [];
  const sweep = (days: number | undefined) =>
    deleteExpiredReviews(
      storage,
      () => (days === undefined ? undefined : NOW - days),
      (...failure) => failures.push(failure),
    );
  expect(await sweep(undefined)).toBe(0);
  expect(await sweep(100)).toBe(1);
  const left = async (run: ReturnType<typeof runOf>) => (await reviews.events(run)).length;
  expect(await Promise.all([ended, recent, open, published].map(left))).toEqual([0, 2, 1, 1]);
  expect(await reviews.list(ended, 'figures')).toEqual([]);
  expect(await sweep(100)).toBe(0);
  expect(failures).toEqual([]);
});
