import { createServer } from 'node:https';
import { SMTPServer } from 'smtp-server';
import { Agent } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { createRedactor } from '../../../../../src/base/secrets/redactor.ts';
import { Secret } from '../../../../../src/base/secrets/secret.ts';
import { accessTokens, type OAuth2Client } from '../../../../../src/deliver/targets/email/smtp/oauth2.ts';
import { smtpMailer } from '../../../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { probeSmtp } from '../../../../../src/deliver/targets/email/smtp/smtp-probe.ts';
import { manualClock } from '../../../../support/manual-clock.ts';
import { TLS } from '../../../../support/tls.ts';

type Answer = { readonly status: number; readonly body: unknown };

/** A token server that gives these answers and records the requests. */
async function tokenServer(answer: (requested: number) => Answer) {
  const requested: URLSearchParams[] = [];
  const server = createServer(TLS, async (request, response) => {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    requested.push(new URLSearchParams(body));
    const { status, body: says } = answer(requested.length);
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(typeof says === 'string' ? says : JSON.stringify(says));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const dispatcher = new Agent({ connect: { ca: TLS.cert } });
  onTestFinished(async () => {
    await dispatcher.close();
    await new Promise((resolve) => server.close(resolve));
  });
  const client: OAuth2Client = {
    tokenUrl: `https://localhost:${address.port}/token`,
    clientId: new Secret('client'),
    clientSecret: new Secret('hunter2-client'),
    refreshToken: new Secret('hunter2-refresh'),
    scope: undefined,
    redactor: createRedactor(),
  };
  return { asked: requested, client, dispatcher };
}

/** A mail server that accepts these tokens. */
async function tokenSmtp(good: Set<string>) {
  const shown: string[] = [];
  let messages = 0;
  const server = new SMTPServer({
    ...TLS,
    authMethods: ['PLAIN', 'XOAUTH2'],
    disableReverseLookup: true,
    onAuth: ({ method, username, accessToken }, _session, callback) => {
      shown.push(`${method} ${username} ${accessToken}`);
      if (good.has(String(accessToken))) callback(null, { user: username ?? '' });
      else callback(null, { data: { status: '401', schemes: 'bearer' } });
    },
    onData: (stream, _session, callback) => {
      stream.resume().on('end', () => {
        messages += 1;
        callback();
      });
    },
  });
  server.on('error', () => {});
  const port = await new Promise<number>((resolve, reject) => {
    const listener = server.listen(0, '127.0.0.1', () => {
      const address = listener.address();
      if (address === null || typeof address === 'string') return reject(new Error('no port'));
      resolve(address.port);
    });
  });
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { shown, port, messages: () => messages };
}

const ENVELOPE = { from: 'reports@docket.example', to: 'lead@acme.example' };
const RAW = Buffer.from('Subject: hello\r\n\r\nHello\r\n');
const NEVER = new AbortController().signal;
const granted = (token: string, more: object = {}) => ({
  status: 200,
  body: { access_token: token, expires_in: 3600, ...more },
});

function mailerWith(port: number, tokens: ReturnType<typeof accessTokens>) {
  const options = { ca: TLS.cert, oauth2: { user: 'reports@docket.example', tokens } };
  const url = new Secret(`smtp://localhost:${port}`);
  const mailer = smtpMailer(url, options);
  onTestFinished(() => mailer.close());
  return { mailer, probe: () => probeSmtp(url, options) };
}

test('a token is requested once, used for logins, and requested again after it expires', async () => {
  const { asked, client, dispatcher } = await tokenServer((n) => granted(`token-${n}`));
  const smtp = await tokenSmtp(new Set(['token-1', 'token-2']));
  const clock = manualClock(0);
  const { mailer, probe } = mailerWith(smtp.port, accessTokens(client, clock, dispatcher));

  expect((await probe()).detail).toContain('reports@docket.example');
  expect(await mailer.send(ENVELOPE, RAW, NEVER)).toMatchObject({ kind: 'accepted' });
  expect(asked.map((form) => Object.fromEntries(form))).toEqual([
    {
      client_id: 'client',
      client_secret: 'hunter2-client',
      grant_type: 'refresh_token',
      refresh_token: 'hunter2-refresh',
    },
  ]);
  clock.set(3_541_000);
  await probe();
  expect(asked).toHaveLength(2);
  expect(smtp.shown.map((line) => line.split(' ').at(-1))).toEqual(['token-1', 'token-1', 'token-2']);
  expect(smtp.messages()).toBe(1);
});

test('a refused token is replaced once, on the same connection', async () => {
  const { asked, client, dispatcher } = await tokenServer((n) => granted(`token-${n}`));
  const smtp = await tokenSmtp(new Set(['token-2']));
  const { mailer } = mailerWith(smtp.port, accessTokens(client, manualClock(0), dispatcher));
  expect(await mailer.send(ENVELOPE, RAW, NEVER)).toMatchObject({ kind: 'accepted' });
  expect(asked).toHaveLength(2);
});

test('messages are deferred without revealing a token if the mail server refuses every token', async () => {
  const { client, dispatcher } = await tokenServer((n) => granted(`hunter2-token-${n}`));
  const smtp = await tokenSmtp(new Set());
  const { mailer } = mailerWith(smtp.port, accessTokens(client, manualClock(0), dispatcher));
  const result = await mailer.send(ENVELOPE, RAW, NEVER);
  expect(result).toMatchObject({ kind: 'deferred', server: true });
  expect(JSON.stringify(result)).not.toContain('hunter2');
  expect(smtp.messages()).toBe(0);
});

test.each<[string, Answer, string]>([
  [
    'refuses the refresh token',
    { status: 400, body: { error: 'invalid_grant', secret: 'hunter2' } },
    'HTTP 400: invalid_grant',
  ],
  ['says something else', { status: 200, body: '<html>hunter2' }, 'no access token'],
  ['is down', { status: 503, body: 'hunter2' }, 'HTTP 503'],
  ['sends too much text', { status: 200, body: 'x'.repeat(100_000) }, 'too long'],
])('messages are deferred with a reason without secrets if the token server %s', async (_, answer, why) => {
  const { client, dispatcher } = await tokenServer(() => answer);
  const smtp = await tokenSmtp(new Set());
  const tokens = accessTokens(client, manualClock(0), dispatcher);
  await expect(tokens({ renew: false })).rejects.toMatchObject({
    code: 'deliver.target_failed',
    got: expect.stringContaining(why),
  });
  const result = await mailerWith(smtp.port, tokens).mailer.send(ENVELOPE, RAW, NEVER);
  expect(result).toMatchObject({ kind: 'deferred', server: true, response: expect.any(String) });
  expect(JSON.stringify(result)).not.toContain('hunter2');
});

test('concurrent messages share one token request, which uses client_credentials without a refresh token', async () => {
  const { asked, client, dispatcher } = await tokenServer((n) => granted(`token-${n}`));
  const tokens = accessTokens({ ...client, refreshToken: undefined, scope: 'mail' }, manualClock(0), dispatcher);
  const all = await Promise.all(Array.from({ length: 10 }, () => tokens({ renew: false })));
  expect(new Set(all.map((token) => token.reveal()))).toEqual(new Set(['token-1']));
  expect(asked.map((form) => Object.fromEntries(form))).toEqual([
    { client_id: 'client', client_secret: 'hunter2-client', grant_type: 'client_credentials', scope: 'mail' },
  ]);
});

test('a password in the URL is refused together with OAuth2', () => {
  const oauth2 = { user: 'me', tokens: async () => new Secret('t') };
  expect(() => smtpMailer(new Secret('smtp://me:secret@mail.example'), { oauth2 })).toThrowError(
    expect.objectContaining({ code: 'config.invalid', expected: expect.stringContaining('smtp.oauth2') }),
  );
});
