import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { reviewState } from '../../../src/run/review/fold-review.ts';
import type { NewReviewEvent, ReviewActor, ReviewEvent } from '../../../src/run/review/review-event.ts';
import type { ReviewInputs } from '../../../src/run/review/review-inputs.ts';
import { cases } from '../../support/fuzz.ts';

const FIGURES = 'f'.repeat(64);
const OTHER = 'e'.repeat(64);

const actor = (person: string, principal = `token:${person}`): ReviewActor => ({ person, name: person, principal });
const DOCKET = actor('docket', 'docket');
const [ANN, BEN, CIA] = [actor('ann'), actor('ben'), actor('cia')];

const INPUTS: ReviewInputs = {
  version: 1,
  sections: [
    { id: 'kpis', required: false },
    { id: 'alerts', required: false },
  ],
  incomplete: false,
  nothing_to_send: false,
  approval: { by: ['ann', 'ben', 'cia-token'], need: 2, four_eyes: true, otherwise: 'hold' },
  people: {
    ann: { tokens: ['ann-a', 'ann-b'], accounts: ['ann@example.com'] },
    ben: { tokens: [], accounts: [] },
    cia: { tokens: ['cia-token'], accounts: [] },
  },
};

type Step = (content: string) => Record<string, unknown> & { readonly type: ReviewEvent['type'] };

/** The events of the steps; each gets the content before it. */
function play(steps: readonly Step[], inputs: ReviewInputs = INPUTS): readonly ReviewEvent[] {
  const events: ReviewEvent[] = [];
  for (const step of steps) {
    const { content } = reviewState(events, inputs);
    const event = { at: 1000 + events.length, by: DOCKET, ...step(content ?? '0'.repeat(64)) } as NewReviewEvent;
    events.push({ ...event, seq: events.length + 1 } as ReviewEvent);
  }
  return events;
}
const stateOf = (steps: readonly Step[], inputs: ReviewInputs = INPUTS) => reviewState(play(steps, inputs), inputs);

const figures =
  (hash = FIGURES): Step =>
  () => ({ type: 'figures', figures: hash });
const comment =
  (by: ReviewActor, section: string | null = 'kpis', text: string | null = 'Up.'): Step =>
  () => ({ type: 'comment', by, section, text });
const approve =
  (by: ReviewActor): Step =>
  (content) => ({ type: 'approve', by, content, reason: 'checked' });
const release: Step = (content) => ({ type: 'release', by: BEN, content, reason: 'known gap' });
const reject =
  (by: ReviewActor, refetch: boolean): Step =>
  (content) => ({ type: 'reject', by, content, reason: 'wrong', refetch });
const seal: Step = (content) => ({ type: 'seal', content });
const cancel: Step = () => ({ type: 'cancel', reason: 'late' });

describe('the phases of a review', () => {
  test('a run passes figures, comments, the hold of incomplete figures, approval and seal, in this order', () => {
    const inputs = { ...INPUTS, incomplete: true, sections: [{ id: 'kpis', required: true }] };
    const steps = [figures(), comment(DOCKET), release, approve(ANN), approve(BEN), seal];
    const phases = steps.map((_, index) => stateOf(steps.slice(0, index + 1), inputs).phase);
    expect(phases).toEqual(['comments', 'incomplete', 'approval', 'approval', 'ready', 'sealed']);
    expect(stateOf([], inputs)).toMatchObject({ phase: 'figures', content: null, since: null, seq: 0 });
    expect(stateOf(steps.slice(0, 4), inputs)).toMatchObject({ since: 1002, seq: 4, need: 2 });
  });

  test('the approval of incomplete figures also releases them', () => {
    const inputs = { ...INPUTS, incomplete: true };
    expect(stateOf([figures(), approve(ANN)], inputs).phase).toBe('approval');
    expect(stateOf([figures(), release], inputs)).toMatchObject({ phase: 'approval', approvals: [] });
  });

  test('a run with nothing to send waits for neither comments nor approval', () => {
    const inputs = { ...INPUTS, nothing_to_send: true, sections: [{ id: 'kpis', required: true }] };
    expect(stateOf([figures()], inputs).phase).toBe('ready');
  });

  test('a run that needs only comments waits for no approval', () => {
    const inputs = { ...INPUTS, approval: undefined, sections: [{ id: 'kpis', required: true }] };
    expect(stateOf([figures()], inputs)).toMatchObject({ phase: 'comments', missingComments: ['kpis'], need: 0 });
    expect(stateOf([figures(), comment(ANN)], inputs).phase).toBe('ready');
    expect(stateOf([figures(), comment(ANN), comment(BEN, 'kpis', null)], inputs).phase).toBe('comments');
  });

  test('a rejection ends the run or requests new figures, and only a reviewer may reject', () => {
    expect(stateOf([figures(), reject(ANN, false), approve(ANN), comment(ANN)])).toMatchObject({
      phase: 'rejected',
      comments: [],
    });
    expect(stateOf([figures(), reject(actor('dan'), false)]).phase).toBe('approval');
    const again = [figures(), comment(DOCKET), approve(ANN), reject(BEN, true)];
    expect(stateOf(again)).toMatchObject({ phase: 'figures', figures: null, content: null });
    expect(stateOf([...again, figures(OTHER)])).toMatchObject({ phase: 'approval', figures: OTHER, approvals: [] });
    expect(stateOf([...again, figures(OTHER)]).comments).toHaveLength(1);
  });

  test('only new figures follow a seal, and need approval again; nothing follows a cancellation', () => {
    const sealed = [figures(), approve(ANN), approve(BEN), seal];
    const before = stateOf(sealed);
    for (const step of [comment(CIA), cancel, reject(ANN, false), seal, approve(CIA)])
      expect(stateOf([...sealed, step])).toMatchObject({ ...before, seq: 5 });
    expect(stateOf([...sealed, figures(OTHER)])).toMatchObject({ phase: 'approval', approvals: [] });
    expect(stateOf([figures(), cancel, figures(OTHER)]).phase).toBe('cancelled');
    expect(stateOf([figures(), seal]).phase).toBe('approval');
  });
});

