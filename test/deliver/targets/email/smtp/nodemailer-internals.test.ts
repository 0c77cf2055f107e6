import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Readable, type Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import DKIM from 'nodemailer/lib/dkim';
import MailComposer from 'nodemailer/lib/mail-composer';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type SmtpScript, scriptedSmtp } from '../../../../support/smtp-script.ts';

/*
 * Our code reads parts of nodemailer that its documentation does not promise: parts below `lib/`, what they report
 * about a failure, and in which order. The version is pinned exactly. After an upgrade, these tests show what has
 * changed. docs/dependencies.md lists our files that depend on it.
 */

const ENVELOPE = { from: 'reports@docket.example', to: ['lead@acme.example'], size: 26 };
const RAW = Buffer.from('Subject: hello\r\n\r\nHello\r\n');

async function connected(script: SmtpScript, extensions: readonly string[] = []) {
  const server = await scriptedSmtp(script, extensions);
  const connection = new SMTPConnection({ host: '127.0.0.1', port: server.port, ignoreTLS: true });
  connection.on('error', () => {});
  onTestFinished(async () => {
    connection.close();
    await server.close();
  });
  await new Promise<void>((resolve, reject) => {
    connection.connect((error) => (error ? reject(error) : resolve()));
  });
  const send = (message: Readable = Readable.from([RAW])) =>
    new Promise<unknown>((resolve) => {
      // nodemailer changes the envelope that it is given.
      connection.send({ ...ENVELOPE }, message, (error, info) => resolve(error ?? info));
    });
  return { server, connection, send };
}

test('package.json pins the installed version of nodemailer', async () => {
  const versionOf = z.looseObject({ version: z.string() });
  const file = z.looseObject({ dependencies: z.record(z.string(), z.string()) });
  const { dependencies } = file.parse(JSON.parse(await readFile('package.json', 'utf8')));
  const installed = versionOf.parse(JSON.parse(await readFile('node_modules/nodemailer/package.json', 'utf8')));
  expect(dependencies.nodemailer).toBe(installed.version);
});

test('a connection has secure and destroyed, and can be reset between messages', async () => {
  const { connection, send } = await connected({});
  expect([connection.secure, connection.destroyed]).toEqual([false, false]);
  expect(await send()).toMatchObject({ response: expect.stringMatching(/^250 /), rejected: [] });
  expect(await new Promise((resolve) => connection.reset((error) => resolve(error ?? undefined)))).toBeUndefined();
  expect(await send()).toMatchObject({ accepted: ENVELOPE.to });
  const ended = once(connection, 'end');
  connection.close();
  await ended;
  expect(connection.destroyed).toBe(true);
});

test('a connection has the SIZE of the EHLO reply, 0 without a number', async () => {
  const sizes = [];
  for (const extension of ['SIZE 20000', 'SIZE', 'PIPELINING']) {
    const { connection } = await connected({}, [extension]);
    sizes.push(Reflect.get(connection, '_maxAllowedSize'));
  }
  expect(sizes).toEqual([20_000, 0, 0]);
});

test('a message is piped after reply 354; ending the pipe writes the DATA terminator', async () => {
  let commands: string[] = [];
  const { server, connection, send } = await connected({});
  const piped = new Promise<Writable>((resolve) => {
    const pipe = (to: Writable) => {
      commands = [...(server.conversations[0]?.commands ?? [])];
      resolve(to);
      return to;
    };
    void send(Object.assign(new Readable({ read: () => {} }), { pipe }));
  });
  const to = await piped;
  expect(commands.at(-1)).toBe('DATA');
  expect(connection.lastServerResponse).toMatch(/^354 /);
  await new Promise<void>((resolve) => to.write(RAW, () => resolve()));
  const socket = connection._socket;
  if (!socket) throw new Error('no socket');
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise<void>((resolve) => socket.write('', () => resolve()));
  expect([to.writableLength, socket.writableLength]).toEqual([0, 0]);
  // Closing now leaves the message without its terminator.
  connection.close();
  await server.left();
  expect(server.conversations[0]?.ended).toBe(false);
});

