import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { attemptFromDecision } from '../../../src/deliver/archive/archive.ts';
import { type DeliverInput, deliver } from '../../../src/deliver/deliver.ts';
import { deliveryId, type Ledger } from '../../../src/deliver/ledger/ledger.ts';
import { buildMessageId } from '../../../src/deliver/targets/email/email-message.ts';
import type { Mailer, SendResult } from '../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { definitionWith, deliverInput, folderFor, RUN, SETTINGS, sealedRun } from '../../support/delivery-case.ts';
import { memoryLedger } from '../../support/memory-ledger.ts';

const TO = 'lead@acme.example';
const ID = deliveryId(RUN, '0-email', TO);
const ROW = { id: ID, run: RUN, org: 'acme', report: 'weekly-kpi', target: '0-email', recipient: TO };
const LOST: SendResult = { kind: 'unknown', why: 'No answer' };
const LATER: SendResult = { kind: 'deferred', response: '450 Later', server: false };
const ACCEPTED: SendResult = { kind: 'accepted', response: '250 Ok' };

async function aRun(...answers: SendResult[]) {
  const root = await folderFor(onTestFinished);
  const { archive, published } = await sealedRun(root);
  const sent: string[] = [];
  const mailer: Mailer = {
    send: async (_, raw) => {
      sent.push(Buffer.from(raw).toString('utf8'));
      return answers.shift() ?? ACCEPTED;
    },
    close: async () => {},
  };
  const input = deliverInput({
    definition: definitionWith([{ email: { to: [TO] } }]),
    published,
    mail: { mailer, from: 'reports@docket.example' },
    archive,
    workingDirectory: root,
  });
  const state = async (ledger: Ledger = memoryLedger(), change: Partial<DeliverInput> = {}) =>
    (await deliver({ ...input, ...change, ledger })).receipts[0]?.state;
  return { input, sent, state, sealed: published, archive };
}

test.each([
  ['sent', ACCEPTED, 'sent'],
  ['unknown', LOST, 'unknown'],
  ['refused', { kind: 'refused', response: '550 No' }, 'refused'],
] as const)(
  'a delivery that was %s stays so and is not sent again after the ledger is lost',
  async (_, answer, state) => {
    const { sent, ...run } = await aRun(answer);
    expect(await run.state()).toBe(state);
    expect(await run.state()).toBe(state);
    expect(sent).toHaveLength(1);
  },
);

test('a deferred message is sent again with the same bytes after the ledger is lost', async () => {
  const { sent, state } = await aRun(LATER);
  expect(await state()).toBe('pending');
  expect(await state()).toBe('sent');
  expect(sent).toHaveLength(2);
  expect(sent[1]).toBe(sent[0]);
});

test('a ledger rolled back to before an attempt gets the attempt’s result from the archive', async () => {
  const { sent, state } = await aRun();
  expect(await state()).toBe('sent');
  const before = memoryLedger();
  await before.open(ROW, 1);
  expect(await state(before)).toBe('sent');
  const amid = memoryLedger();
  await amid.open(ROW, 1);
  await amid.begin(ID, 2);
  expect(await state(amid)).toBe('sent');
  expect(sent).toHaveLength(1);
});

test('a ledger rolled back between attempts makes a delivery unknown if a later attempt may have sent it', async () => {
  const { sent, state, archive, sealed } = await aRun(LATER);
  const ledger = memoryLedger();
  expect(await state(ledger)).toBe('pending');
  // Another process began a second attempt and died.
  await archive.putAttempt(sealed, { delivery: ID, epoch: 2, state: 'sending', detail: null, at: 2 });
  expect(await state(ledger)).toBe('unknown');
  expect(sent).toHaveLength(1);
  expect(await ledger.find(ID)).toMatchObject({ state: 'unknown', epoch: 2 });
});

test('an archived message without an attempt makes its delivery unknown', async () => {
  const { sent, state, archive, sealed } = await aRun();
  await archive.putMessage(sealed, ID, Buffer.from('ready to leave'));
  expect(await state()).toBe('unknown');
  expect(sent).toHaveLength(0);
});

test('receipts are used if there are no attempts', async () => {
  const { sent, state, sealed } = await aRun();
  expect(await state()).toBe('sent');
  await rm(join(sealed.folder, 'attempts'), { recursive: true });
  expect(await state()).toBe('sent');
  expect(sent).toHaveLength(1);
});

test('a decision survives the loss of the ledger; a resend has the same Message-ID', async () => {
  for (const [to, ends] of [
    ['sent', 1],
    ['pending', 2],
  ] as const) {
    const { sent, state, input, archive, sealed } = await aRun(LOST);
    expect(await state(input.ledger)).toBe('unknown');
    const decision = { to, by: 'ops', reason: 'asked', at: 5 };
    const row = await input.ledger.resolve(ID, 1, decision);
    if (row === undefined) throw new Error('not resolved');
    await archive.putAttempt(sealed, attemptFromDecision(row, decision));
    expect(await state()).toBe('sent');
    expect(sent).toHaveLength(ends);
    for (const message of sent) expect(message).toContain(buildMessageId(ID, 'reports@docket.example'));
  }
});

test('on_unknown: resend resends once with a recorded decision; a second unknown result stays', async () => {
  const { sent, state, input } = await aRun(LOST, LOST);
  const settings = { ...SETTINGS, on_unknown: 'resend' as const };
  const { ledger } = input;
  expect(await state(ledger, { settings })).toBe('pending');
  expect((await ledger.find(ID))?.decisions).toMatchObject([
    { by: 'docket', to: 'pending', reason: 'on_unknown: resend' },
  ]);
  expect(await state(ledger, { settings })).toBe('unknown');
  expect(await state(ledger, { settings })).toBe('unknown');
  expect(sent).toHaveLength(2);
  expect(sent[1]).toBe(sent[0]);
});

test('on_unknown: resend does nothing after the last attempt', async () => {
  const { state, input } = await aRun(LOST);
  const settings = { ...SETTINGS, on_unknown: 'resend' as const };
  expect(await state(input.ledger, { settings, lastAttempt: true })).toBe('unknown');
});

test('after the ledger is lost during a call, the next call uses the archive', async () => {
  const { input, sent } = await aRun();
  const lost: Ledger = { ...input.ledger, list: async () => [] };
  expect(await deliver({ ...input, ledger: lost })).toMatchObject({
    retryable: true,
    receipts: [{ state: 'pending' }],
  });
  expect((await deliver({ ...input, ledger: memoryLedger() })).receipts[0]?.state).toBe('sent');
  expect(sent).toHaveLength(1);
});
