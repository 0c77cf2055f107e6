import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../../src/base/clock.ts';
import { createRedactor } from '../../../../../src/base/secrets/redactor.ts';
import { Secret } from '../../../../../src/base/secrets/secret.ts';
import { accessTokens } from '../../../../../src/deliver/targets/email/smtp/oauth2.ts';
import { smtpMailer } from '../../../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { probeSmtp } from '../../../../../src/deliver/targets/email/smtp/smtp-probe.ts';
import { hostileServer, json } from '../../../../support/hostile-server.ts';
import { encodingsFoundIn, encodingsOf } from '../../../../support/secret-encodings.ts';
import { type SmtpStep, scriptedSmtp } from '../../../../support/smtp-script.ts';

const PASSWORD = 'Mail/Pa55+word=for&ever';
const ENVELOPE = { from: 'reports@docket.example', to: 'lead@acme.example' };
const RAW = Buffer.from('Subject: x\r\n\r\nHello\r\n');
const NEVER = new AbortController().signal;
const LINES = Object.values(encodingsOf(PASSWORD)).filter((text) => /^[ -~]*$/.test(text));

/** A reply with one encoding per line. The last lines are too long to be shown completely. */
const reply = (code: number) =>
  [...LINES, 'x'.repeat(480) + PASSWORD]
    .map((text) => `${code}-${text}`)
    .concat(`${code} ${PASSWORD}`)
    .join('\r\n');

const urlOf = (url: string) => new Secret(url.replace('://', `://me:${encodeURIComponent(PASSWORD)}@`));

test.each<[SmtpStep, number]>([
  ['AUTH', 535],
  ['AUTH', 454],
  ['MAIL', 550],
  ['RCPT', 550],
  ['RCPT', 450],
  ['DATA', 554],
  ['dot', 250],
  ['dot', 550],
  ['dot', 451],
])('a password that the reply to %s (%i) repeats is redacted', async (step, code) => {
  const server = await scriptedSmtp({ [step]: { say: reply(code) } }, ['AUTH PLAIN LOGIN']);
  onTestFinished(() => server.close());
  const mailer = smtpMailer(urlOf(server.url));
  const result = JSON.stringify(await mailer.send(ENVELOPE, RAW, NEVER));
  await mailer.close();
  expect(encodingsFoundIn(result, PASSWORD)).toEqual([]);
  expect(result).toContain('[secret]');
  if (step !== 'AUTH') return;
  const probed: unknown = await probeSmtp(urlOf(server.url)).catch((error: unknown) => error);
  expect(encodingsFoundIn(JSON.stringify(probed), PASSWORD)).toEqual([]);
  expect(probed).toMatchObject({ code: 'deliver.target_failed', got: expect.stringContaining('[secret]') });
});

test('secrets and tokens that a token server repeats are redacted', async () => {
  const server = await hostileServer();
  onTestFinished(() => server.close());
  const redactor = createRedactor();
  const secrets = ['client/secret+of=docket', 'refresh/token+of=docket'] as const;
  const tokens = accessTokens(
    {
      tokenUrl: `${server.url}/token`,
      clientId: new Secret('docket'),
      clientSecret: new Secret(secrets[0]),
      refreshToken: new Secret(secrets[1]),
      scope: undefined,
      redactor,
    },
    systemClock,
  );
  for (const secret of secrets) {
    for (const echo of Object.values(encodingsOf(secret))) {
      server.behave(json({ error: echo }, 400));
      const error: unknown = await tokens({ renew: true }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'deliver.target_failed', got: expect.stringContaining('[secret]') });
      expect(encodingsFoundIn(JSON.stringify(error), secret)).toEqual([]);
    }
  }
  server.behave(json({ access_token: 'an-access-token-of-today', refresh_token: 'another-refresh-token' }));
  await tokens({ renew: true });
  expect(redactor.redact('an-access-token-of-today, another-refresh-token')).toBe('[secret], [secret]');
});
