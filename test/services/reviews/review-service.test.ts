import { expect, test } from 'vitest';
import type { EarlierDelivery } from '../../../src/services/runs/already-delivered.ts';
import { definitionOf } from '../../support/reports.ts';
import {
  accountOf,
  awaitingRun,
  DOCKET_ACTOR,
  REVIEW_INPUTS,
  type ReviewHarness,
  reviewHarness,
  tokenOf,
} from '../../support/review-harness.ts';

const APPROVAL = { by: ['mlro', 'cfo@acme.example'], need: 1, four_eyes: true, otherwise: 'hold' as const };
const MIA = tokenOf('mia');
const CFO = accountOf('cfo@acme.example');
const ANNA = tokenOf('anna');
const RUN = awaitingRun();

const opened = async (inputs = REVIEW_INPUTS, run = RUN) => {
  const harness = reviewHarness();
  return { ...harness, content: await harness.reviewed(run, inputs) };
};
const eventsOf = async ({ reviews }: Pick<ReviewHarness, 'reviews'>) =>
  (await reviews.events(RUN)).map(({ type, by }) => `${type} ${by.person}`);

test('an approval is one event, reopens the run once, and may be repeated', async () => {
  const review = await opened();
  const { service, content, requeued, records } = review;
  const before = await service.view(RUN.id, MIA);
  expect(before).toMatchObject({
    refusal: null,
    reviewers: ['Mia Lro', 'cfo@acme.example'],
    state: { phase: 'approval' },
  });
  const view = await service.approve(RUN.id, content.slice(0, 8), 'checked', MIA);
  expect(view.state).toMatchObject({ phase: 'ready', approvals: [{ by: { person: 'mlro', name: 'Mia Lro' } }] });
  await service.approve(RUN.id, content, 'checked', accountOf('mia@acme.example'));
  expect(await eventsOf(review)).toEqual(['figures docket', 'approve mlro']);
  expect(requeued).toEqual([RUN.id]);
  expect(records.get(RUN.id)?.reopened).toMatchObject([{ what: 'review', by: 'Mia Lro' }]);
  expect((await service.view(RUN.id, CFO))?.refusal).toMatch(/enough/i);
});

test('an approval can be repeated after the seal, and reopens a run after a crash', async () => {
  const review = await opened();
  const { service, content, append, records, requeued } = review;
  await append(RUN, {
    type: 'approve',
    by: { person: 'mlro', name: 'Mia Lro', principal: 'token:mia' },
    content,
    reason: '',
  });
  await service.approve(RUN.id, content, 'checked', MIA);
  expect(requeued).toEqual([RUN.id]);
  await append(RUN, { type: 'seal', content });
  records.set(RUN.id, { ...RUN, state: 'done' });
  await service.approve(RUN.id, content, 'checked', MIA);
  await expect(service.approve(RUN.id, content, 'checked', CFO)).rejects.toMatchObject({ code: 'run.conflict' });
  await expect(service.comment(RUN.id, null, 'Late.', ANNA)).rejects.toMatchObject({ code: 'run.conflict' });
  expect(await eventsOf(review)).toEqual(['figures docket', 'approve mlro', 'seal docket']);
});

test('a person who may not approve is refused with a reason, and nothing is stored', async () => {
  const review = await opened(REVIEW_INPUTS, awaitingRun());
  const { service, content } = review;
  const notAllowed = { code: 'review.not_allowed' };
  await expect(service.approve(RUN.id, content, 'x', ANNA)).rejects.toMatchObject(notAllowed);
  const shell = { name: 'mlro', kind: 'shell', subject: 'shell:mlro' } as const;
  await expect(service.approve(RUN.id, content, 'x', shell)).rejects.toMatchObject(notAllowed);
  await expect(service.reject(RUN.id, content, { reason: 'x', refetch: false }, ANNA)).rejects.toMatchObject(
    notAllowed,
  );
  await expect(service.approve(RUN.id, '0'.repeat(64), 'x', MIA)).rejects.toMatchObject({
    code: 'review.content_changed',
  });
  await expect(service.approve(RUN.id, content.slice(0, 7), 'x', MIA)).rejects.toMatchObject({
    code: 'review.content_changed',
  });
  expect(await eventsOf(review)).toEqual(['figures docket']);
});

