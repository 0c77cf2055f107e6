import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/base/secret.ts';
import { probeMailServer } from '../../src/deliver/probe.ts';
import { type SmtpAct, type SmtpStep, scriptedSmtp } from '../support/smtp-script.ts';

async function serverWith(script: Partial<Record<SmtpStep, SmtpAct>>) {
  const server = await scriptedSmtp(script, ['AUTH PLAIN']);
  onTestFinished(() => server.close());
  return server;
}

test('a mail server that answers is named, and no message is begun', async () => {
  const server = await serverWith({});
  const url = server.url.replace('://', '://me:s3cret@');
  expect(await probeMailServer(new Secret(url))).toBe(`127.0.0.1:${server.port} answers and lets me in`);
  expect(await probeMailServer(new Secret(server.url))).toBe(`127.0.0.1:${server.port} answers`);
  const commands = server.conversations.flatMap((talk) => talk.commands.map((line) => line.split(' ')[0]));
  expect(new Set(commands)).toEqual(new Set(['EHLO', 'AUTH']));
});

test.each<[string, Partial<Record<SmtpStep, SmtpAct>>, string]>([
  ['refuses us', { greeting: { say: '554 5.3.2 Go away' } }, '554 5.3.2 Go away'],
  ['refuses the password', { AUTH: { say: '535 5.7.8 Wrong' } }, '535 5.7.8 Wrong'],
  ['closes', { EHLO: 'FIN' }, 'closed'],
  ['goes silent', { greeting: 'hang' }, 'Greeting never received'],
])('a mail server that %s is an error with its answer, never with the password', async (_, script, answer) => {
  const server = await serverWith(script);
  const url = new Secret(server.url.replace('://', '://me:s3cret@'));
  const probe = probeMailServer(url, { timeouts: { connect: 3_000 } });
  const error: unknown = await probe.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: 'deliver.target_failed',
    message: `The mail server 127.0.0.1:${server.port} cannot be used.`,
    got: expect.stringContaining(answer),
    next: expect.stringContaining('SMTP_URL'),
  });
  expect(JSON.stringify(error)).not.toContain('s3cret');
});
