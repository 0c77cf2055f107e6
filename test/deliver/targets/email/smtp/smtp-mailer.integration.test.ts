import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { Secret } from '../../../../../src/base/secrets/secret.ts';
import { type SmtpOptions, smtpMailer } from '../../../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { type ScriptedSmtp, type SmtpAct, type SmtpStep, scriptedSmtp } from '../../../../support/smtp-script.ts';

const ENVELOPE = { from: 'reports@docket.example', to: 'lead@acme.example' };
/** Larger than all buffers between client and server, so that the act happens before the message is complete. */
const LARGE = Buffer.from(`Subject: large\r\n\r\n${`${'x'.repeat(76)}\r\n`.repeat(200_000)}`);
const SMALL = Buffer.from('Subject: small\r\n\r\nHello\r\n.hidden dot\r\n');
/** For servers that go silent. The others get more time, because a busy machine is not an error. */
const QUICK: SmtpOptions = { timeouts: { connect: 3_000, inactivity: 3_000 } };
const PATIENT: SmtpOptions = { timeouts: { connect: 20_000, inactivity: 20_000 } };
const NEVER = new AbortController().signal;

async function serverWith(
  script: Partial<Record<SmtpStep, SmtpAct>>,
  extensions?: readonly string[],
  context: Pick<TestContext, 'onTestFinished'> = { onTestFinished },
) {
  const server = await scriptedSmtp(script, extensions);
  context.onTestFinished(() => server.close());
  return server;
}

const send = (server: ScriptedSmtp, raw: Uint8Array, options = PATIENT, login = '', signal = NEVER) =>
  smtpMailer(new Secret(server.url.replace('://', `://${login}`)), options).send(ENVELOPE, raw, signal);

type Kind = 'accepted' | 'refused' | 'deferred' | 'deferred: server' | 'unknown';

/** The result for every step and act, as `readFailure` documents it. */
const TABLE: readonly [SmtpStep, SmtpAct, Kind][] = [
  ['greeting', { say: '421 4.3.2 Too busy' }, 'deferred: server'],
  ['greeting', { say: '554 5.3.2 No service here' }, 'deferred: server'],
  ['greeting', { say: 'HTTP/1.1 400 Bad Request' }, 'deferred: server'],
  ['greeting', { cut: '554 5.3.2 No serv' }, 'deferred: server'],
  ['greeting', 'FIN', 'deferred: server'],
  ['greeting', 'RST', 'deferred: server'],
  ['greeting', 'hang', 'deferred: server'],
  ['EHLO', { say: '421 4.3.2 Too busy' }, 'deferred: server'],
  ['EHLO', { say: '550 5.7.1 Not you' }, 'deferred: server'],
  ['EHLO', { say: '451 4.3.0 Later' }, 'deferred: server'],
  ['EHLO', 'FIN', 'deferred: server'],
  ['EHLO', 'RST', 'deferred: server'],
  ['EHLO', 'hang', 'deferred: server'],
  ['AUTH', { say: '535 5.7.8 Wrong password' }, 'deferred: server'],
  ['AUTH', { say: '454 4.7.0 Later' }, 'deferred: server'],
  ['AUTH', { say: '421 4.3.2 Too busy' }, 'deferred: server'],
  ['AUTH', 'FIN', 'deferred: server'],
  ['AUTH', 'RST', 'deferred: server'],
  ['AUTH', 'hang', 'deferred: server'],
  ['MAIL', { say: '451 4.3.0 Later' }, 'deferred'],
  ['MAIL', { say: '421 4.3.2 Too busy' }, 'deferred: server'],
  ['MAIL', { say: '530 5.7.0 Log in first' }, 'deferred: server'],
  ['MAIL', { say: '550 5.7.1 Sender refused' }, 'refused'],
  ['MAIL', 'FIN', 'deferred: server'],
  ['MAIL', 'RST', 'deferred: server'],
  ['MAIL', 'hang', 'deferred: server'],
  ['RCPT', { say: '450 4.2.1 Greylisted' }, 'deferred'],
  ['RCPT', { say: '421 4.3.2 Too busy' }, 'deferred: server'],
  ['RCPT', { say: '550 5.1.1 No such user' }, 'refused'],
  ['RCPT', 'FIN', 'deferred: server'],
  ['RCPT', 'RST', 'deferred: server'],
  ['RCPT', 'hang', 'deferred: server'],
  ['DATA', { say: '451 4.3.0 Later' }, 'deferred'],
  ['DATA', { say: '421 4.3.2 Too busy' }, 'deferred: server'],
  ['DATA', { say: '554 5.6.0 Not this' }, 'refused'],
  ['DATA', 'FIN', 'deferred: server'],
  ['DATA', 'RST', 'deferred: server'],
  ['DATA', 'hang', 'deferred: server'],
  ['body', { say: '452 4.3.1 Disk full' }, 'deferred'],
  ['body', { say: '552 5.3.4 Too large' }, 'refused'],
  ['body', { say: '421 4.3.2 Shutting down' }, 'deferred: server'],
  ['body', { say: '250 2.0.0 Odd' }, 'unknown'],
  ['body', 'FIN', 'deferred: server'],
  ['body', 'RST', 'deferred: server'],
  ['body', 'hang', 'deferred: server'],
  ['dot', { say: '250 2.0.0 Queued as 1' }, 'accepted'],
  ['dot', { say: '250-2.0.0 Queued\r\n250 as 1' }, 'accepted'],
  ['dot', { say: '451 4.3.0 Later' }, 'deferred'],
  ['dot', { say: '554 5.7.1 Looks like spam' }, 'refused'],
  ['dot', { say: '421 4.3.2 Shutting down' }, 'unknown'],
  ['dot', { say: '354 Go on' }, 'unknown'],
  ['dot', { say: 'Thanks!' }, 'unknown'],
  ['dot', { cut: '250 2.0.0 Que' }, 'unknown'],
  ['dot', { cut: '554 5.7.1 Loo' }, 'unknown'],
  ['dot', 'FIN', 'unknown'],
  ['dot', 'RST', 'unknown'],
  ['dot', 'hang', 'unknown'],
];