test('with four_eyes the person who triggered the run cannot approve with any sign-in; without it they can', async () => {
  const triggered = await opened({ ...REVIEW_INPUTS, triggered_by: 'mia' });
  const { service, content } = triggered;
  await expect(service.approve(RUN.id, content, 'x', accountOf('mia@acme.example'))).rejects.toMatchObject({
    code: 'review.not_allowed',
  });
  expect((await service.view(RUN.id, MIA))?.reviewers).toEqual(['cfo@acme.example']);
  // A rejection is not an approval.
  const rejected = await service.reject(RUN.id, content, { reason: 'x', refetch: false }, MIA);
  expect(rejected.state.phase).toBe('rejected');
  const approval = { ...APPROVAL, by: ['mlro'], four_eyes: false };
  const free = await opened({ ...REVIEW_INPUTS, approval, triggered_by: 'mia' });
  expect((await free.service.approve(RUN.id, free.content, 'x', MIA)).state.phase).toBe('ready');
});

test('with four_eyes an account is recognized by its subject in `people`, whatever its address', async () => {
  const people = { mlro: { name: 'Mia Lro', tokens: ['mia'], accounts: ['8f2c'] } };
  const mia = { name: 'm.lro@acme.example', kind: 'account', subject: 'https://id.example 8f2c' } as const;
  const notAllowed = { code: 'review.not_allowed' };
  const inputs = { ...REVIEW_INPUTS, people, triggered_by: mia.name };
  // An older version stored only the name, which may be hers.
  for (const frozen of [inputs, { ...inputs, triggered_by_subject: mia.subject }]) {
    const { service, content } = await opened(frozen);
    for (const signIn of [mia, MIA])
      await expect(service.approve(RUN.id, content, 'x', signIn)).rejects.toMatchObject(notAllowed);
    expect((await service.view(RUN.id, CFO))?.reviewers).toEqual(['cfo@acme.example']);
    expect((await service.approve(RUN.id, content, 'x', CFO)).state.phase).toBe('ready');
  }
  // The other one of two accounts has triggered the run.
  const other = { ...inputs, triggered_by_subject: 'https://id.example 77' };
  const { service, content } = await opened(other);
  expect((await service.approve(RUN.id, content, 'x', MIA)).state.phase).toBe('ready');
});

test('a delivered approval of an older version stays valid; an undelivered one is needed again', async () => {
  const people = { mlro: { name: 'Mia Lro', tokens: ['mia'], accounts: ['8f2c'] } };
  const review = await opened({ ...REVIEW_INPUTS, people, triggered_by: 'm.lro@acme.example' });
  const { service, content, append, records } = review;
  const by = { person: 'mlro', name: 'Mia Lro', principal: 'token:mia' };
  await append(RUN, { type: 'approve', by, content, reason: 'x' }, { type: 'seal', content });
  expect((await service.view(RUN.id, CFO))?.state).toMatchObject({ phase: 'approval', approvals: [] });
  records.set(RUN.id, { ...RUN, state: 'done' });
  expect((await service.view(RUN.id, CFO))?.state).toMatchObject({ phase: 'sealed', approvals: [{ by }] });
  await expect(service.approve(RUN.id, content, 'x', CFO)).rejects.toMatchObject({ code: 'run.conflict' });
});

test('a comment that an older version stored is shown without direction controls', async () => {
  const { service, append } = await opened();
  const text = '\u202e000,1\u202c cases';
  await append(RUN, { type: 'comment', section: 'onboarding', text });
  const view = await service.view(RUN.id, ANNA);
  expect([view?.state.comments[0]?.text, view?.history[0]?.text]).toEqual(['000,1 cases', '000,1 cases']);
});

