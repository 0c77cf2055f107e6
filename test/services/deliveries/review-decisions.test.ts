import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { createReviewArchive } from '../../../src/deliver/archive/reviews/create-review-archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { figuresFile, loadReview, type Reviews } from '../../../src/run/review/load-review.ts';
import { reviewEventSchema } from '../../../src/run/review/review-event.ts';
import type { ReviewInputs } from '../../../src/run/review/review-inputs.ts';
import type { RunState } from '../../../src/run/run-record.ts';
import { createReviewContinuer } from '../../../src/services/reviews/review-sweep.ts';
import { decisionHarness } from '../../support/decision-harness.ts';
import { fake } from '../../support/fake.ts';
import { anOrder, openQueueHarness, type QueueHarness } from '../../support/queue-harness.ts';

const WHO = { by: 'ops', reason: 'known gap' };
const FIGURES = 'a'.repeat(64);
const DOCKET = { person: 'docket', name: 'Docket', principal: 'docket' };
const INPUTS: ReviewInputs = {
  version: 1,
  sections: [],
  incomplete: true,
  nothing_to_send: false,
  approval: { by: ['ops'], need: 1, four_eyes: false, otherwise: 'hold' },
  people: {},
};

let harness: QueueHarness;
let reviews: Reviews;
let folder: string;
beforeAll(async () => {
  harness = await openQueueHarness();
  folder = await mkdtemp(join(tmpdir(), 'docket-decisions-'));
  reviews = createReviewArchive(directoryStorage(folder), reviewEventSchema);
});
afterAll(async () => {
  await harness.close();
  await rm(folder, { recursive: true, force: true });
});

/** A run in this state, with its review. */
async function waiting(state: RunState, inputs: Partial<ReviewInputs> = {}) {
  const { decisions } = decisionHarness(harness, { reviews });
  const order = anOrder({ id: randomBytes(16).toString('hex'), deliver: true });
  await harness.runs.open(order);
  await reviews.put(order, figuresFile(FIGURES, 'review.json'), JSON.stringify({ ...INPUTS, ...inputs }));
  await reviews.append(order, 1, { seq: 1, at: 1, by: DOCKET, type: 'figures', figures: FIGURES });
  const { state: review } = await loadReview(reviews, order);
  const { seq, phase, content } = review;
  await harness.runs.update(order.id, { state, finishedAt: 4, review: { seq, phase, content } });
  return { decisions, order, phaseNow: async () => (await loadReview(reviews, order)).state };
}
const conflict = { code: 'run.conflict' };

test('a release accepts incomplete figures, but does not approve the run', async () => {
  const { decisions, order, phaseNow } = await waiting('held');
  expect(await decisions.release(order.id, WHO)).toMatchObject({ state: 'queued', reopened: [{ what: 'release' }] });
  expect(await phaseNow()).toMatchObject({ phase: 'approval', approvals: [] });
  await harness.runs.update(order.id, { state: 'held' });
  await expect(decisions.release(order.id, WHO)).rejects.toMatchObject(conflict);
});

test.each(['held', 'awaiting_approval'] as const)(
  'a run in review that is %s can be cancelled, and is then final',
  async (state) => {
    const { decisions, order, phaseNow } = await waiting(state, { incomplete: state === 'held' });
    expect((await decisions.cancel(order.id, WHO)).state).toBe('cancelled');
    expect((await phaseNow()).phase).toBe('cancelled');
    await expect(decisions.retry(order.id, WHO)).rejects.toMatchObject(conflict);
  },
);

test('a run that waits for approval can be neither released nor retried', async () => {
  const { decisions, order, phaseNow } = await waiting('awaiting_approval', { incomplete: false });
  await expect(decisions.release(order.id, WHO)).rejects.toMatchObject(conflict);
  await expect(decisions.retry(order.id, WHO)).rejects.toMatchObject(conflict);
  expect((await phaseNow()).seq).toBe(1);
});

test('a failed run in review can be retried, and its review continues', async () => {
  const { decisions, order, phaseNow } = await waiting('failed', { incomplete: false });
  expect((await decisions.retry(order.id, WHO)).state).toBe('queued');
  expect((await phaseNow()).phase).toBe('approval');
});

test('a run that begins to wait is continued at once if its review has an event that its attempt did not see', async () => {
  const { order } = await waiting('awaiting_approval', { incomplete: false });
  const continueReview = createReviewContinuer(fake({ reviews, runs: harness.runs, log: silentLog }));
  const known = { seq: 1, phase: 'approval', content: null } as const;
  expect(await continueReview(order, known)).toBe(false);
  await reviews.append(order, 2, { seq: 2, at: 2, by: DOCKET, type: 'comment', section: null, text: 'Late.' });
  expect(await continueReview(order, known)).toBe(true);
  expect(await harness.runs.get(order.id)).toMatchObject({ state: 'queued', reopened: [{ what: 'review', at: 2 }] });
  // The writer of the event may have reopened the run first.
  expect(await continueReview(order, known)).toBe(true);
  expect((await harness.runs.get(order.id))?.reopened).toHaveLength(1);
});