test.each<[string, SmtpScript, Record<string, unknown>]>([
  ['a sender', { MAIL: { say: '550 No' } }, { code: 'EENVELOPE', command: 'MAIL FROM', responseCode: 550 }],
  ['a recipient', { RCPT: { say: '450 Later' } }, { code: 'EENVELOPE', command: 'RCPT TO', responseCode: 450 }],
  ['DATA', { DATA: { say: '554 No' } }, { code: 'EENVELOPE', command: 'DATA', responseCode: 554 }],
  ['a message', { dot: { say: '554 Spam' } }, { code: 'EMESSAGE', command: 'DATA', responseCode: 554 }],
])('a failure at %s has its step and code', async (_, script, failure) => {
  const { send } = await connected(script);
  const [key] = Object.values(script);
  const response = typeof key === 'object' && 'say' in key ? key.say : '';
  expect(await send()).toMatchObject({ ...failure, response });
});

test('the transaction log has each reply before it is handled, and no credentials', async () => {
  const server = await scriptedSmtp({}, ['AUTH PLAIN']);
  const seen: [unknown, string][] = [];
  let closeAt = '';
  const logger = {
    debug: ({ tnx }: { tnx: unknown }, text: string) => {
      seen.push([tnx, text]);
      if (closeAt !== '' && text.startsWith(closeAt)) connection.close();
    },
  };
  const options = { host: '127.0.0.1', port: server.port, ignoreTLS: true, transactionLog: true, logger };
  const connection = new SMTPConnection(options);
  connection.on('error', () => {});
  onTestFinished(() => server.close());
  await new Promise((resolve) => connection.connect(resolve));
  await new Promise((resolve) => connection.login({ credentials: { user: 'me', pass: 'hunter22' } }, resolve));
  const traffic = seen.filter(([tnx]) => tnx === 'client' || tnx === 'server');
  expect(traffic.map(([tnx, text]) => [tnx, text.split(/[ \n]/)[0]])).toEqual([
    ['server', '220'],
    ['client', 'EHLO'],
    ['server', '250-scripted.example'],
    ['client', 'AUTH'],
    ['server', '235'],
  ]);
  expect(JSON.stringify(seen)).not.toContain(Buffer.from('\0me\0hunter22').toString('base64'));
  closeAt = '354';
  connection.send({ ...ENVELOPE }, Readable.from([RAW]), () => {});
  await once(connection, 'end');
  await server.left();
  expect(server.conversations[0]?.commands.at(-1)).toBe('DATA');
  expect(server.conversations[0]?.body).toHaveLength(0);
});

test('a connection that breaks after the DATA terminator does not count as a failure of the message', async () => {
  const { connection, send } = await connected({ dot: 'FIN' });
  const failure = await Promise.race([send(), once(connection, 'end')]);
  expect(failure).not.toMatchObject({ code: 'EMESSAGE' });
});

test('building a message is deterministic', async () => {
  const date = new Date(Date.UTC(2026, 10, 16));
  const build = () =>
    new MailComposer({
      from: ENVELOPE.from,
      to: ENVELOPE.to,
      subject: 'Hello',
      messageId: '<a@docket.example>',
      date,
      text: 'Hello',
      html: '<p>Hello</p>',
      attachments: [{ filename: 'a.csv', content: Buffer.from('a') }],
      baseBoundary: 'b0undary',
      newline: 'win',
    })
      .compile()
      .build();
  const first = await build();
  expect(await build()).toEqual(first);
  expect(first.toString('latin1')).toContain('b0undary');
});

test('a message is signed with a key object, and sent unsigned if the key fails', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const sign = (key: ConstructorParameters<typeof DKIM>[0]) => buffer(new DKIM(key).sign(Buffer.from(RAW)));
  const of = { domainName: 'docket.example', keySelector: 's1' };
  expect((await sign({ ...of, privateKey })).toString('latin1')).toMatch(/^DKIM-Signature:/);
  expect((await sign({ ...of, privateKey: 'no key' })).equals(RAW)).toBe(true);
});
