import { readFile } from 'node:fs/promises';
import PostalMime from 'postal-mime';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { DocketError } from '../../src/base/error.ts';
import type { DeliveredEvent } from '../../src/deliver/deliver.ts';
import type { SendResult } from '../../src/deliver/mailer.ts';
import { memoryLedger } from '../../src/deliver/memory-ledger.ts';
import { type NoticeInput, noticeText, notifyOwner } from '../../src/deliver/notice.ts';
import type { Receipt } from '../../src/deliver/receipt.ts';
import { folderFor, ORDER, RUN, sealedRun } from '../support/delivery-case.ts';
import { keptMessage } from '../support/kept-message.ts';

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
  const { archive, sealed } = await sealedRun(await folderFor(onTestFinished));
  const sent: { to: string; raw: Uint8Array }[] = [];
  const events: DeliveredEvent[] = [];
  const input: NoticeInput = {
    order: ORDER,
    definition: { title: 'Weekly KPIs', owner: 'ops@elsewhere.example' },
    error: null,
    receipts: [],
    sealed,
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
    archive,
    clock: systemClock,
    signal: new AbortController().signal,
    observe: (event) => events.push(event),
    ...change,
  };
  return { input, sent, sealed, events };
}

test('a notice that somebody has sent again is the very one of before, whatever became of the run since', async () => {
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
  expect(Buffer.from((await input.archive.message(sealed, delivery)) ?? []).equals(Buffer.from(sent[0]!.raw))).toBe(
    true,
  );
});

test('the owner is told once what failed and what to do, however often it is asked', async () => {
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
  expect(mail.subject).toBe('Failed: Weekly KPIs 2026-W46');
  expect(mail.messageId).toBe(first.messageId);
  for (const part of ['The API key was refused. [api.unauthorized]', 'Renew the key', 'c-42', 'acme/weekly-kpi', RUN]) {
    expect(mail.text).toContain(part);
  }
  expect(mail.text).toContain('Nothing was delivered.');
  const kept = await readFile(await keptMessage(sealed.folder, first.delivery));
  expect(kept.equals(sent[0]!.raw)).toBe(true);
});

test('a run that was delivered in part names who has it, who has not and of whom nobody knows', async () => {
  const receipts = [
    receipt('a@acme.example', 'sent', '250 Ok'),
    receipt('b@acme.example', 'refused', '550 No such user'),
    receipt('c@acme.example', 'unknown', 'No answer'),
  ];
  const { input, sent } = await noticeOf({ receipts });
  await notifyOwner(input);
  const mail = await PostalMime.parse(sent[0]!.raw);
  expect(mail.subject).toBe('Delivered in part only: Weekly KPIs 2026-W46');
  expect(mail.text).toMatch(
    /Not delivered:\s+- b@acme\.example.*550 No such user[\s\S]*docket runs retry 0123456789abcdef0123456789abcdef [\s\S]*Perhaps delivered, perhaps not:\s+- c@acme.*No answer[\s\S]*docket deliveries resolve c@acme.example --sent\|--resend[\s\S]*Delivered:\s+- a@acme/,
  );
  expect(mail.attachments).toEqual([]);
});

test('a notice that may have arrived is not sent again, one that surely has not may be', async () => {
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

test('a notice that nobody takes in time stays pending with its reason, and is sent when asked again', async () => {
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

test('a run that is held is not called failed', async () => {
  const error = new DocketError('run.held', 'The figures are not whole.').toJSON();
  const { input, sent } = await noticeOf({ error });
  await notifyOwner(input);
  const mail = await PostalMime.parse(sent[0]!.raw);
  expect(mail.subject).toBe('Held: Weekly KPIs 2026-W46');
  expect(mail.text).toContain('is held: nothing was sent');
  expect(mail.text).not.toContain('failed');
});

test('a notice of a run without a sealed folder is sent all the same', async () => {
  const { input, sent } = await noticeOf({ sealed: undefined });
  expect(await notifyOwner(input)).toMatchObject({ state: 'sent' });
  expect(sent).toHaveLength(1);
});

test('without a mail server, or with an owner that is no address, the receipt says so', async () => {
  const { input: silent } = await noticeOf({ mail: undefined });
  expect(await notifyOwner(silent)).toMatchObject({ state: 'refused', detail: expect.stringContaining('SMTP_URL') });
  const { input: nobody, sent } = await noticeOf({
    definition: { title: 'T', owner: 'a@b.example\r\nBcc: c@d.example' },
  });
  expect(await notifyOwner(nobody)).toMatchObject({ state: 'refused', detail: expect.stringContaining('plain') });
  expect(sent).toEqual([]);
});

test('a notice has no line that somebody else’s words have made', () => {
  const forged = 'gone\r\nDelivered:\n  - board@acme.example\u2028Run:  \u202e7';
  const text = noticeText({
    order: ORDER,
    definition: { title: 'KPIs \u202e', owner: 'ops@acme.example' },
    error: { code: 'api.refused', message: forged, got: forged, next: 'Wait.' },
    receipts: [receipt('lead@acme.example', 'refused', forged)],
  });
  const lines = text.split('\r\n');
  expect(lines.filter((line) => /^(Delivered:|Run:)/.test(line))).toEqual([expect.stringContaining(ORDER.id)]);
  expect(lines.filter((line) => /^ {2}- /.test(line))).toEqual([expect.stringContaining('lead@acme.example')]);
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202e]/u);
});
