import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../../../../src/base/secrets/secret.ts';
import { smtpMailer } from '../../../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { readSmtpCertificate } from '../../../../../src/deliver/targets/email/smtp/smtp-probe.ts';
import { TLS } from '../../../../support/tls.ts';

const ENVELOPE = { from: 'reports@docket.example', to: 'lead@acme.example' };
const RAW = Buffer.from('Subject: hello\r\n\r\nHello\r\n');
const NEVER = new AbortController().signal;
const TRUSTING = { ca: TLS.cert };

/** A mail server that requires a login over TLS and records how each message arrives. */
async function submissionServer(options: SMTPServerOptions) {
  const received: { secure: boolean; user: string }[] = [];
  const logins: string[] = [];
  const server = new SMTPServer({
    ...TLS,
    disableReverseLookup: true,
    onAuth: ({ username, password }, session, callback) => {
      logins.push(`${username}${session.secure ? ' over TLS' : ' in the clear'}`);
      if (password === 's3cret') callback(null, { user: username });
      else callback(new Error('Wrong password'));
    },
    onData: (stream, session, callback) => {
      stream.resume();
      stream.on('end', () => {
        received.push({ secure: session.secure, user: String(session.user) });
        callback();
      });
    },
    ...options,
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
  return { port, received, logins };
}

async function send(url: string, options = {}) {
  const mailer = smtpMailer(new Secret(url), options);
  try {
    return await mailer.send(ENVELOPE, RAW, NEVER);
  } finally {
    // A kept connection would keep the server open for ten seconds.
    await mailer.close();
  }
}

test.each([
  ['smtp', 'STARTTLS', {}],
  ['smtps', 'TLS from the first byte', { secure: true }],
])('%s: logs in and sends over %s', async (scheme, _, options) => {
  const server = await submissionServer(options);
  expect(await send(`${scheme}://me:s3cret@localhost:${server.port}`, TRUSTING)).toMatchObject({ kind: 'accepted' });
  expect(server.received).toEqual([{ secure: true, user: 'me' }]);
  expect(server.logins).toEqual(['me over TLS']);
});

test.each([
  ['smtp', {}],
  ['smtps', { secure: true }],
])('%s: an untrusted certificate gets neither password nor message', async (scheme, options) => {
  const server = await submissionServer(options);
  const result = await send(`${scheme}://me:s3cret@localhost:${server.port}`);
  expect(result).toMatchObject({ kind: 'deferred', server: true, response: expect.stringContaining('certificate') });
  expect(server).toMatchObject({ received: [], logins: [] });
});

test('a wrong password defers the message and is not repeated in the result', async () => {
  const server = await submissionServer({});
  const result = await send(`smtp://me:wr0ng@localhost:${server.port}`, TRUSTING);
  expect(result).toMatchObject({ kind: 'deferred', server: true, response: expect.stringContaining('535') });
  expect(JSON.stringify(result)).not.toContain('wr0ng');
  expect(server.received).toEqual([]);
});

test('a remote server without STARTTLS gets no password, unless tls=off', async () => {
  const server = await submissionServer({
    hideSTARTTLS: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
  });
  const strict = await send(`smtp://me:s3cret@localhost:${server.port}?tls=required`, TRUSTING);
  expect(strict).toMatchObject({ kind: 'deferred', server: true });
  expect(server.logins).toEqual([]);
  expect(await send(`smtp://me:s3cret@localhost:${server.port}?tls=off`)).toMatchObject({ kind: 'accepted' });
});

test.each([
  ['smtp', {}, Date.parse('2120-01-01T00:00:00Z')],
  ['smtps', { secure: true }, Date.parse('2120-01-01T00:00:00Z')],
  ['smtp', { hideSTARTTLS: true }, undefined],
])('%s %j: the expiry of an untrusted certificate is read without a login', async (scheme, options, end) => {
  const server = await submissionServer(options);
  expect(await readSmtpCertificate(new Secret(`${scheme}://me:s3cret@localhost:${server.port}`))).toBe(end);
  expect(server.logins).toEqual([]);
});
