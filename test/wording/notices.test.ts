import { expect, test } from 'vitest';
import type { Receipt } from '../../src/deliver/ledger/ledger.ts';
import { noticeHtml } from '../../src/deliver/notices/notice-html.ts';
import {
  buildNotice,
  type Notice,
  type NoticeContent,
  noticeSubject,
  noticeText,
} from '../../src/deliver/notices/notice-text.ts';
import { buildReviewNotice, type ReviewNews } from '../../src/deliver/notices/review-notice.ts';
import { withFileLinks } from '../../src/deliver/targets/email/file-links.ts';
import { buildCorrectionNotice } from '../../src/services/corrections/correction-notices.ts';
import { correctionView } from '../support/page-data.ts';

const CONTENT = {
  order: {
    id: '0123456789abcdef0123456789abcdef',
    org: 'acme',
    report: 'weekly-kpi',
    slot: '2026-11-16T07:00:00.000Z',
    period: { label: '2026-W46' },
  },
  definition: { title: 'Weekly KPIs' },
};

const receipt = (recipient: string, state: Receipt['state'], detail: string | null): Receipt => ({
  delivery: '89abcdef0123456789abcdef01234567',
  target: '0-email',
  recipient,
  state,
  detail,
  messageId: null,
});

const NOTICES: readonly (readonly [string, Pick<NoticeContent, 'error' | 'receipts'>])[] = [
  [
    'failed',
    {
      error: {
        code: 'api.unauthorized',
        message: 'The API key was refused.',
        where: 'GET /reports',
        expected: 'status 200',
        got: 'status 401',
        next: 'Renew the key in ACME_KEY.',
        correlation_id: 'c-42',
      },
      receipts: [],
    },
  ],
  ['held', { error: { code: 'run.held', message: 'The report is incomplete.' }, receipts: [] }],
  [
    'partially delivered',
    {
      error: null,
      receipts: [
        receipt('a@acme.example', 'sent', '250 Ok'),
        receipt('b@acme.example', 'refused', '550 No such user'),
        receipt('c@acme.example', 'unknown', 'No reply'),
      ],
    },
  ],
];

test('notices to owners equal the recorded ones', async () => {
  const texts = NOTICES.map(([name, variant]) => {
    const content = { ...CONTENT, ...variant };
    return `--- ${name}\nSubject: ${noticeSubject(content)}\n\n${noticeText(buildNotice(content)).replaceAll('\r\n', '\n')}`;
  });
  await expect(texts.join('\n')).toMatchFileSnapshot('./snapshots/notices.txt');
});

const DUE = Date.UTC(2026, 10, 18, 23);
const NEWS: readonly ReviewNews[] = [
  { kind: 'comments', sections: ['onboarding', 'alerts'] },
  { kind: 'incomplete' },
  { kind: 'approval', need: 1, due: null },
  { kind: 'approval', need: 2, due: DUE },
  { kind: 'reminder', need: 1, due: DUE },
  { kind: 'rejected', by: 'Mira Keller', reason: 'The import was late', refetch: false },
  { kind: 'rejected', by: 'Mira Keller', reason: 'The import was late', refetch: true },
  { kind: 'cancelled', reason: 'Not approved within 2 business days.', days: 2 },
];

const reviewNotices = (locale?: string): readonly (readonly [string, Notice])[] => {
  const content = { ...CONTENT, locale, timezone: 'Europe/Zurich', pageUrl: 'https://docket.example/runs/0123' };
  return [
    ...NEWS.map((news) => [news.kind, buildReviewNotice(content, news)] as const),
    [
      'approval, without a page',
      buildReviewNotice({ ...content, pageUrl: undefined }, { kind: 'approval', need: 1, due: null }),
    ],
    [
      'correction',
      buildCorrectionNotice(
        correctionView,
        { manifest: { title: 'Weekly KPIs', period: correctionView.period }, recipients: ['lead@acme.example'] },
        { id: 'acme', name: 'Acme', locale },
        content.pageUrl,
        { isCapped: locale !== undefined },
      ),
    ],
  ];
};

