import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Access } from '../../../src/admin/access/access.ts';
import { DocketError } from '../../../src/base/error.ts';
import type { ReviewPhase } from '../../../src/run/review/review-state.ts';
import type { ReviewView } from '../../../src/services/reviews/review-service.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { openPage } from '../../support/open-page.ts';
import { heldPack, inReview, reviewView, runOf } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const anna = createToken('anna');
const ben = createToken('ben', { role: 'viewer' });
const prefix = randomPrefix();
let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
afterAll(() => redis.quit());

const PATH = `/runs/${inReview.id}`;
const content = reviewView.state.content ?? '';
const inPhase = (phase: ReviewPhase, change: Partial<ReviewView> = {}): ReviewView => ({
  ...reviewView,
  ...change,
  state: { ...reviewView.state, phase, ...change.state },
});
const NOT_NAMED = { refusal: 'The report names others.', canReject: false } as const;

const enter = (view: ReviewView | null, { token = anna.token, change = {} as Partial<Access> } = {}) => {
  const record = view?.record ?? inReview;
  return openPage({ redis, prefix }, [anna.entry, ben.entry], () => ({
    review: async () => view,
    run: async () => record,
    watch: async function* () {
      yield { record, live: null };
    },
    ...change,
  })).visit(token);
};
const show = async (view: ReviewView | null, options: Parameters<typeof enter>[1] & { path?: string } = {}) =>
  (await (await enter(view, options)).send('GET', options.path ?? PATH)).text();
const panelOf = (page: string): string => /<div id="review-part"[\s\S]*?<\/section><\/div>/.exec(page)?.[0] ?? '';
const has = (page: string, what: 'approve' | 'reject' | 'comments' | 'release'): boolean =>
  page.includes(`action="${PATH}/${what}"`);

