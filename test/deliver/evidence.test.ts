import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { decidedAttempt } from '../../src/deliver/archive.ts';
import { type DeliverInput, deliver } from '../../src/deliver/deliver.ts';
import { deliveryId, type Ledger } from '../../src/deliver/ledger.ts';
import type { Mailer, SendResult } from '../../src/deliver/mailer.ts';
import { memoryLedger } from '../../src/deliver/memory-ledger.ts';
import { messageIdOf } from '../../src/deliver/message.ts';
import { definitionWith, folderFor, NO_SECRETS, ORDER, RUN, SETTINGS, sealedRun } from '../support/delivery-case.ts';

const TO = 'lead@acme.example';
const ID = deliveryId(RUN, '0-email', TO);
const ROW = { id: ID, run: RUN, org: 'acme', report: 'weekly-kpi', target: '0-email', recipient: TO };
const LOST: SendResult = { kind: 'unknown', why: 'No answer' };
const LATER: SendResult = { kind: 'deferred', response: '450 Later', server: false };
const ACCEPTED: SendResult = { kind: 'accepted', response: '250 Ok' };

async function aRun(...answers: SendResult[]) {
  const root = await folderFor(onTestFinished);
  const { archive, sealed } = await sealedRun(root);
  const sent: string[] = [];
  const mailer: Mailer = {
    send: async (_, raw) => {
      sent.push(Buffer.from(raw).toString('utf8'));
      return answers.shift() ?? ACCEPTED;
    },
    close: async () => {},
  };
  const input: DeliverInput = {
    order: ORDER,
    definition: definitionWith([{ email: { to: [TO] } }]),
    settings: SETTINGS,
    secrets: NO_SECRETS,
    sealed,
    mail: { mailer, from: 'reports@docket.example' },
    ledger: memoryLedger(),
    archive,
    clock: systemClock,
    signal: new AbortController().signal,
    observe: () => {},
    workingDirectory: root,
  };
  const state = async (ledger: Ledger = memoryLedger(), change: Partial<DeliverInput> = {}) =>
    (await deliver({ ...input, ...change, ledger })).receipts[0]?.state;
  return { input, sent, state, sealed, archive };
}

test.each([
  ['sent', ACCEPTED, 'sent'],
  ['unknown', LOST, 'unknown'],
  ['refused', { kind: 'refused', response: '550 No' }, 'refused'],
] as const)('what was %s stays so when the ledger is gone, and is not sent again', async (_, answer, state) => {
  const { sent, ...run } = await aRun(answer);
  expect(await run.state()).toBe(state);
  expect(await run.state()).toBe(state);
  expect(sent).toHaveLength(1);
});

test('what surely was not accepted is sent when the ledger is gone, with the same bytes', async () => {
  const { sent, state } = await aRun(LATER);
  expect(await state()).toBe('pending');
  expect(await state()).toBe('sent');
  expect(sent).toHaveLength(2);
  expect(sent[1]).toBe(sent[0]);
});

test('a ledger that was rolled back to before the attempt takes over how it ended', async () => {
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

test('a ledger that was rolled back amid the attempts holds what a later one may have delivered', async () => {
  const { sent, state, archive, sealed } = await aRun(LATER);
  const ledger = memoryLedger();
  expect(await state(ledger)).toBe('pending');
  // A second attempt began elsewhere, and its process died.
  await archive.keepAttempt(sealed, { delivery: ID, epoch: 2, state: 'sending', detail: null, at: 2 });
  expect(await state(ledger)).toBe('unknown');
  expect(sent).toHaveLength(1);
  expect(await ledger.find(ID)).toMatchObject({ state: 'unknown', epoch: 2 });
});

test('a message that was kept without any word of it may have left', async () => {
  const { sent, state, archive, sealed } = await aRun();
  await archive.keepMessage(sealed, ID, Buffer.from('ready to leave'));
  expect(await state()).toBe('unknown');
  expect(sent).toHaveLength(0);
});

test('receipts alone will do where no attempts were kept', async () => {
  const { sent, state, sealed } = await aRun();
  expect(await state()).toBe('sent');
  await rm(join(sealed.folder, 'attempts'), { recursive: true });
  expect(await state()).toBe('sent');
  expect(sent).toHaveLength(1);
});

test('a decision outlives the ledger: sent is sent, and what is to be sent again is, with the same Message-ID', async () => {
  for (const [to, ends] of [
    ['sent', 1],
    ['pending', 2],
  ] as const) {
    const { sent, state, input, archive, sealed } = await aRun(LOST);
    expect(await state(input.ledger)).toBe('unknown');
    const decision = { to, by: 'ops', reason: 'asked', at: 5 };
    const row = await input.ledger.resolve(ID, 1, decision);
    if (row === undefined) throw new Error('not resolved');
    await archive.keepAttempt(sealed, decidedAttempt(row, decision));
    expect(await state()).toBe('sent');
    expect(sent).toHaveLength(ends);
    for (const message of sent) expect(message).toContain(messageIdOf(ID, 'reports@docket.example'));
  }
});

test('on_unknown: resend puts it back once, with the decision on record; a second silence waits for a person', async () => {
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

test('on the last try nothing is put back: nobody would send it', async () => {
  const { state, input } = await aRun(LOST);
  const settings = { ...SETTINGS, on_unknown: 'resend' as const };
  expect(await state(input.ledger, { settings, lastAttempt: true })).toBe('unknown');
});

test('a ledger that is lost amid the run leaves the run to be tried again, and the archive tells of what was sent', async () => {
  const { input, sent } = await aRun();
  const lost: Ledger = { ...input.ledger, list: async () => [] };
  expect(await deliver({ ...input, ledger: lost })).toMatchObject({
    retryable: true,
    receipts: [{ state: 'pending' }],
  });
  expect((await deliver({ ...input, ledger: memoryLedger() })).receipts[0]?.state).toBe('sent');
  expect(sent).toHaveLength(1);
});