test('an approver sees what another run has delivered meanwhile, and must approve with `again`', async () => {
  const sent: EarlierDelivery[] = [];
  const definition = definitionOf([{ id: 'onboarding', metrics: ['profiles.created'] }]);
  const harness = reviewHarness({
    definition: { ...definition, deliveries: [{ email: { to: ['board@acme.example'] } }] as never },
    findDelivered: async ({ id }) => sent.find(({ run }) => run !== id),
  });
  const { service } = harness;
  const content = await harness.reviewed(RUN, { ...REVIEW_INPUTS, approval: { ...APPROVAL, need: 2 } });
  expect((await service.approve(RUN.id, content, 'x', CFO)).delivered).toBeNull();
  sent.push({
    run: 'f'.repeat(32),
    period: RUN.period,
    at: Date.parse('2026-11-03'),
    sent: { email: 2 },
    uncertain: 0,
  });
  // An earlier approval can be repeated.
  await service.approve(RUN.id, content, 'x', CFO);
  expect((await service.view(RUN.id, MIA))?.delivered).toContain('2 people');
  await expect(service.approve(RUN.id, content, 'x', MIA)).rejects.toMatchObject({
    code: 'already_delivered',
    delivered: { run: 'f'.repeat(32), people: 2 },
  });
  expect(await eventsOf(harness)).toEqual(['figures docket', 'approve https://id.example cfo']);
  const approved = await service.approve(RUN.id, content, 'x', MIA, true);
  expect(approved).toMatchObject({ state: { phase: 'ready' }, delivered: null });
  expect(approved.state.approvals.map(({ repeats }) => repeats)).toEqual([
    undefined,
    [{ run: 'f'.repeat(32), at: Date.parse('2026-11-03') }],
  ]);
  // A corrected edition goes to those who received the first one.
  const edition = awaitingRun({ id: 'e'.repeat(32), corrects: 'f'.repeat(32) });
  expect((await service.approve(edition.id, await harness.reviewed(edition), 'x', MIA)).state.phase).toBe('ready');
});

test('a comment voids approvals and changes the content', async () => {
  const review = await opened({ ...REVIEW_INPUTS, approval: { ...APPROVAL, need: 2 } });
  const { service, content } = review;
  await service.approve(RUN.id, content, 'checked', MIA);
  const { view } = await service.comment(RUN.id, 'onboarding', 'Up,\r\n\u202eas \u200bplanned.\u202c ', ANNA);
  expect(view.state).toMatchObject({ approvals: [], comments: [{ text: 'Up,\nas planned.', version: 1 }] });
  expect(view.state.content).not.toBe(content);
  await expect(service.approve(RUN.id, content, 'x', MIA)).rejects.toMatchObject({ code: 'review.content_changed' });
  await service.comment(RUN.id, 'onboarding', 'Up,\nas planned.', ANNA);
  expect(await eventsOf(review)).toEqual(['figures docket', 'approve mlro', 'comment token:anna']);
  const withdrawn = await service.comment(RUN.id, 'onboarding', null, ANNA);
  expect(withdrawn.view.state.content).toBe(content);
  expect(withdrawn.view.history.map(({ text }) => text)).toEqual(['Up,\nas planned.', null]);
});

test.each([
  ['no text', null, ' - '],
  ['too long', null, 'x'.repeat(4001)],
  ['an unknown section', 'other', 'Text.'],
])('a comment with %s is refused', async (_, section, text) => {
  const review = await opened();
  await expect(review.service.comment(RUN.id, section, text, ANNA)).rejects.toMatchObject({
    code: 'review.comment_invalid',
  });
  expect(await eventsOf(review)).toEqual(['figures docket']);
});

