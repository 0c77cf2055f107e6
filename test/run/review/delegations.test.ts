import fc from 'fast-check';
import { expect, test } from 'vitest';
import { reviewState } from '../../../src/run/review/fold-review.ts';
import type { ReviewActor, ReviewEvent } from '../../../src/run/review/review-event.ts';
import type { ReviewInputs } from '../../../src/run/review/review-inputs.ts';
import { cases } from '../../support/fuzz.ts';

const actor = (person: string, principal = `token:${person}`): ReviewActor => ({ person, name: person, principal });
const person = (name: string) => ({ name, tokens: [name], accounts: [] });

/** Ann and Ben approve, Pat may delegate for both; Dan and Eve are nobody's deputies yet, Guy cannot sign in. */
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
      /** Steps that it lasts. */
      readonly lasts?: number | undefined;
    };

const approve = (by: string): Step => ({ do: 'approve', by });
const delegate = (from: string, to: string, by = from, lasts?: number): Step => {
  return { do: 'delegate', by, from, to, lasts };
};
const FIGURES: Step = { do: 'figures' };

/** The events of steps, one a second. */
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
  ['whom may_delegate names names one, too', [delegate('ann', 'dan', 'pat'), approve('dan')], ['dan for ann']],
  ['approver and deputy have one seat', [delegate('ann', 'dan'), approve('dan'), approve('ann')], ['dan for ann']],
  ['whoever of them comes first', [delegate('ann', 'dan'), approve('ann'), approve('dan')], ['ann']],
  ['a later deputy takes the place', [delegate('ann', 'dan'), delegate('ann', 'eve'), approve('dan')], []],
  ['but what was approved stays', [delegate('ann', 'dan'), approve('dan'), delegate('ann', 'eve')], ['dan for ann']],
  ['other approvers name none', [delegate('ann', 'dan', 'ben'), approve('dan')], []],
  ['a deputy names none', [delegate('ann', 'dan'), delegate('ann', 'eve', 'dan'), approve('eve')], []],
  ['not even if may_delegate names them', [delegate('ann', 'pat'), delegate('ann', 'eve', 'pat'), approve('eve')], []],
  ['nor for themselves', [delegate('ann', 'dan'), delegate('dan', 'eve', 'dan'), approve('eve')], []],
  ['nobody names themselves', [delegate('ann', 'pat', 'pat'), approve('pat')], []],
  ['an approver is no deputy', [delegate('ann', 'ben'), approve('ben')], ['ben']],
  ['one is no deputy of two', [delegate('ann', 'dan'), delegate('ben', 'dan'), approve('dan')], ['dan for ann']],
  ['nobody outside of people', [delegate('ann', 'zoe'), approve('zoe')], []],
  ['nobody who cannot sign in', [delegate('ann', 'guy'), approve('guy')], []],
  ['not who triggered the run', [delegate('ann', 'ted'), approve('ted')], []],
  ['not who has written', [comment('dan'), delegate('ann', 'dan'), approve('dan')], []],
  ['nor who writes afterwards', [delegate('ann', 'dan'), comment('dan'), approve('dan')], []],
  ['nor for an approver who has written', [delegate('ann', 'dan'), comment('ann'), approve('dan')], []],
  ['until its end', [delegate('ann', 'dan', 'ann', 2), approve('dan')], ['dan for ann']],
  ['and not after it', [delegate('ann', 'dan', 'ann', 2), comment('pat'), approve('dan')], []],
  ['an end that is over', [delegate('ann', 'dan', 'ann', 0), approve('dan')], []],
  ['new figures keep deputies', [delegate('ann', 'dan'), { do: 'refetch' }, FIGURES, approve('dan')], ['dan for ann']],
] satisfies [string, Step[], string[]][])('%s', (_, steps, expected) => {
  expect(votes(steps)).toEqual(expected);
});

test('without four_eyes a deputy is still nobody who triggered the run or wrote', () => {
  expect(votes([delegate('ann', 'ted'), approve('ted')], noEyes())).toEqual([]);
  expect(votes([delegate('ann', 'dan'), comment('dan'), approve('dan')], noEyes())).toEqual([]);
  expect(votes([comment('ann'), approve('ann')], noEyes())).toEqual(['ann']);
});

test('whatever happens, a seal holds only with as many seats as people, each used by somebody who may', () => {
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
        // The test's own rules, from the stored events alone.
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
  // What never happens shows nothing.
  expect(deputies).toBeGreaterThan(0);
});
