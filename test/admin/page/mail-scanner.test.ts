import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { Access } from '../../../src/admin/access/access.ts';
import { noticeHtml } from '../../../src/deliver/notices/notice-html.ts';
import { noticeText } from '../../../src/deliver/notices/notice-text.ts';
import { buildReviewNotice, type ReviewNews } from '../../../src/deliver/notices/review-notice.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { formsOf, linksOf, type ScannerFetch, scanMail } from '../../support/mail-scanner.ts';
import { openPage } from '../../support/open-page.ts';
import { inReview, NOW, reviewView } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const ORIGIN = 'http://localhost:8787';
const anna = createToken('anna');
const prefix = randomPrefix();
let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
afterAll(() => redis.quit());

const NEWS: readonly ReviewNews[] = [
  { kind: 'comments', sections: ['onboarding'] },
  { kind: 'incomplete' },
  { kind: 'approval', need: 2, due: NOW },
  { kind: 'reminder', need: 1, due: NOW },
  { kind: 'rejected', by: 'Ann', reason: 'wrong', refetch: false },
  { kind: 'cancelled', reason: 'late' },
];
const PAGE = `${ORIGIN}/runs/${inReview.id}`;
const notices = NEWS.map((news) => {
  const content = { order: inReview, definition: { title: 'Board pack' }, organization: 'Acme', pageUrl: PAGE };
  return buildReviewNotice({ ...content, timezone: 'Europe/Zurich' }, news);
});

it('a mail scanner that follows every link and submits every form gets no further than the sign-in', async () => {
  const used: string[] = [];
  /** What a signed-in person could do in a review. */
  const watched = (): Partial<Access> => {
    const acting = ['comment', 'approve', 'reject', 'decide', 'review', 'reviewFile', 'reviewPreview', 'run'] as const;
    const all = Object.fromEntries(
      acting.map((name) => [
        name,
        async () => {
          used.push(name);
          if (name === 'run') return inReview;
          return name === 'comment' ? { view: reviewView, warnings: [] } : reviewView;
        },
      ]),
    );
    return {
      ...all,
      watch: async function* () {
        yield { record: inReview, live: null };
      },
    };
  };
  const { app, visit } = openPage({ redis, prefix }, [anna.entry], watched);
  const send: ScannerFetch = async (method, url, fields) =>
    app.request(
      url.pathname + url.search,
      {
        method,
        headers: { host: url.host, accept: 'text/html' },
        ...(fields === undefined || method === 'GET' ? {} : { body: new URLSearchParams(fields) }),
      },
      { incoming: { socket: { remoteAddress: '127.0.0.1' } } },
    );

  for (const notice of notices) {
    const texts = [noticeHtml(notice), noticeText(notice)];
    // The only address in the mail is the page of the run, and the mail has no form.
    for (const text of texts) {
      expect(new Set(linksOf(text).filter((link) => /^[a-z]+:/i.test(link)))).toEqual(new Set([PAGE]));
      expect(formsOf(text, PAGE)).toEqual([]);
    }
    const requests = await scanMail(texts, { origin: ORIGIN, send });
    expect(requests).toContainEqual({ method: 'GET', url: PAGE, status: 303 });
    expect(requests.some(({ method, url }) => method === 'POST' && url === `${ORIGIN}/sign-in`)).toBe(true);
  }
  expect(used).toEqual([]);

  // Forms that a scanner remembers from a signed-in page do not work either.
  const browser = await visit(anna.token);
  const page = await (await browser.send('GET', `/runs/${inReview.id}`)).text();
  const forms = formsOf(page, PAGE).filter(({ action }) => action.startsWith('/runs/'));
  expect(forms.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['comments', 'approve', 'reject'].map((what) => `/runs/${inReview.id}/${what}`)),
  );
  used.length = 0;
  for (const { method, action, fields } of forms) {
    expect((await send(method, new URL(action, ORIGIN), fields)).status).toBe(303);
    await send('GET', new URL(`${action}?${new URLSearchParams(fields)}`, ORIGIN));
    // The scanner shares the browser’s cookies, but sends from another site.
    const shared = await browser.send(method, action, { body: fields, headers: { 'sec-fetch-site': 'cross-site' } });
    expect(shared.status).toBe(403);
  }
  expect(used).toEqual([]);
});
