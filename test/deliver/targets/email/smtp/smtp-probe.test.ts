import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../../../../src/base/secrets/secret.ts';
import { probeSmtp } from '../../../../../src/deliver/targets/email/smtp/smtp-probe.ts';
import { type SmtpAct, type SmtpStep, scriptedSmtp } from '../../../../support/smtp-script.ts';

async function serverWith(script: Partial<Record<SmtpStep, SmtpAct>>) {
  const server = await scriptedSmtp(script, ['AUTH PLAIN']);
  onTestFinished(() => server.close());
  return server;
}

test('a probe logs in and sends no message', async () => {
  const server = await serverWith({});
  const url = server.url.replace('://', '://me:s3cret@');
  for (const each of [url, server.url])
    expect(await probeSmtp(new Secret(each))).toMatchObject({ host: '127.0.0.1', encrypted: false });
  const commands = server.conversations.flatMap((talk) => talk.commands.map((line) => line.split(' ')[0]));
  expect(new Set(commands)).toEqual(new Set(['EHLO', 'AUTH']));
});

test.each<[string, Partial<Record<SmtpStep, SmtpAct>>, string]>([
  ['refuses the connection', { greeting: { say: '554 5.3.2 Go away' } }, '554 5.3.2 Go away'],
  ['refuses the password', { AUTH: { say: '535 5.7.8 Wrong' } }, '535 5.7.8 Wrong'],
  ['closes', { EHLO: 'FIN' }, 'closed'],
  ['goes silent', { greeting: 'hang' }, 'Greeting never received'],
])('the probe fails with the reply and without the password if the mail server %s', async (_, script, reply) => {
  const server = await serverWith(script);
  const url = new Secret(server.url.replace('://', '://me:s3cret@'));
  const probe = probeSmtp(url, { timeouts: { connect: 3_000 } });
  const error: unknown = await probe.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: 'deliver.target_failed',
    message: expect.stringContaining(`127.0.0.1:${server.port}`),
    got: expect.stringContaining(reply),
    next: expect.stringContaining('SMTP_URL'),
  });
  expect(JSON.stringify(error)).not.toContain('s3cret');
});
