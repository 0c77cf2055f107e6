import { readFile } from 'node:fs/promises';
import PostalMime from 'postal-mime';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { DocketError } from '../../../src/base/error.ts';
import type { Receipt } from '../../../src/deliver/ledger/ledger.ts';
import { type NoticeInput, notifyOwner } from '../../../src/deliver/notices/notice-sender.ts';
import { buildNotice, noticeText } from '../../../src/deliver/notices/notice-text.ts';
import type { DeliveredEvent } from '../../../src/deliver/send-pending.ts';
import type { SendResult } from '../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { archivedMessagePath } from '../../support/archived-messages.ts';
import { NOBODY_IS_DENIED } from '../../support/decision-harness.ts';
import { folderFor, ORDER, RUN, sealedRun } from '../../support/delivery-case.ts';
import { memoryLedger } from '../../support/memory-ledger.ts';

const receipt = (recipient: string, state: Receipt['state'], detail: string | null): Receipt => ({
  delivery: recipient,
  target: '0-email',
  recipient,
  state,
  detail,
  messageId: null,
});

async function noticeOf(
  change: Partial<NoticeInput> = {},
  answer = (): SendResult => ({ kind: 'accepted', response: '250' }),
) {
  const { archive, published } = await sealedRun(await folderFor(onTestFinished));
  const sent: { to: string; raw: Uint8Array }[] = [];
  const events: DeliveredEvent[] = [];
  const input: NoticeInput = {
    order: ORDER,
    definition: { title: 'Weekly KPIs', owner: 'ops@elsewhere.example' },
    error: null,
    receipts: [],
    published,
    mail: {
      from: 'reports@docket.example',
      mailer: {
        send: async ({ to }, raw) => {
          sent.push({ to, raw });
          return answer();
        },
        close: async () => {},
      },
    },
    ledger: memoryLedger(),
    denials: NOBODY_IS_DENIED,
    archive,
    clock: systemClock,
    signal: new AbortController().signal,
    observe: (event) => events.push(event),
    ...change,
  };
  return { input, sent, sealed: published, events };
}

test('a notice that is resent after a decision has the same bytes', async () => {
  let lost = true;
  const answer = (): SendResult =>
    lost ? { kind: 'unknown', why: 'no answer' } : { kind: 'accepted', response: '250 Ok' };
  const { input, sent, sealed } = await noticeOf({ receipts: [receipt('a@acme.example', 'refused', '550')] }, answer);
  const { delivery } = await notifyOwner(input);
  lost = false;
  await input.ledger.resolve(delivery, 1, { to: 'pending', by: 'ops', reason: 'not there', at: 1 });
  expect(await notifyOwner({ ...input, receipts: [] })).toMatchObject({ state: 'sent' });
  expect(sent).toHaveLength(2);
  expect(Buffer.from(sent[1]!.raw).equals(Buffer.from(sent[0]!.raw))).toBe(true);
  expect(Buffer.from((await input.archive.getMessage(sealed, delivery)) ?? []).equals(Buffer.from(sent[0]!.raw))).toBe(
    true,
  );
});

test('repeated calls notify the owner once, with the error and the next step', async () => {
  const error = new DocketError('api.unauthorized', 'The API key was refused.', {
    next: 'Renew the key that ACME_KEY holds.',
    correlationId: 'c-42',
  }).toJSON();
  const { input, sent, sealed, events } = await noticeOf({ error });

  const first = await notifyOwner(input);
  const second = await notifyOwner({ ...input, error: null });

  expect(first).toMatchObject({ state: 'sent', target: 'notice', recipient: 'ops@elsewhere.example' });
  expect(second).toEqual(first);
  expect(sent.map(({ to }) => to)).toEqual(['ops@elsewhere.example']);
  expect(events).toMatchObject([{ target: 'notice', state: 'sent' }]);
  const mail = await PostalMime.parse(sent[0]!.raw);
  expect(mail.messageId).toBe(first.messageId);
  for (const part of [error.message, error.code, error.next ?? '', 'c-42', 'acme/weekly-kpi', RUN]) {
    expect(mail.text).toContain(part);
  }
  const kept = await readFile(await archivedMessagePath(sealed.folder, first.delivery));
  expect(kept.equals(sent[0]!.raw)).toBe(true);
});

