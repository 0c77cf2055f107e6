import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../../../../src/base/secrets/secret.ts';
import { type SmtpOptions, smtpMailer } from '../../../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { type SmtpAct, type SmtpScript, type SmtpStep, scriptedSmtp } from '../../../../support/smtp-script.ts';

const RAW = Buffer.from('Subject: hello\r\n\r\nHello\r\n');
const NEVER = new AbortController().signal;
const OPTIONS: SmtpOptions = { timeouts: { connect: 20_000, inactivity: 3_000 } };

async function mailerTo(script: SmtpScript | ((connection: number) => SmtpScript), options = OPTIONS) {
  const server = await scriptedSmtp(script);
  const mailer = smtpMailer(new Secret(server.url), options);
  onTestFinished(async () => {
    await mailer.close();
    await server.close();
  });
  const send = (to: string) => mailer.send({ from: 'reports@docket.example', to }, RAW, NEVER);
  const carried = () =>
    server.conversations
      .filter(({ accepted }) => accepted)
      .map(({ connection, commands }) => [connection, recipient(commands)]);
  return { server, mailer, send, carried };
}

const recipient = (commands: readonly string[]) =>
  /<(.)@/.exec(commands.find((line) => line.startsWith('RCPT')) ?? '')?.[1];

test('consecutive messages share a connection, each with its envelope', async () => {
  const { server, send, carried } = await mailerTo({});
  for (const to of ['a@acme.example', 'b@acme.example', 'c@acme.example']) {
    expect(await send(to)).toMatchObject({ kind: 'accepted' });
  }
  expect(carried()).toEqual([
    [0, 'a'],
    [0, 'b'],
    [0, 'c'],
  ]);
  expect(server.conversations.map(({ commands }) => commands.filter((line) => line.startsWith('RCPT')).length)).toEqual(
    [1, 1, 1],
  );
});

test('concurrent messages do not wait for each other', async () => {
  const { send, carried } = await mailerTo({});
  await Promise.all(['a@acme.example', 'b@acme.example'].map(send));
  expect(new Set(carried().map(([connection]) => connection)).size).toBe(2);
});

test.each<[SmtpStep, SmtpAct]>([
  ['MAIL', { say: '550 5.7.1 Sender refused' }],
  ['RCPT', { say: '450 4.2.1 Greylisted' }],
  ['dot', { say: '554 5.7.1 Spam' }],
  ['dot', { say: '451 4.3.0 Later' }],
])('the connection is closed after %s %j', async (step, act) => {
  const { send, carried } = await mailerTo((connection) => (connection === 0 ? { [step]: act } : {}));
  expect((await send('a@acme.example')).kind).not.toBe('accepted');
  expect(await send('b@acme.example')).toMatchObject({ kind: 'accepted' });
  expect(carried()).toEqual([[1, 'b']]);
});

/** What a server may do with a connection that is still open after the last message. */
const LOST: readonly [SmtpStep, SmtpAct][] = [
  ['RSET', 'FIN'],
  ['RSET', 'RST'],
  ['RSET', { say: '421 4.4.2 Idle for too long' }],
  ['RSET', { say: '500 5.5.1 What?' }],
];

test.each(LOST)(
  'a kept connection that was lost (%s, %j) is replaced, and the message arrives once',
  async (step, act) => {
    const { send, carried } = await mailerTo((connection) => (connection === 0 ? { [step]: act } : {}));
    expect(await send('a@acme.example')).toMatchObject({ kind: 'accepted' });
    expect(await send('b@acme.example')).toMatchObject({ kind: 'accepted' });
    expect(carried()).toEqual([
      [0, 'a'],
      [1, 'b'],
    ]);
  },
);

test.each<SmtpStep>(['MAIL', 'RCPT', 'DATA'])(
  'a kept connection that is silent at %s of its next message costs one timeout, and the message arrives once',
  async (step) => {
    const first: SmtpScript = {};
    const { send, carried } = await mailerTo((connection) => (connection === 0 ? first : {}));
    await send('a@acme.example');
    first[step] = 'hang';
    expect(await send('b@acme.example')).toMatchObject({ kind: 'accepted' });
    expect(carried()).toEqual([
      [0, 'a'],
      [1, 'b'],
    ]);
  },
);

test.each<SmtpAct>(['hang', 'FIN', 'RST', { say: '421 4.3.2 Shutting down' }])(
  'a message sent over a kept connection that ends with %j is unknown, and is not sent over another one',
  async (act) => {
    const script: SmtpScript = {};
    const { server, send } = await mailerTo(script);
    await send('a@acme.example');
    script.dot = act;
    expect(await send('b@acme.example')).toMatchObject({ kind: 'unknown' });
    expect(new Set(server.conversations.map(({ connection }) => connection)).size).toBe(1);
    expect(server.conversations.filter(({ ended }) => ended)).toHaveLength(2);
  },
);

test('an unsolicited reply after a message is not taken for the next reply', async () => {
  const { send, carried } = await mailerTo((connection) =>
    connection === 0 ? { dot: { say: '250 2.0.0 Queued\r\n550 5.1.1 Odd' } } : {},
  );
  expect(await send('a@acme.example')).toMatchObject({ kind: 'accepted' });
  expect(await send('b@acme.example')).toMatchObject({ kind: 'accepted' });
  expect(carried()).toEqual([
    [0, 'a'],
    [1, 'b'],
  ]);
});

test('a closed mailer has no open connection', async () => {
  const { server, mailer, send } = await mailerTo({});
  await send('a@acme.example');
  await mailer.close();
  expect(await send('b@acme.example')).toMatchObject({ kind: 'accepted' });
  expect(new Set(server.conversations.map(({ connection }) => connection))).toEqual(new Set([0, 1]));
});

test('concurrent accepted and refused messages do not mix', async () => {
  const { send } = await mailerTo((connection) => (connection === 1 ? { RCPT: { say: '550 5.1.1 No' } } : {}));
  const results = await Promise.all(['a@acme.example', 'b@acme.example'].map(send));
  expect(results.map(({ kind }) => kind).sort()).toEqual(['accepted', 'refused']);
});

test('draining closes the idle connection, and the others after their messages', async () => {
  let resume = () => {};
  const reached = new Promise<void>((resolve) => {
    resume = resolve;
  });
  let goOn = () => {};
  const { mailer, server, send, carried } = await mailerTo(
    (connection) =>
      connection === 1
        ? {
            dot: {
              meanwhile: (next) => {
                goOn = next;
                resume();
              },
            },
          }
        : {},
    { timeouts: { ...OPTIONS.timeouts, idle: 3_600_000 } },
  );
  const both = [send('a@acme.example'), send('b@acme.example')];
  expect(await both[0]).toMatchObject({ kind: 'accepted' });
  await reached;
  const retired = mailer.drain();
  goOn();
  expect(await both[1]).toMatchObject({ kind: 'accepted' });
  await retired;
  // A delivery that still uses the mailer gets a new connection.
  expect(await send('c@acme.example')).toMatchObject({ kind: 'accepted' });
  expect(await send('d@acme.example')).toMatchObject({ kind: 'accepted' });
  expect(carried().map(([connection]) => connection)).toEqual([0, 1, 2, 3]);
  await server.left();
});