describe('approvals that count', () => {
  test.each([
    ['a person counts once, however they signed in', [approve(ANN), approve(actor('ann', 'token:ann-b'))], 1],
    ['an approver may be named by one of their tokens', [approve(CIA)], 1],
    ['somebody who is no approver does not count', [approve(actor('dan'))], 0],
    ['a token with the name of a person does not count as that person', [approve(actor('token:ben', 'token:ben'))], 0],
    ['a comment voids an earlier approval', [approve(ANN), comment(DOCKET)], 0],
    [
      'the withdrawal of a comment voids an earlier approval',
      [comment(DOCKET), approve(ANN), comment(DOCKET, 'kpis', null)],
      0,
    ],
    ['the author of a printed comment does not count', [comment(ANN), approve(ANN), approve(BEN)], 1],
    ['the author of an earlier version of a comment does not count', [comment(ANN), comment(DOCKET), approve(ANN)], 0],
    ['the author of a withdrawn comment counts', [comment(ANN), comment(ANN, 'kpis', null), approve(ANN)], 1],
    [
      'an approval of other content does not count',
      [() => ({ type: 'approve' as const, by: ANN, content: OTHER, reason: '' })],
      0,
    ],
  ] satisfies [string, Step[], number][])('%s', (_, steps, count) => {
    expect(stateOf([figures(), ...steps]).approvals).toHaveLength(count);
  });

  test.each(['ann', 'Ann-A', 'ann@example.com'])('an approver who triggered the run as %s does not count', (by) => {
    const state = stateOf([figures(), approve(ANN), approve(BEN)], { ...INPUTS, triggered_by: by });
    expect(state.approvals.map(({ by: { person } }) => person)).toEqual(['ben']);
    const approval = INPUTS.approval && { ...INPUTS.approval, four_eyes: false };
    expect(stateOf([figures(), approve(ANN)], { ...INPUTS, triggered_by: by, approval }).approvals).toHaveLength(1);
  });
});

test('comments are in the order of the sections, and every version of a comment changes the content', () => {
  const state = stateOf([figures(), comment(ANN, 'alerts'), comment(BEN, null), comment(ANN, 'kpis')]);
  expect(state.comments.map(({ section }) => section)).toEqual([null, 'kpis', 'alerts']);
  const again = stateOf([figures(), comment(ANN, 'alerts'), comment(BEN, null), comment(ANN, 'kpis'), comment(ANN)]);
  expect(again.comments[1]?.version).toBe(2);
  expect(new Set([state.content, again.content, stateOf([figures()]).content]).size).toBe(3);
});

test('whatever happens, a seal holds only with enough different approvers of its content', () => {
  const people = fc.constantFrom(ANN, BEN, CIA, actor('ann', 'token:ann-b'), actor('dan'));
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.boolean().map((same) => figures(same ? FIGURES : OTHER)),
    fc.tuple(people, fc.option(fc.constant('kpis')), fc.option(fc.constant('x'))).map((args) => comment(...args)),
    people.map(approve),
    people.map(approve),
    people.map((by) => reject(by, true)),
    fc.constant(release),
    fc.constant(seal),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.option(fc.constant('ann'), { nil: undefined }), (steps, by) => {
      const inputs = { ...INPUTS, triggered_by: by };
      const events = play(steps, inputs);
      const state = reviewState(events, inputs);
      expect(state).toEqual(reviewState(structuredClone(events), inputs));
      if (state.phase !== 'sealed') return;
      // Events after the seal do not count.
      const end = events.findLastIndex((_, index) => reviewState(events.slice(0, index), inputs).phase !== 'sealed');
      const sealed = events.slice(0, end + 1);
      const isDecided = ({ type }: ReviewEvent) => type === 'figures' || type === 'comment';
      const given = sealed
        .slice(sealed.findLastIndex(isDecided))
        .flatMap((event) => (event.type === 'approve' && event.content === state.content ? [event.by.person] : []));
      const authors = events.flatMap((event) =>
        event.type === 'comment' && event.text !== null ? [event.by.person] : [],
      );
      const printed = state.comments.map((each) => each.by.person);
      expect(printed.every((author) => authors.includes(author))).toBe(true);
      const others = new Set(given.filter((person) => person !== by && person !== 'dan' && !printed.includes(person)));
      expect(others.size).toBeGreaterThanOrEqual(2);
    }),
    cases(300),
  );
});