describe('the review of a run', () => {
  it('shows what is approved, with a form that names exactly this content', async () => {
    const panel = panelOf(await show(reviewView));
    expect(panel).toContain('data-phase="approval"');
    for (const { reference, text } of reviewView.sections.flatMap(({ references }) => references)) {
      if (/\.(change|previous|status) /.test(reference)) expect(panel).not.toContain(`<code>${reference}</code>`);
      else expect(panel).toContain(`<code>${reference}</code>`);
      expect(panel).toContain(text);
    }
    for (const { name } of reviewView.files)
      expect(panel).toContain(`/api/runs/${inReview.id}/review/files/${encodeURIComponent(name)}`);
    expect(panel).toContain(`src="/api/runs/${inReview.id}/review/preview"`);
    for (const name of ['Dan Roth', 'Eva Meier']) expect(panel).toContain(name);
    expect(panel.split(`name="content" value="${content}"`)).toHaveLength(3);
    expect([has(panel, 'approve'), has(panel, 'reject'), has(panel, 'comments')]).toEqual([true, true, true]);
    // The panel must not reload while a reviewer decides.
    expect(panel).not.toMatch(/^<div id="review-part"[^>]*data-live/);
  });

  it('shows an approver what was delivered meanwhile, and asks for confirmation', async () => {
    expect(panelOf(await show(reviewView))).not.toContain('name="again"');
    const delivered = 'October 2026 went to 2 people on 3 Nov, 10:56 (run 83b1c195).';
    const panel = panelOf(await show({ ...reviewView, delivered }));
    const form = panel.slice(panel.indexOf(`action="${PATH}/approve"`));
    expect(form.slice(0, form.indexOf('</form>'))).toMatch(/83b1c195[\s\S]*<input type="checkbox" name="again"/);
    // Someone who may not approve sees it as well.
    expect(panelOf(await show({ ...reviewView, ...NOT_NAMED, delivered }, { token: ben.token }))).toContain(delivered);
  });

  it('shows an approver what is missing in the files, and who would receive them', async () => {
    const page = await show(reviewView, { token: ben.token });
    const part = /<div id="review-delivery">[\s\S]*?<div id="recipients-excluded">[\s\S]*?<\/ul>/.exec(page)?.[0] ?? '';
    for (const { text } of heldPack.missing ?? []) expect(part).toContain(text);
    for (const { recipient } of heldPack.recipients ?? []) expect(part).toContain(recipient);
    expect(await show({ ...reviewView, files: [] })).not.toContain('id="review-delivery"');
  });

  it('prints a comment as text with its figures and lists, and a draft only in its text box', async () => {
    const panel = panelOf(await show(reviewView));
    expect(panel).toContain('<em>412</em> new clients, +3.0%.');
    expect(panel).toContain('<ul><li>&lt;b&gt;Not&lt;/b&gt; markup</li><li>=1+1</li></ul>');
    expect(panel).not.toContain('<b>');
    const printed = [...panel.matchAll(/<div class="printed-comment">[\s\S]*?<\/div>/g)].map(([each]) => each);
    expect(printed).toHaveLength(1);
    expect(printed[0]).not.toContain('second analyst');
    expect(panel).toContain(`href="${PATH}?draft=alerts#comment-alerts"`);
    const area = /<textarea id="comment-text-alerts"[^>]*>([^<]*)</;
    expect(area.exec(panel)?.[1]).toBe('');
    const begun = panelOf(await show(reviewView, { path: `${PATH}?draft=alerts` }));
    expect(area.exec(begun)?.[1]).toBe('Quiet: a second analyst has joined.');
    expect(begun).toContain('2026-09');
  });

  it.each<[string, ReviewView, string, readonly ('approve' | 'reject' | 'comments' | 'release')[]]>([
    ['an approver who only views', reviewView, ben.token, ['approve', 'reject']],
    ['an operator whom the report does not name', inPhase('approval', NOT_NAMED), anna.token, ['comments']],
    [
      'an approver who wrote one of the comments',
      inPhase('approval', { refusal: 'four_eyes', canReject: true }),
      anna.token,
      ['reject', 'comments'],
    ],
    ['a viewer', inPhase('approval', NOT_NAMED), ben.token, []],
    ['an approver while figures are missing', inPhase('incomplete'), ben.token, ['approve', 'reject']],
    ['an operator while figures are missing', inPhase('incomplete', NOT_NAMED), anna.token, ['comments', 'release']],
    [
      'an operator while comments are missing',
      inPhase('comments', { refusal: 'A required comment is missing.', canReject: true }),
      anna.token,
      ['reject', 'comments'],
    ],
    ['an approver before the files are rendered', inPhase('approval', { files: [] }), ben.token, ['reject']],
    ['an approver after the end', inPhase('sealed', { refusal: 'It is complete.', canReject: false }), anna.token, []],
    ['an approver of a complete review', inPhase('ready', { canReject: false }), anna.token, []],
  ])('offers %s the right forms', async (_, view, token, forms) => {
    const panel = panelOf(await show(view, { token }));
    const all = ['approve', 'reject', 'comments', 'release'] as const;
    expect(all.filter((what) => has(panel, what))).toEqual(forms);
    // The panel does not reload for reviewers who can decide about the files shown.
    const decides = view.files.length > 0 && forms.some((what) => what === 'approve' || what === 'reject');
    expect(/^<div id="review-part"[^>]*data-live/.test(panel)).toBe(!decides);
  });

  it('replaces the release of a held run, and is missing when there is no review', async () => {
    const error = { code: 'run.comments_missing', message: 'Comments are missing.' } as const;
    const record = runOf('uncommented', 'held', { error });
    const view = inPhase('comments', { record });
    const change: Partial<Access> = { heldRun: async () => heldPack };
    const page = await show(view, { path: `/runs/${record.id}`, change });
    expect(page).not.toContain('id="release"');
    expect(page).not.toContain('/release"');
    // The review has the files, and a missing comment is not shown as an error.
    expect(page).not.toContain('ended before its files');
    expect(page).not.toContain('run.comments_missing');
    const plain = await show(null);
    expect(plain).not.toContain('id="review"');
    const unreadable = await show(null, {
      change: { review: () => Promise.reject(new DocketError('archive.unreachable', 'The bucket does not answer.')) },
    });
    expect(unreadable).toContain('archive.unreachable');
  });
});