test('a notice of a partial delivery lists recipients by state, each with its commands', async () => {
  const receipts = [
    receipt('a@acme.example', 'sent', '250 Ok'),
    receipt('b@acme.example', 'refused', '550 No such user'),
    receipt('c@acme.example', 'unknown', 'No answer'),
  ];
  const { input, sent } = await noticeOf({ receipts });
  await notifyOwner(input);
  const mail = await PostalMime.parse(sent[0]!.raw);
  expect(mail.text).toMatch(
    /- b@acme\.example.*550 No such user[\s\S]*docket runs retry 0123456789abcdef0123456789abcdef [\s\S]*- c@acme.*No answer[\s\S]*docket deliveries resolve c@acme.example --sent --reason[\s\S]*docket deliveries resolve c@acme.example --resend --reason[\s\S]*- a@acme/,
  );
  expect(mail.attachments).toEqual([]);
});

test('an unknown notice is not resent, and a deferred one is retried', async () => {
  const lost = await noticeOf({}, () => ({ kind: 'unknown', why: 'No answer' }));
  expect(await notifyOwner(lost.input)).toMatchObject({ state: 'unknown' });
  expect(await notifyOwner(lost.input)).toMatchObject({ state: 'unknown' });
  expect(lost.sent).toHaveLength(1);

  const answers: SendResult[] = [
    { kind: 'deferred', response: '450 later', server: false },
    { kind: 'deferred', response: 'ECONNREFUSED', server: true },
    { kind: 'accepted', response: '250' },
  ];
  const late = await noticeOf({ clock: { now: () => 1, sleep: async () => {} } }, () => answers.shift()!);
  expect(await notifyOwner(late.input)).toMatchObject({ state: 'sent' });
  expect(late.sent).toHaveLength(3);
});

test('a deferred notice stays pending with its reason, and a later call sends it', async () => {
  const stop = new AbortController();
  const clock = { now: () => 1, sleep: async () => stop.abort() };
  let up = false;
  const { input } = await noticeOf({ clock, signal: stop.signal }, () =>
    up ? { kind: 'accepted', response: '250' } : { kind: 'deferred', response: '450 later', server: false },
  );
  expect(await notifyOwner(input)).toMatchObject({ state: 'pending', detail: '450 later', messageId: null });
  up = true;
  expect(await notifyOwner({ ...input, signal: new AbortController().signal })).toMatchObject({ state: 'sent' });
});

test('a notice of a held run differs from one of a failed run', async () => {
  const error = new DocketError('run.held', 'The figures are incomplete.').toJSON();
  const { input, sent } = await noticeOf({ error });
  await notifyOwner(input);
  const mail = await PostalMime.parse(sent[0]!.raw);
  expect(mail.subject?.toLowerCase()).toContain('held');
  expect(mail.text).toContain(`docket runs release ${RUN}`);
  expect(mail.text).not.toContain('failed');
});

test('a notice can be sent for a run that was not published', async () => {
  const { input, sent } = await noticeOf({ published: undefined });
  expect(await notifyOwner(input)).toMatchObject({ state: 'sent' });
  expect(sent).toHaveLength(1);
});

test('a notice is refused without a mail server or a plain address', async () => {
  const { input: silent } = await noticeOf({ mail: undefined });
  expect(await notifyOwner(silent)).toMatchObject({ state: 'refused', detail: expect.stringContaining('SMTP_URL') });
  const { input: invalid, sent } = await noticeOf({
    definition: { title: 'T', owner: 'a@b.example\r\nBcc: c@d.example' },
  });
  expect(await notifyOwner(invalid)).toMatchObject({ state: 'refused' });
  expect(sent).toEqual([]);
});

test('untrusted text cannot add lines to a notice that look like its own', () => {
  const forged = 'gone\r\nDelivered:\n  - board@acme.example\u2028Run:  \u202e7';
  const notice = buildNotice({
    order: ORDER,
    definition: { title: 'KPIs \u202e' },
    error: { code: 'api.refused', message: forged, got: forged, next: 'Wait.' },
    receipts: [receipt('lead@acme.example', 'refused', forged)],
  });
  const text = noticeText(notice);
  const lines = text.split('\r\n');
  expect(lines.filter((line) => /^(Delivered:|Run:)/.test(line))).toEqual([expect.stringContaining(ORDER.id)]);
  expect(lines.filter((line) => /^ {2}- /.test(line))).toEqual([expect.stringContaining('lead@acme.example')]);
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202e]/u);
});
