import { expect, test } from 'vitest';
import { type ReviewStep, stepFor } from '../../../src/services/reviews/review-sweep.ts';

const content = 'a'.repeat(64);
const known = { seq: 3, phase: 'approval', content } as const;

test.each<[ReviewStep, string, Parameters<typeof stepFor>]>([
  [
    'none',
    'it waits, and its worker knew the last event',
    [{ state: 'awaiting_approval', review: known }, { phase: 'approval', content }, false],
  ],
  [
    'reopen',
    'it was approved, and nobody told the queue',
    [{ state: 'awaiting_approval', review: known }, { phase: 'ready', content }, false],
  ],
  ['cancel', 'its run was cancelled while it waited', [{ state: 'cancelled' }, { phase: 'approval', content }, false]],
  // Nothing may follow a seal: otherwise every sweep would append an event.
  [
    'failed',
    'its run was cancelled after the seal, before it was published',
    [{ state: 'cancelled' }, { phase: 'sealed', content }, false],
  ],
  ['close', 'it was published', [{ state: 'cancelled' }, { phase: 'sealed', content }, true]],
])('a review takes the step %s: %s', (step, _, of) => {
  expect(stepFor(...of)).toBe(step);
});