describe('the forms of a review', () => {
  const requested: unknown[] = [];
  const recording: Partial<Access> = {
    comment: async (...of) => {
      requested.push(['comment', ...of]);
      return { view: reviewView, warnings: [{ number: '413', text: 'no' }] };
    },
    approve: async (...of) => {
      requested.push(['approve', ...of]);
      return reviewView;
    },
    reject: async (...of) => {
      requested.push(['reject', ...of]);
      return reviewView;
    },
  };

  it('comment, approve and reject exactly the named section and content', async () => {
    const browser = await enter(reviewView, { change: recording });
    const post = async (what: string, fields: Readonly<Record<string, string>>) => {
      const answer = await browser.post(`${PATH}/${what}`, fields);
      return [answer.status, answer.headers.get('location')];
    };
    const long = 'x'.repeat(5_000);
    expect(await post('comments', { section: 'alerts', text: ' a\r\n\r\nb ' })).toEqual([
      303,
      `${PATH}?did=commented&doubt=413#comment-alerts`,
    ]);
    await post('comments', { section: '_', text: long });
    await post('comments', { section: '_', text: 'old', withdraw: 'yes' });
    expect((await post('approve', { content, reason: ' ' }))[0]).toBe(303);
    expect((await post('approve', { content, reason: 'checked', again: 'yes' }))[0]).toBe(303);
    await post('reject', { content, reason: 'wrong month', outcome: 'end' });
    await post('reject', { content, reason: 'stale', outcome: 'refetch' });
    expect(requested).toEqual([
      ['comment', inReview.id, 'alerts', 'a\n\nb', undefined],
      ['comment', inReview.id, null, long, undefined],
      ['comment', inReview.id, null, null, undefined],
      ['approve', inReview.id, content, 'approved', false],
      ['approve', inReview.id, content, 'checked', true],
      ['reject', inReview.id, content, { reason: 'wrong month', refetch: false }],
      ['reject', inReview.id, content, { reason: 'stale', refetch: true }],
    ]);
    // Empty fields, a shortened content hash and a missing CSRF token are rejected.
    const refused = [
      await post('comments', { section: 'alerts', text: '  ' }),
      await post('comments', { section: '', text: 'x' }),
      await post('approve', { content: content.slice(0, 12) }),
      await post('reject', { content, reason: '', outcome: 'end' }),
      await post('reject', { content, reason: 'no' }),
      await post('approve', { content, csrf: 'of another' }),
    ].map(([status]) => status);
    expect(refused).toEqual([422, 422, 422, 422, 422, 403]);
    const outside = await browser.send('POST', `${PATH}/approve`, {
      body: { csrf: browser.csrf, content },
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect(outside.status).toBe(403);
    for (const what of ['comments', 'approve', 'reject']) {
      expect((await browser.send('GET', `${PATH}/${what}`)).status).toBe(404);
    }
    expect(requested).toHaveLength(7);
  });

  it('show a rejection with the typed text and the current content', async () => {
    const changed = new DocketError('review.content_changed', 'It has changed.');
    const newer = { ...reviewView, state: { ...reviewView.state, content: '9'.repeat(64) } };
    const browser = await enter(newer, {
      change: {
        approve: () => Promise.reject(changed),
        comment: () => Promise.reject(new DocketError('review.comment_invalid', 'No such figure.')),
      },
    });
    const approved = await browser.post(`${PATH}/approve`, { content, reason: 'checked' });
    expect(approved.status).toBe(409);
    const page = panelOf(await approved.text());
    expect(page).toContain('review.content_changed');
    expect(page).toContain(`name="content" value="${newer.state.content}"`);
    expect(page).not.toContain(`value="${content}"`);
    const commented = await browser.post(`${PATH}/comments`, { section: 'screening', text: '{{ x }} <i>' });
    expect(commented.status).toBe(422);
    const again = panelOf(await commented.text());
    expect(again).toContain('review.comment_invalid');
    expect(again).toContain('>{{ x }} &lt;i&gt;</textarea>');
  });

  it('name doubtful numbers only if the comments contain them', async () => {
    const notice = (page: string) => /<p class="notice" role="status">([^<]*)</.exec(page)?.[1] ?? '';
    const numbered = inPhase('approval', {
      state: {
        ...reviewView.state,
        comments: reviewView.state.comments.map((comment) => ({ ...comment, text: '413 came' })),
      },
    });
    const said = notice(await show(numbered, { path: `${PATH}?did=commented&doubt=413&doubt=call+me` }));
    expect(said).toContain('413');
    expect(said).not.toContain('call me');
  });
});

it('the overview lists runs that wait for approval, comments and figures separately', async () => {
  const uncommented = runOf('uncommented', 'held', {
    error: { code: 'run.comments_missing', message: 'Comments are missing.' },
  });
  const incomplete = runOf('incomplete', 'held', { error: { code: 'run.held', message: 'Figures are missing.' } });
  const all = [inReview, uncommented, incomplete];
  const page = await show(null, {
    path: '/',
    change: {
      runs: async ({ states }) => ({ runs: all.filter(({ state }) => states?.includes(state) === true), next: null }),
    },
  });
  const attention = /<div id="attention"[\s\S]*?<\/div><\/div>/.exec(page)?.[0] ?? '';
  const lines = attention.split('<p>').filter((line) => /href="\/runs\/[0-9a-f]{32}/.test(line));
  expect(lines.map((line) => /href="(\/runs\/[0-9a-f]{32}[^"]*)"/.exec(line)?.[1])).toEqual(
    expect.arrayContaining([`${PATH}#review`, `/runs/${uncommented.id}#review`, `/runs/${incomplete.id}`]),
  );
  expect(attention).toContain('href="/runs?state=awaiting_approval"');
});
