import PostalMime from 'postal-mime';
import { expect, test } from 'vitest';
import { noticeHtml } from '../../../src/deliver/notices/notice-html.ts';
import { buildNotice, type NoticeContent, noticeText } from '../../../src/deliver/notices/notice-text.ts';
import { buildEmail } from '../../../src/deliver/targets/email/email-message.ts';

const CONTENT: NoticeContent = {
  order: {
    id: '0123456789abcdef0123456789abcdef',
    org: 'acme',
    report: 'weekly-kpi',
    slot: '2026-11-16T07:00:00.000Z',
    period: { label: '2026-W46' },
  },
  definition: { title: 'Weekly <b>KPIs</b> \u202e' },
  organization: 'Acme & Co',
  pageUrl: 'https://docket.acme.example/runs/0123456789abcdef0123456789abcdef',
  error: { code: 'api.unauthorized', message: 'Refused\n<script>', next: 'Renew the key.' },
  receipts: [],
};

test('both parts of a notice say the same, link to the run and have no other links', () => {
  const [html, text] = [noticeHtml(buildNotice(CONTENT)), noticeText(buildNotice(CONTENT))];
  for (const part of [html, text]) {
    for (const said of ['api.unauthorized', 'Renew the key.', 'docket runs retry', CONTENT.pageUrl ?? '']) {
      expect(part).toContain(said);
    }
  }
  expect(html).toContain('Acme &amp; Co');
  expect(html).not.toMatch(/<script|<b>KPIs|\u202e|<img|<link|url\(|src=/);
  expect([...html.matchAll(/href="([^"]*)"/g)].map(([, url]) => url)).toEqual([CONTENT.pageUrl]);
  const { pageUrl: _, ...without } = CONTENT;
  expect(noticeHtml(buildNotice(without))).not.toContain('href');
});

test('a notice has the same sender, list and parts as an e-mail of a report', async () => {
  const { raw } = await buildEmail({
    delivery: 'd'.repeat(32),
    run: CONTENT.order.id,
    from: 'reports@docket.example',
    fromName: 'Acme & Co',
    list: CONTENT.order,
    to: 'ops@acme.example',
    subject: 'Failed',
    text: noticeText(buildNotice(CONTENT)),
    html: noticeHtml(buildNotice(CONTENT)),
    attachments: [],
    date: new Date(0),
  });
  const mail = await PostalMime.parse(raw);
  expect(mail.from).toEqual({ address: 'reports@docket.example', name: 'Acme & Co' });
  expect(mail.headers.find(({ key }) => key === 'list-id')?.value).toBe('<weekly-kpi.acme.docket.example>');
  expect([mail.html, mail.text].every((part) => part?.includes('api.unauthorized'))).toBe(true);
});