test('references show figures of the run; unknown ones are refused, and contradictions cause a warning', async () => {
  const { service } = await opened();
  const view = await service.view(RUN.id, ANNA);
  expect(view?.sections).toMatchObject([{ id: 'onboarding', title: 'Onboarding', required: false }]);
  expect(view?.sections[0]?.references).toContainEqual({
    reference: '{{ onboarding.profiles.created }}',
    label: 'Profiles created',
    text: '6,390',
  });
  await expect(service.comment(RUN.id, null, 'Up to {{ onboarding.profiles.create }}.', ANNA)).rejects.toMatchObject({
    code: 'review.comment_invalid',
    next: expect.stringContaining('{{ onboarding.profiles.created }}'),
  });
  const text = 'Profiles created: {{ onboarding.profiles.created }}, not 7,123.';
  const { warnings } = await service.comment(RUN.id, 'onboarding', text, ANNA);
  expect(warnings).toMatchObject([{ number: '7,123', text: expect.stringContaining('6,390') }]);
});

test('the time for approval ends with a business day', async () => {
  // It begins on Saturday, 21 November.
  const within = await opened({ ...REVIEW_INPUTS, approval: { ...APPROVAL, within: 1 } });
  expect((await within.service.view(RUN.id, MIA))?.due).toBe(Date.parse('2026-11-23T23:00:00Z'));
});

test('a comment is refused if nobody could approve afterwards', async () => {
  const { service } = await opened();
  await service.comment(RUN.id, null, 'One remains.', MIA);
  await expect(service.comment(RUN.id, 'onboarding', 'Nobody would.', CFO)).rejects.toMatchObject({
    code: 'approval.unreachable',
  });
  await service.comment(RUN.id, 'onboarding', 'By another.', ANNA);
});

test('an approval is refused if the content changes before it is stored', async () => {
  const harness = reviewHarness();
  const content = await harness.reviewed(RUN);
  const { append } = harness.reviews;
  let raced = false;
  harness.reviews.append = async (run, seq, event) => {
    if (!raced) {
      raced = true;
      await append(run, seq, {
        ...event,
        type: 'comment',
        by: DOCKET_ACTOR,
        section: null,
        text: 'First.',
      } as typeof event);
    }
    return append(run, seq, event);
  };
  await expect(harness.service.approve(RUN.id, content, 'x', MIA)).rejects.toMatchObject({
    code: 'review.content_changed',
  });
  expect(await eventsOf(harness)).toEqual(['figures docket', 'comment docket']);
});

test('only comments of the last period become drafts', async () => {
  const definition = definitionOf([
    { id: 'onboarding', metrics: ['profiles.created'], commentary: { carry: true } },
    { id: 'alerts', metrics: ['profiles.created'], commentary: 'optional' },
  ]);
  const harness = reviewHarness({ definition });
  const inputs = {
    ...REVIEW_INPUTS,
    sections: [
      { id: 'onboarding', required: false },
      { id: 'alerts', required: false },
    ],
    approval: undefined,
  };
  const weekOf = (id: string, from: string, to: string) =>
    awaitingRun({ id: id.repeat(32), period: { ...RUN.period, from, to, label: from } });
  const comment = (section: string, text: string) => ({ type: 'comment', section, text }) as const;
  const last = weekOf('1', '2026-11-02', '2026-11-08');
  const older = weekOf('2', '2026-10-26', '2026-11-01');
  for (const run of [older, last]) {
    await harness.reviewed(run, inputs);
    await harness.append(run, comment('onboarding', `Of ${run.period.from}`), comment('alerts', 'No carry.'));
    const content = (await harness.service.view(run.id, undefined))?.state.content ?? '';
    await harness.append(run, { type: 'seal', content });
  }
  await harness.reviewed(RUN, inputs);
  const view = await harness.service.view(RUN.id, ANNA);
  expect(view?.drafts).toEqual([
    {
      section: 'onboarding',
      kind: 'comment',
      text: 'Of 2026-11-02',
      author: 'Docket',
      period: '2026-11-02',
      run: last.id,
    },
  ]);
  expect(view?.state.comments).toEqual([]);
  const { view: written } = await harness.service.comment(RUN.id, 'onboarding', 'New.', ANNA);
  expect(written.drafts).toEqual([]);
});