test('notices about reviews and corrections equal the recorded ones', async () => {
  const texts = reviewNotices().map(
    ([name, notice]) => `--- ${name}\nSubject: ${notice.subject}\n\n${noticeText(notice).replaceAll('\r\n', '\n')}`,
  );
  await expect(texts.join('\n')).toMatchFileSnapshot('./snapshots/review-notices.txt');
});

/** Every notice, and the links of a mail whose files are too large, as their readers see them. */
const allTexts = (locale: string): readonly string[] => {
  const wrong = { code: 'run.incomplete', message: 'kpis: 3' } as const;
  const foreign = NOTICES.map(([, { error, ...variant }]) => ({
    ...variant,
    // The texts of an error are in English in every notice, so they are replaced here.
    error: error === null ? null : { ...error, message: 'x', next: 'x', expected: 'x', got: 'x', where: 'x' },
  }));
  const owners = [...foreign, { error: wrong, receipts: [receipt('a@acme.example', 'sent', null)] }];
  const uncertain = receipt('d@acme.example', 'unknown', null);
  const more = [
    { error: null, receipts: [uncertain, { ...uncertain, recipient: 'e@acme.example' }] },
    { error: { code: 'run.comments_missing', message: 'x' }, receipts: [] },
  ] as const;
  const notices = [
    ...[...owners, ...more].map((variant) => buildNotice({ ...CONTENT, ...variant, locale })),
    ...reviewNotices(locale).map(([, notice]) => notice),
  ];
  const files = [{ name: 'x.xlsx', bytes: 1, url: 'https://a.example/x', until: 0 }];
  const links = [files, files.map((file) => ({ ...file, until: null }))].map(
    (each) => withFileLinks({ html: '', text: '' }, each, locale).text,
  );
  const pages = notices.map((notice) => noticeHtml(notice).replace(/<style>[\s\S]*?<\/style>/, ''));
  return [...notices.flatMap((notice) => [notice.subject, noticeText(notice)]), ...links, ...pages];
};
/** Sentences, headings and names; not what is typed, numbers, titles and addresses. */
const sentencesOf = (texts: readonly string[]): ReadonlySet<string> =>
  new Set(
    texts
      .flatMap((text) => text.split(/[.:]\s|\r?\n|<[^>]+>/))
      .map((part) => part.replace(/\s+/g, ' ').trim())
      .filter((part) => /[a-z]{3}/i.test(part))
      .filter(
        (part) =>
          !/^docket |^- |@|^https?:|^[\w/.-]+$|^Weekly KPIs|^x|doctype|^The import was late$|^\d|^No reply$|^--file/.test(
            part,
          ),
      ),
  );

test('German notices share no sentence with the English ones, and have no English words', () => {
  const [german, english] = ['de-CH', 'en-GB'].map((locale) => sentencesOf(allTexts(locale)));
  expect(german?.size).toBeGreaterThan(60);
  expect([...(german ?? [])].filter((sentence) => english?.has(sentence))).toEqual([]);
  const words = /\b(the|to|is|of|not|you|please|nothing|sent|report|needed|failed|delivered|comments?)\b/i;
  expect([...(german ?? [])].filter((sentence) => words.test(sentence))).toEqual([]);
  expect(noticeHtml(buildNotice({ ...CONTENT, error: null, receipts: [], locale: 'de-CH' }))).toContain(
    '<html lang="de">',
  );
});

test('notices in German equal the recorded ones', async () => {
  const owners = NOTICES.map(
    ([name, variant]) => [name, buildNotice({ ...CONTENT, ...variant, locale: 'de-CH' })] as const,
  );
  const texts = [...owners, ...reviewNotices('de-CH')].map(
    ([name, notice]) => `--- ${name}\nSubject: ${notice.subject}\n\n${noticeText(notice).replaceAll('\r\n', '\n')}`,
  );
  await expect(texts.join('\n')).toMatchFileSnapshot('./snapshots/german-notices.txt');
});