const nameOf = (act: SmtpAct): string => (typeof act === 'string' ? act : JSON.stringify(act));

for (const extensions of [[], ['PIPELINING', 'SIZE 52428800', 'AUTH PLAIN']]) {
  for (const [step, act, expected] of TABLE) {
    const name = `${nameOf(act)} at ${step} is ${expected} (${extensions.join(', ') || 'no extensions'})`;
    test.concurrent(name, async (context) => {
      const { expect } = context;
      const server = await serverWith({ [step]: act }, extensions, context);
      const login = step === 'AUTH' ? 'me:secret@' : '';
      // A server that half-closes and no longer reads is silent as well.
      const silent = act === 'hang' || (step === 'body' && act === 'FIN');
      const result = await send(server, step === 'body' ? LARGE : SMALL, silent ? QUICK : PATIENT, login);

      const kind = result.kind === 'deferred' && result.server ? 'deferred: server' : result.kind;
      expect({ kind, result }).toEqual({ kind: expected, result });
      // For every case: a message that the server may have is never reported as safe to resend.
      const [talk] = server.conversations;
      if (talk?.accepted) expect(['accepted', 'unknown']).toContain(result.kind);
      if (result.kind === 'deferred' && talk?.ended) expect(result.response).toMatch(/^4/);
      expect(server.conversations).toHaveLength(1);
      expect(JSON.stringify(result)).not.toContain('secret');
    });
  }
}

test('the server gets exactly the bytes and the envelope', async () => {
  const server = await serverWith({});

  expect(await send(server, SMALL)).toEqual({ kind: 'accepted', response: '250 2.0.0 Queued as 4711' });

  const [talk] = server.conversations;
  expect(talk!.body.toString().replaceAll('\r\n..', '\r\n.')).toBe(SMALL.toString());
  expect(talk!.commands.filter((line) => /^(MAIL|RCPT)/.test(line))).toEqual([
    'MAIL FROM:<reports@docket.example>',
    'RCPT TO:<lead@acme.example>',
  ]);
});

test('a closed port defers the message', async () => {
  const server = await scriptedSmtp({});
  await server.close();
  expect(await send(server, SMALL)).toMatchObject({ kind: 'deferred', server: true });
});

test('a message above the announced SIZE is refused without sending it', async () => {
  const server = await serverWith({}, ['SIZE 1000']);
  const result = await send(server, Buffer.alloc(1001, 'x'));
  expect(result).toMatchObject({ kind: 'refused' });
  expect(server.conversations[0]!.commands).not.toContain('DATA');
});

test('no password is sent without STARTTLS', async () => {
  const server = await serverWith({}, ['AUTH PLAIN']);
  const mailer = smtpMailer(new Secret(`smtp://me:secret@127.0.0.1:${server.port}?tls=required`), PATIENT);
  expect(await mailer.send(ENVELOPE, SMALL, NEVER)).toMatchObject({ kind: 'deferred', server: true });
  expect(server.conversations[0]!.commands.filter((line) => /^(AUTH|MAIL)/.test(line))).toEqual([]);
});

test('an attempt that is cancelled before the message is sent is deferred', async () => {
  const stop = new AbortController();
  const server = await serverWith({ DATA: { meanwhile: () => stop.abort(new Error('stop')) } });
  expect(await send(server, SMALL, PATIENT, '', stop.signal)).toMatchObject({ kind: 'deferred' });
  expect(server.conversations[0]!.ended).toBe(false);

  const again = await serverWith({});
  expect(await send(again, SMALL, PATIENT, '', stop.signal)).toMatchObject({ kind: 'deferred' });
  expect(again.conversations.flatMap(({ commands }) => commands)).toEqual([]);
});

test('an attempt that is cancelled after the message is sent waits for the reply', async () => {
  const stop = new AbortController();
  const server = await serverWith({
    dot: {
      meanwhile: (resume) => {
        stop.abort(new Error('stop'));
        setImmediate(resume);
      },
    },
  });
  expect(await send(server, SMALL, PATIENT, '', stop.signal)).toMatchObject({ kind: 'accepted' });
});

test('a message is unknown if the server takes too long to reply', async () => {
  const server = await serverWith({ dot: { say: '250-still\r\n250-thinking' } });
  const options = { timeouts: { connect: 20_000, inactivity: 20_000, total: 1_000 } };
  expect(await send(server, SMALL, options)).toMatchObject({ kind: 'unknown' });
});

test.each([
  ['http://mail.example', 'smtp://host:port'],
  ['smtp://', 'smtp://host:port'],
  ['smtp://mail.example?tls=maybe', 'tls=required'],
  ['smtp://mail.example?rejectUnauthorized=false', 'no parameter but "tls"'],
  ['smtps://mail.example?tls=off', 'no parameters on smtps://'],
  ['smtp://:secret@mail.example', 'both a user name and a password'],
  ['smtp://me@mail.example', 'both a user name and a password'],
  ['smtp://me:%zz@mail.example', '%25'],
])('the URL %s is invalid and is not repeated in the error', (url, expected) => {
  expect(() => smtpMailer(new Secret(url))).toThrowError(
    expect.objectContaining({ code: 'config.invalid', expected: expect.stringContaining(expected) }),
  );
});
