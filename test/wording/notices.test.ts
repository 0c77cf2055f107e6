import { expect, test } from 'vitest';
import type { Receipt } from '../../src/deliver/ledger/ledger.ts';
import {
  buildNotice,
  type Notice,
  type NoticeContent,
  noticeSubject,
  noticeText,
} from '../../src/deliver/notices/notice-text.ts';
import { buildReviewNotice, type ReviewNews } from '../../src/deliver/notices/review-notice.ts';
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

test('notices to owners', async () => {
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
  { kind: 'cancelled', reason: 'Not approved within 2 business days.' },
];

test('notices about reviews and corrections', async () => {
  const content = { ...CONTENT, timezone: 'Europe/Zurich', pageUrl: 'https://docket.example/runs/0123' };
  const notices: readonly (readonly [string, Notice])[] = [
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
        { id: 'acme', name: 'Acme' },
        content.pageUrl,
      ),
    ],
  ];
  const texts = notices.map(
    ([name, notice]) => `--- ${name}\nSubject: ${notice.subject}\n\n${noticeText(notice).replaceAll('\r\n', '\n')}`,
  );
  await expect(texts.join('\n')).toMatchFileSnapshot('./snapshots/review-notices.txt');
});