test('open actions become a draft even if the last period has no comment, but whole comments do not', async () => {
  const definition = definitionOf([
    { id: 'onboarding', metrics: ['profiles.created'], commentary: { carry: true } },
    { id: 'alerts', metrics: ['profiles.created'] },
  ]);
  const harness = reviewHarness({ definition });
  const inputs = {
    ...REVIEW_INPUTS,
    sections: definition.sections.map(({ id }) => ({ id, required: false })),
    approval: undefined,
  };
  const weekOf = (id: string, from: string, to: string) =>
    awaitingRun({ id: id.repeat(32), period: { ...RUN.period, from, to, label: from } });
  const commentedRun = weekOf('1', '2026-10-26', '2026-11-01');
  for (const run of [commentedRun, weekOf('2', '2026-11-02', '2026-11-08')]) {
    await harness.reviewed(run, inputs);
    if (run === commentedRun) {
      await harness.append(
        run,
        { type: 'comment', section: 'onboarding', text: 'As planned.\nAction (MLRO): Look again.' },
        { type: 'comment', section: 'alerts', text: 'No action.' },
      );
    }
    const content = (await harness.service.view(run.id, undefined))?.state.content ?? '';
    await harness.append(run, { type: 'seal', content });
  }
  await harness.reviewed(RUN, inputs);
  const drafts = (await harness.service.view(RUN.id, ANNA))?.drafts;
  expect(drafts).toMatchObject([{ section: 'onboarding', kind: 'actions', run: commentedRun.id }]);
  expect(drafts?.[0]?.text).toMatch(/^Action \(MLRO\): Look again\. \(carried from [^)]+\)$/);
});

test.each([
  ['en-GB', 'carried from September 2026'],
  ['de-CH', 'übernommen aus September 2026'],
])(
  'open actions of the last comment become a draft in %s, and its author is the person who stores them',
  async (locale, origin) => {
    const definition = { ...definitionOf([{ id: 'onboarding', metrics: ['profiles.created'] }]), locale };
    const harness = reviewHarness({ definition });
    const inputs = { ...REVIEW_INPUTS, approval: { ...APPROVAL, by: ['mlro', 'cfo@acme.example'] } };
    const monthOf = (id: string, from: string, to: string) =>
      awaitingRun({ id: id.repeat(32), period: { ...RUN.period, from, to, label: from.slice(0, 7) } });
    const september = monthOf('1', '2026-09-01', '2026-09-30');
    const october = monthOf('2', '2026-10-01', '2026-10-31');
    await harness.reviewed(september, { ...inputs, approval: undefined });
    await harness.append(september, {
      type: 'comment',
      section: null,
      text: [
        'A calm month.',
        'Decision: add an analyst.',
        'Action (MLRO, 30 October): close the *oldest* alerts',
        'of July.',
        'Maßnahme: Schwellen prüfen',
        'Action: look again (carried from August 2026)',
      ].join('\n'),
    });
    await harness.append(september, { type: 'comment', section: 'onboarding', text: 'No action here.' });
    const sealed = (await harness.service.view(september.id, undefined))?.state.content ?? '';
    await harness.append(september, { type: 'seal', content: sealed });
    await harness.reviewed(october, inputs);
    const view = await harness.service.view(october.id, ANNA);
    const text = [
      `Action (MLRO, 30 October): close the *oldest* alerts of July. (${origin})`,
      `Maßnahme: Schwellen prüfen (${origin})`,
      'Action: look again (carried from August 2026)',
    ].join('\n');
    expect(view?.drafts).toEqual([
      { section: null, kind: 'actions', text, author: 'Docket', period: '2026-09', run: september.id },
    ]);
    expect(view?.state.comments).toEqual([]);
    const { view: written } = await harness.service.comment(october.id, null, text, MIA);
    expect(written.drafts).toEqual([]);
    expect(written.state.comments).toMatchObject([{ section: null, text, by: { person: 'mlro' } }]);
    // She is now an author of the printed text: four eyes.
    await expect(harness.service.approve(october.id, written.state.content ?? '', 'x', MIA)).rejects.toMatchObject({
      code: 'review.not_allowed',
    });
  },
);
