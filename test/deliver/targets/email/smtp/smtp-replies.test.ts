import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../../../../src/base/secrets/secret.ts';
import { smtpMailer } from '../../../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { parseReplyCode } from '../../../../../src/deliver/targets/email/smtp/smtp-replies.ts';
import { type SmtpScript, type SmtpStep, scriptedSmtp } from '../../../../support/smtp-script.ts';

const RAW = Buffer.from('Subject: hello\r\n\r\nHello\r\n');
const NEVER = new AbortController().signal;

async function sent(script: SmtpScript, extensions: readonly string[] = []) {
  const server = await scriptedSmtp(script, extensions);
  const mailer = smtpMailer(new Secret(server.url), { timeouts: { connect: 20_000, inactivity: 20_000 } });
  onTestFinished(async () => {
    await mailer.close();
    await server.close();
  });
  const result = await mailer.send({ from: 'reports@docket.example', to: 'lead@acme.example' }, RAW, NEVER);
  await mailer.close();
  await server.left();
  const [talk] = server.conversations;
  return { result, commands: talk?.commands ?? [], body: talk?.body.toString() ?? '', ended: talk?.ended };
}

test.each(['250 2.0.0 Queued', '250', '251 User not local; will forward', '250-2.0.0 Queued\r\n250 as 4711'])(
  '%j after the DATA terminator means that the message is accepted',
  async (say) => {
    expect((await sent({ dot: { say } })).result).toMatchObject({ kind: 'accepted' });
  },
);

test.each([
  '220 proxy.example ESMTP',
  '221 2.0.0 Bye',
  '252 Cannot verify the user',
  '200 Ok',
  '214 Help',
  '235 Authenticated',
  '299 Fine',
  '2500 Ok',
  '250ok',
  '25 Ok',
  '250-2.0.0 Queued\r\n550 5.7.1 No',
  '550-5.7.1 No\r\n250 2.0.0 Queued',
  '451-4.3.0 Later\r\n250 2.0.0 Queued',
  '250-2.0.0 Queued\r\n251 Forwarded',
  '550-5.7.1 No\r\n451 4.3.0 Later',
  '250-2.0.0 Queued\r\n250-as\r\n220 proxy.example ESMTP',
  '5500 No',
  '354 Go on',
])('%j after the DATA terminator makes the message unknown', async (say) => {
  expect((await sent({ dot: { say } })).result).toMatchObject({ kind: 'unknown' });
});

test.each<[SmtpStep, string]>([
  ['greeting', '220-scripted.example\r\n554 No service'],
  ['EHLO', '250-scripted.example\r\n550 No'],
  ['EHLO', '220 scripted.example ESMTP'],
  ['MAIL', '220 scripted.example ESMTP'],
  ['MAIL', '250-2.1.0 Ok\r\n550 5.7.1 No'],
  ['RCPT', '252 Cannot verify the user'],
  ['RCPT', '220 scripted.example ESMTP'],
  ['RCPT', '250-2.1.5 Ok\r\n550 5.1.1 Nobody of that name'],
  ['RCPT', '550-5.1.1 Nobody of that name\r\n250 2.1.5 Ok'],
  ['DATA', '250 2.1.5 Ok'],
  ['DATA', '354-Go on\r\n554 5.5.1 No valid recipients'],
  ['DATA', '554-5.5.1 No valid recipients\r\n354 Go on'],
])('the reply to %s %j defers the message and sends no part of it', async (step, say) => {
  const { result, commands, body, ended } = await sent({ [step]: { say } });
  expect(result).toMatchObject({ kind: 'deferred' });
  expect(commands.filter((line) => line.startsWith('Subject'))).toEqual([]);
  expect({ body, ended }).toEqual({ body: '', ended: false });
});

test('an invalid reply to a pipelined RCPT sends nothing, even after 354', async () => {
  const { result, body, ended } = await sent({ RCPT: { say: '252 Cannot verify the user' } }, ['PIPELINING']);
  expect(result).toMatchObject({ kind: 'deferred' });
  expect({ body, ended }).toEqual({ body: '', ended: false });
});

test('a reply of 251 accepts a recipient', async () => {
  const { commands } = await sent({ RCPT: { say: '251 User not local; will forward' } });
  expect(commands.slice(-2)).toEqual(['RCPT TO:<lead@acme.example>', 'DATA']);
});

test.each<[string, number | undefined]>([
  ['250 Ok', 250],
  ['250', 250],
  ['250-a\n250-b\n250 c', 250],
  ['250-a\r\n250', 250],
  ['250-a\n550 b', undefined],
  ['250-a', undefined],
  ['250 a\n250 b', undefined],
  ['2500 a', undefined],
  ['250a', undefined],
  ['', undefined],
])('the code of a reply is read only if valid: %j', (reply, code) => {
  expect(parseReplyCode(reply)).toBe(code);
});
