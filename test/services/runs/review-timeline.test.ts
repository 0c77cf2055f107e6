import { expect, test } from 'vitest';
import type { ReviewEvent } from '../../../src/run/review/review-event.ts';
import type { RunRecord } from '../../../src/run/run-record.ts';
import { NO_HISTORY } from '../../../src/services/runs/run-history.ts';
import { buildTimeline } from '../../../src/services/runs/timeline/run-timeline.ts';
import { runOf, sent } from '../../support/page-data.ts';
import { DOCKET_ACTOR } from '../../support/review-harness.ts';

const HASH = 'a'.repeat(64);
const MIA = { person: 'mlro', name: 'Mia Lro', principal: 'token:mia' };
const REVIEW: readonly ReviewEvent[] = [
  { seq: 1, at: 1_000, by: DOCKET_ACTOR, type: 'figures', figures: HASH },
  { seq: 2, at: 2_000, by: MIA, type: 'comment', section: 'onboarding', text: 'Up.' },
  { seq: 3, at: 3_000, by: MIA, type: 'reject', content: HASH, reason: 'late import', refetch: true },
  { seq: 4, at: 4_000, by: DOCKET_ACTOR, type: 'figures', figures: HASH },
  { seq: 5, at: 5_000, by: MIA, type: 'approve', content: HASH, reason: 'checked' },
  { seq: 6, at: 6_000, by: DOCKET_ACTOR, type: 'seal', content: HASH },
];
const reopened = [{ what: 'review', by: 'Mia Lro', reason: 'Approved: checked', at: 5_000 }] as const;
const waiting = runOf('waiting', 'awaiting_approval', { createdAt: 0, startedAt: 10, finishedAt: 4_500, reopened });
const timeline = (review: readonly ReviewEvent[]) =>
  buildTimeline({ record: waiting, live: null, rows: [], history: { ...NO_HISTORY, review }, waits: null });

test('the timeline shows each event of a review once, with author and reason', () => {
  const steps = timeline(REVIEW).filter(({ kind }) => kind === 'review' || kind === 'decision');
  expect(steps.map(({ at, by, detail, outcome }) => [at, by, detail, outcome])).toEqual([
    [1_000, null, null, 'ok'],
    [2_000, 'Mia Lro', null, 'ok'],
    [3_000, 'Mia Lro', 'late import', 'failed'],
    [4_000, null, null, 'ok'],
    [5_000, 'Mia Lro', 'checked', 'ok'],
  ]);
});

test('the timeline shows the decision of the record if the archive cannot be read', () => {
  expect(timeline([]).filter(({ kind }) => kind === 'decision')).toMatchObject([{ by: 'Mia Lro', at: 5_000 }]);
});

test('the timeline says that a run waits for approval', () => {
  expect(timeline([]).filter(({ kind }) => kind === 'held')).toMatchObject([{ outcome: 'waiting', at: 4_500 }]);
});

test('the timeline does not assign a notice about a review to the owner', () => {
  const row = { ...sent, target: 'notice', recipient: 'mia@acme.example' };
  const textOf = (record: RunRecord) =>
    buildTimeline({ record, live: null, rows: [row], history: NO_HISTORY, waits: null }).find(
      ({ kind }) => kind === 'notice',
    )?.text;
  expect(textOf(waiting)).toMatch(/owner/);
  expect(textOf({ ...waiting, review: { seq: 1, phase: 'approval', content: HASH } })).not.toMatch(/owner/);
});
