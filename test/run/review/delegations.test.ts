import fc from 'fast-check';
import { expect, test } from 'vitest';
import { reviewState } from '../../../src/run/review/fold-review.ts';
import type { ReviewActor, ReviewEvent } from '../../../src/run/review/review-event.ts';
import type { ReviewInputs } from '../../../src/run/review/review-inputs.ts';
import { cases } from '../../support/fuzz.ts';

const actor = (person: string, principal = `token:${person}`): ReviewActor => ({ person, name: person, principal });
const person = (name: string) => ({ name, tokens: [name], accounts: [] });

/**
 * Ann and Ben approve, and Pat may delegate for both. Dan and Eve are not yet deputies of anybody, and Guy cannot sign
 * in.
 */
const INPUTS: ReviewInputs = {
  version: 1,
  sections: [{ id: 'kpis', required: false }],
  incomplete: false,
  nothing_to_send: false,
  approval: { by: ['ann', 'ben'], need: 2, four_eyes: true, otherwise: 'hold', may_delegate: ['pat'] },
  people: {
    ...Object.fromEntries(['ann', 'ben', 'pat', 'dan', 'eve', 'ted'].map((name) => [name, person(name)])),
    guy: { tokens: [], accounts: [] },
  },
  triggered_by: 'ted',
};
const noEyes = (inputs = INPUTS): ReviewInputs => {
  return { ...inputs, approval: inputs.approval && { ...inputs.approval, four_eyes: false } };
};

type Step =
  | { readonly do: 'figures' | 'seal' | 'refetch' }
  | { readonly do: 'approve' | 'comment' | 'withdraw' | 'recipient'; readonly by: string }
  | {
      readonly do: 'delegate';
      readonly by: string;
      readonly from: string;
      readonly to: string;
      /** For how many steps it is valid. */
      readonly lasts?: number | undefined;
    };

const approve = (by: string): Step => ({ do: 'approve', by });
const delegate = (from: string, to: string, by = from, lasts?: number): Step => {
  return { do: 'delegate', by, from, to, lasts };
};
const FIGURES: Step = { do: 'figures' };

/** The events of the steps, one second apart. */
function play(steps: readonly Step[], inputs: ReviewInputs): readonly ReviewEvent[] {
  const events: ReviewEvent[] = [];
  for (const step of steps) {
    const at = events.length;
    const content = reviewState(events, inputs).content ?? '0'.repeat(64);
    const base = { seq: at + 1, at, by: actor('by' in step ? step.by : 'docket'), reason: 'r' };
    const event = (): ReviewEvent => {
      switch (step.do) {
        case 'figures':
          return { ...base, type: 'figures', figures: 'f'.repeat(64) };
        case 'refetch':
          return { ...base, type: 'reject', by: actor('ann'), content, refetch: true };
        case 'comment':
        case 'withdraw':
          return { ...base, type: 'comment', section: 'kpis', text: step.do === 'comment' ? 'Up.' : null };
        case 'recipient':
          return { ...base, type: 'recipient', delivery: 'd', target: '0-email', recipient: 'x@y.z', replaces: null };
        case 'delegate': {
          const until = step.lasts === undefined ? null : at + step.lasts;
          return { ...base, type: 'delegate', from: step.from, to: step.to, until };
        }
        case 'approve':
        case 'seal':
          return { ...base, type: step.do, content };
      }
    };
    events.push(event());
  }
  return events;
}
const votes = (steps: readonly Step[], inputs = INPUTS): string[] =>
  reviewState(play([FIGURES, ...steps], inputs), inputs).approvals.map(({ by }) =>
    by.for === undefined ? by.person : `${by.person} for ${by.for.id}`,
  );

