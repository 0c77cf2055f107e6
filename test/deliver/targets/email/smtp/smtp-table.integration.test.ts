import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'vitest';
import { Secret } from '../../../../../src/base/secrets/secret.ts';
import { deliver } from '../../../../../src/deliver/deliver.ts';
import { smtpMailer } from '../../../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { definitionWith, deliverInput, sealedRun } from '../../../../support/delivery-case.ts';
import { type SmtpAct, type SmtpStep, scriptedSmtp } from '../../../../support/smtp-script.ts';

const TO = ['a@acme.example', 'b@acme.example', 'c@acme.example'];
type State = 'sent' | 'refused' | 'pending' | 'unknown';

const LATER: SmtpAct = { say: '451 4.3.0 Later' };
const NO: SmtpAct = { say: '554 5.7.1 No' };
const CLOSING: SmtpAct = { say: '421 4.3.2 Shutting down' };
const BROKEN: readonly SmtpAct[] = ['FIN', 'RST', 'hang', CLOSING];

/**
 * The states after an act, for the rows of its message and of the later ones. A server that fails before a message is
 * sent is not tried again in this attempt.
 */
const rowsOf = (step: SmtpStep, act: SmtpAct, nth: number): readonly State[] => {
  const before = TO.slice(0, nth).map((): State => 'sent');
  const after = (state: State) => TO.slice(nth + 1).map((): State => state);
  if (BROKEN.includes(act)) {
    if (step === 'dot') return [...before, 'unknown', ...after('sent')];
    // The failure of a kept connection says nothing about the server, so a new connection is tried.
    return nth > 0 ? [...before, 'sent', ...after('sent')] : ['pending', ...after('pending')];
  }
  if (step === 'greeting' || step === 'EHLO' || step === 'AUTH') return ['pending', ...after('pending')];
  return [...before, act === NO ? 'refused' : 'pending', ...after('sent')];
};

const CASES: [SmtpStep, SmtpAct, number][] = [];
for (const act of [...BROKEN, LATER, NO]) {
  for (const step of ['greeting', 'EHLO', 'AUTH'] as const) CASES.push([step, act, 0]);
  for (const nth of [0, 1, 2])
    for (const step of ['MAIL', 'RCPT', 'DATA', 'dot'] as const) CASES.push([step, act, nth]);
  CASES.push(['body', act, 0]);
}

const nameOf = (act: SmtpAct): string => (typeof act === 'string' ? act : 'say' in act ? act.say.slice(0, 3) : 'odd');

async function delivered(
  step: SmtpStep,
  act: SmtpAct,
  nth: number,
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
) {
  const root = await mkdtemp(join(tmpdir(), 'docket-table-'));
  let broken = true;
  const server = await scriptedSmtp((_connection, message) => (broken && message === nth ? { [step]: act } : {}));
  const url = step === 'AUTH' ? server.url.replace('://', '://me:secret@') : server.url;
  const mailerOf = (wait: number) => smtpMailer(new Secret(url), { timeouts: { connect: wait, inactivity: wait } });
  // Silent servers get a short timeout. All others get a long one, because a busy machine is not an error.
  const silent = act === 'hang' || (step === 'body' && act === 'FIN');
  const patient = mailerOf(20_000);
  const mailer = silent ? mailerOf(2_000) : patient;
  onTestFinished(async () => {
    await mailer.close();
    await patient.close();
    await server.close();
    await rm(root, { recursive: true, force: true });
  });
  // For acts during the body: larger than all buffers between client and server.
  const size = step === 'body' ? 7 * 1024 * 1024 : 10;
  const { archive, published } = await sealedRun(root, { 'a.csv': Buffer.alloc(size, 'x') });
  const mail = { mailer, from: 'reports@docket.example' };
  const input = deliverInput({
    definition: definitionWith([{ email: { to: [...TO], attach: ['csv'] } }]),
    published,
    mail,
    archive,
    workingDirectory: root,
  });
  const first = await deliver(input);
  broken = false;
  const second = await deliver({ ...input, mail: { ...mail, mailer: patient } });
  const copies = TO.map(
    (to) =>
      server.conversations.filter(({ accepted, commands }) => accepted && commands.includes(`RCPT TO:<${to}>`)).length,
  );
  return { first: first.receipts.map(({ state }) => state), second: second.receipts.map(({ state }) => state), copies };
}

for (const [step, act, nth] of CASES) {
  test.concurrent(`the rows have the expected states after ${nameOf(act)} at ${step} of message ${nth + 1} of 3`, async (context) => {
    const { expect } = context;
    const rows = rowsOf(step, act, nth);
    const { first, second, copies } = await delivered(step, act, nth, context);
    expect(first).toEqual(rows);
    // The next attempt, with a working server, sends the pending messages and nothing else.
    expect(second).toEqual(rows.map((state) => (state === 'pending' ? 'sent' : state)));
    second.forEach((state, index) => {
      if (state === 'sent') expect(copies[index]).toBe(1);
      else if (state === 'refused') expect(copies[index]).toBe(0);
      else expect(copies[index]).toBeLessThanOrEqual(1);
    });
  });
}