const comment = (by: string): Step => ({ do: 'comment', by });
test.each([
  ['a deputy approves for the approver who named them', [delegate('ann', 'dan'), approve('dan')], ['dan for ann']],
  ['somebody in may_delegate may name a deputy, too', [delegate('ann', 'dan', 'pat'), approve('dan')], ['dan for ann']],
  [
    'an approver and their deputy count once',
    [delegate('ann', 'dan'), approve('dan'), approve('ann')],
    ['dan for ann'],
  ],
  ['the first of them to approve counts', [delegate('ann', 'dan'), approve('ann'), approve('dan')], ['ann']],
  ['a later deputy replaces the earlier one', [delegate('ann', 'dan'), delegate('ann', 'eve'), approve('dan')], []],
  [
    'an approval of the earlier deputy stays valid',
    [delegate('ann', 'dan'), approve('dan'), delegate('ann', 'eve')],
    ['dan for ann'],
  ],
  ['an approver cannot name a deputy for another', [delegate('ann', 'dan', 'ben'), approve('dan')], []],
  ['a deputy cannot name a deputy', [delegate('ann', 'dan'), delegate('ann', 'eve', 'dan'), approve('eve')], []],
  [
    'a deputy in may_delegate cannot name another for the same approver',
    [delegate('ann', 'pat'), delegate('ann', 'eve', 'pat'), approve('eve')],
    [],
  ],
  [
    'a deputy cannot name a deputy for themselves',
    [delegate('ann', 'dan'), delegate('dan', 'eve', 'dan'), approve('eve')],
    [],
  ],
  ['nobody can name themselves', [delegate('ann', 'pat', 'pat'), approve('pat')], []],
  ['an approver cannot be a deputy, and approves for themselves', [delegate('ann', 'ben'), approve('ben')], ['ben']],
  [
    'nobody is the deputy of two approvers',
    [delegate('ann', 'dan'), delegate('ben', 'dan'), approve('dan')],
    ['dan for ann'],
  ],
  ['a deputy must be in people', [delegate('ann', 'zoe'), approve('zoe')], []],
  ['a deputy must be able to sign in', [delegate('ann', 'guy'), approve('guy')], []],
  ['whoever triggered the run cannot be a deputy', [delegate('ann', 'ted'), approve('ted')], []],
  ['the author of a comment cannot become a deputy', [comment('dan'), delegate('ann', 'dan'), approve('dan')], []],
  ['a deputy who comments afterwards cannot approve', [delegate('ann', 'dan'), comment('dan'), approve('dan')], []],
  [
    'a deputy cannot approve for an approver who has commented',
    [delegate('ann', 'dan'), comment('ann'), approve('dan')],
    [],
  ],
  ['a delegation is valid until its end', [delegate('ann', 'dan', 'ann', 2), approve('dan')], ['dan for ann']],
  ['a delegation is not valid after its end', [delegate('ann', 'dan', 'ann', 2), comment('pat'), approve('dan')], []],
  ['a delegation whose end has passed is not valid', [delegate('ann', 'dan', 'ann', 0), approve('dan')], []],
  [
    'a delegation stays valid for new figures',
    [delegate('ann', 'dan'), { do: 'refetch' }, FIGURES, approve('dan')],
    ['dan for ann'],
  ],
] satisfies [string, Step[], string[]][])('%s', (_, steps, expected) => {
  expect(votes(steps)).toEqual(expected);
});

test('without four_eyes, a deputy still cannot have triggered the run or commented', () => {
  expect(votes([delegate('ann', 'ted'), approve('ted')], noEyes())).toEqual([]);
  expect(votes([delegate('ann', 'dan'), comment('dan'), approve('dan')], noEyes())).toEqual([]);
  expect(votes([comment('ann'), approve('ann')], noEyes())).toEqual(['ann']);
});

test('whatever happens, a seal holds only with enough approvers, each represented once by somebody who may approve', () => {
  const who = fc.constantFrom('ann', 'ben', 'pat', 'dan', 'eve', 'ted');
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 4, arbitrary: who.map(approve) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(fc.constantFrom('ann', 'ben'), who, who, fc.option(fc.nat(6), { nil: undefined }))
        .map(([from, to, by, lasts]) => delegate(from, to, by === 'ted' ? from : by, lasts)),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('comment', 'withdraw', 'recipient'), by: who }) },
    { weight: 1, arbitrary: fc.constantFrom<Step>(FIGURES, { do: 'refetch' }) },
  );
  const opening = fc.constantFrom<Step[]>([], [delegate('ann', 'dan')], [delegate('ben', 'eve', 'pat', 9)]);
  let deputies = 0;
  fc.assert(
    fc.property(opening, fc.array(step, { maxLength: 12 }), fc.boolean(), (first, steps, fourEyes) => {
      const inputs = fourEyes ? INPUTS : noEyes();
      const events = play([FIGURES, ...first, ...steps, { do: 'seal' }], inputs);
      const state = reviewState(events, inputs);
      expect(state).toEqual(reviewState(structuredClone(events), inputs));
      if (state.phase !== 'sealed') return;
      const given = state.approvals.map(({ by, at }) => ({ human: by.person, seat: by.for?.id ?? by.person, at }));
      expect(new Set(given.map(({ human }) => human)).size).toBe(given.length);
      expect(new Set(given.map(({ seat }) => seat)).size).toBe(given.length);
      expect(given.length).toBeGreaterThanOrEqual(2);
      for (const { human, seat, at } of given) {
        expect(['ann', 'ben']).toContain(seat);
        // The rules as the test states them, from the stored events alone.
        const before = events.slice(0, at);
        const comments = before.flatMap((event) => (event.type === 'comment' ? [event] : []));
        const printed = comments.slice(comments.findLastIndex(({ text }) => text === null) + 1);
        const writes = (name: string) => printed.some(({ by }) => by.person === name);
        if (fourEyes) expect([writes(human), writes(seat)]).toEqual([false, false]);
        if (human === seat) continue;
        deputies += 1;
        expect(['ann', 'ben', 'ted'].includes(human) || writes(human)).toBe(false);
        const isNamed = before.some(
          (event) =>
            event.type === 'delegate' &&
            event.from === seat &&
            event.to === human &&
            [seat, 'pat'].includes(event.by.person) &&
            event.by.person !== human &&
            (event.until === null || event.until > at),
        );
        expect(isNamed).toBe(true);
      }
    }),
    cases(2000),
  );
  // The test proves nothing if no deputy approved.
  expect(deputies).toBeGreaterThan(0);
});
