import { createHash } from 'node:crypto';
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { expect, onTestFinished, test } from 'vitest';
import { DocketError } from '../../src/base/error.ts';
import { Secret } from '../../src/base/secrets/secret.ts';
import { type DeliverInput, deliver } from '../../src/deliver/deliver.ts';
import { deliveryId, INTERRUPTED, type Ledger } from '../../src/deliver/ledger/ledger.ts';
import type { DeliveredEvent } from '../../src/deliver/send-pending.ts';
import { type Mailer, type SendResult, smtpMailer } from '../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { createMailCatcher } from '../../src/demo/mail-catcher.ts';
import { archivedMessagePath, archivedMessagePaths } from '../support/archived-messages.ts';
import {
  definitionWith,
  deliverInput,
  folderFor,
  ORDER,
  RUN,
  SETTINGS,
  sealedRun,
  type TestDelivery,
} from '../support/delivery-case.ts';
import { manualClock } from '../support/manual-clock.ts';
import { memoryLedger } from '../support/memory-ledger.ts';

const FROM = 'reports@docket.example';
const ACCEPTED: SendResult = { kind: 'accepted', response: '250 Ok' };

/** A mail server that gives each recipient the test's answer, and records the recipients. */
function mailerThat(answer: (to: string) => SendResult): Mailer & { readonly asked: string[] } {
  const requested: string[] = [];
  return {
    asked: requested,
    send: async ({ to }) => {
      requested.push(to);
      return answer(to);
    },
    close: async () => {},
  };
}

async function caseOf(deliveries: readonly TestDelivery[], mailer: Mailer, files?: Parameters<typeof sealedRun>[1]) {
  const root = await folderFor(onTestFinished);
  const { archive, published } = await sealedRun(root, files);
  const events: DeliveredEvent[] = [];
  const input = deliverInput({
    definition: definitionWith(deliveries),
    published,
    mail: { mailer, from: FROM },
    archive,
    observe: (event) => events.push(event),
    workingDirectory: root,
  });
  return { root, input, events, sealed: published };
}

const states = (receipts: readonly { recipient: string; state: string }[]) =>
  Object.fromEntries(receipts.map(({ recipient, state }) => [recipient, state]));

test('each recipient gets a separate message, identical to the archived one', async () => {
  const catcher = await createMailCatcher(join(await folderFor(onTestFinished), 'mail'));
  onTestFinished(() => catcher.close());
  const to = ['lead@acme.example', 'Guest@Partner.example'];
  const { input, sealed, events } = await caseOf(
    [{ email: { to, subject: 'KPIs {{ period.label }}', attach: ['xlsx'] } }],
    smtpMailer(new Secret(catcher.url)),
  );

  const { receipts, retryable } = await deliver({ ...input, clock: manualClock(Date.parse('2026-11-20T09:10:11Z')) });

  expect(retryable).toBe(false);
  expect(states(receipts)).toEqual({ 'lead@acme.example': 'sent', 'Guest@partner.example': 'sent' });
  expect(events.map(({ recipient, state }) => [recipient, state])).toEqual(Object.entries(states(receipts)));
  expect(catcher.messages().map((message) => [message.from, message.to])).toEqual([
    [FROM, ['lead@acme.example']],
    [FROM, ['Guest@partner.example']],
  ]);
  const sent = await readFile(catcher.messages()[0]!.path);
  const mail = await PostalMime.parse(sent);
  expect(mail).toMatchObject({
    subject: 'KPIs 2026-W46',
    from: { address: FROM },
    to: [{ address: 'lead@acme.example' }],
    replyTo: [{ address: 'ops@acme.example' }],
    messageId: receipts[0]!.messageId,
    // The date of the attempt, not that of the figures.
    date: '2026-11-20T09:10:11.000Z',
  });
  expect(mail.html).toContain('Zürich');
  expect(mail.text).toContain('Zürich');
  expect(mail.attachments.map(({ filename }) => filename)).toEqual(['KPIs 2026-W46.xlsx']);
  expect(mail.headers.find(({ key }) => key === 'x-docket-run')?.value).toBe(RUN);
  const kept = await readFile(await archivedMessagePath(sealed.folder, receipts[0]!.delivery));
  expect(kept.equals(sent)).toBe(true);
  expect(JSON.parse(await readFile(join(sealed.folder, 'receipts.json'), 'utf8'))).toEqual(receipts);
});

test('several CSV files are one zip in an e-mail, and separate files in a folder', async () => {
  const catcher = await createMailCatcher(join(await folderFor(onTestFinished), 'mail'));
  onTestFinished(() => catcher.close());
  const { input, root } = await caseOf(
    [{ email: { to: ['lead@acme.example'], attach: ['csv'] } }, { directory: { path: 'out' } }],
    smtpMailer(new Secret(catcher.url)),
    { 'queue.csv': 'alerts\r\n3\r\n', 'rfis.csv': 'rfis\r\n4\r\n', 'KPIs.zip': 'both' },
  );

  await deliver(input);

  const mail = await PostalMime.parse(await readFile(catcher.messages()[0]!.path));
  expect(mail.attachments.map(({ filename }) => filename)).toEqual(['KPIs.zip']);
  expect((await readdir(join(root, 'out'))).sort()).toEqual(['queue.csv', 'rfis.csv']);
});

test('a second call sends nothing again', async () => {
  const mailer = mailerThat(() => ACCEPTED);
  const { input } = await caseOf([{ email: { to: ['lead@acme.example'] } }, { directory: { path: 'out' } }], mailer);
  const first = await deliver(input);
  const second = await deliver(input);
  expect(second).toEqual(first);
  expect(mailer.asked).toEqual(['lead@acme.example']);
});

test('concurrent calls send each delivery once', async () => {
  const mailer = mailerThat(() => ACCEPTED);
  const { input } = await caseOf([{ email: { to: ['a@acme.example', 'b@acme.example'] } }], mailer);
  await Promise.all(Array.from({ length: 50 }, () => deliver(input)));
  expect(mailer.asked.sort()).toEqual(['a@acme.example', 'b@acme.example']);
  // One call may take another's live attempt for a dead one. The attempt then corrects the result.
  expect(await input.ledger.list(RUN)).toMatchObject([{ state: 'sent' }, { state: 'sent' }]);
});

test('the result of a message is recorded after a temporary failure of the ledger', async () => {
  const mailer = mailerThat(() => ACCEPTED);
  const { input } = await caseOf([{ email: { to: ['lead@acme.example'] } }], mailer);
  const pauses: number[] = [];
  const clock = { now: () => 1, sleep: async (ms: number) => void pauses.push(ms) };
  const ledger: Ledger = {
    ...input.ledger,
    settle: async (...args) => {
      if (pauses.length < 2) throw new DocketError('redis.unreachable', 'Redis is away.');
      return input.ledger.settle(...args);
    },
  };
  expect((await deliver({ ...input, ledger, clock })).receipts).toMatchObject([{ state: 'sent' }]);
  expect(pauses).toHaveLength(2);
});

test('a call fails if the ledger stays unreachable after a send, and the next one uses the archive', async () => {
  const mailer = mailerThat(() => ACCEPTED);
  const { input } = await caseOf([{ email: { to: ['lead@acme.example'] } }], mailer);
  const clock = { now: () => 1, sleep: async () => {} };
  const ledger: Ledger = {
    ...input.ledger,
    settle: async () => {
      throw new DocketError('redis.unreachable', 'Redis is away.');
    },
  };
  await expect(deliver({ ...input, ledger, clock })).rejects.toMatchObject({ code: 'redis.unreachable' });
  expect((await deliver(input)).receipts).toMatchObject([{ state: 'sent', detail: '250 Ok' }]);
  expect(mailer.asked).toHaveLength(1);
});

test('a retry sends a deferred message again with the same bytes, and no other message', async () => {
  const answers: SendResult[] = [{ kind: 'deferred', response: '450 Greylisted', server: false }, ACCEPTED];
  const mailer = mailerThat((to) => (to === 'slow@acme.example' ? (answers.shift() ?? ACCEPTED) : ACCEPTED));
  const { input, sealed } = await caseOf([{ email: { to: ['slow@acme.example', 'lead@acme.example'] } }], mailer);

  const first = await deliver(input);
  expect(first.retryable).toBe(true);
  expect(first.receipts[0]).toMatchObject({ state: 'pending', detail: '450 Greylisted', messageId: null });
  const message = await archivedMessagePath(sealed.folder, first.receipts[0]!.delivery);
  const bytes = await readFile(message);

  const second = await deliver(input);
  expect(second.retryable).toBe(false);
  expect(states(second.receipts)).toEqual({ 'slow@acme.example': 'sent', 'lead@acme.example': 'sent' });
  expect(mailer.asked).toEqual(['slow@acme.example', 'lead@acme.example', 'slow@acme.example']);
  expect(await archivedMessagePath(sealed.folder, first.receipts[0]!.delivery)).toBe(message);
  expect((await readFile(message)).equals(bytes)).toBe(true);
});

test('sent messages stay in the archive even if a later attempt has another message', async () => {
  const sent: Uint8Array[] = [];
  const answers: SendResult[] = [{ kind: 'unknown', why: 'No answer' }, ACCEPTED];
  const send: Mailer['send'] = async (_, raw) => {
    sent.push(raw);
    return answers.shift() ?? ACCEPTED;
  };
  const mailer: Mailer = { send, close: async () => {} };
  const { input, sealed } = await caseOf([{ email: { to: ['lead@acme.example'] } }], mailer);
  const from = (address: string): DeliverInput => ({ ...input, mail: { mailer, from: address } });
  const [receipt] = (await deliver(from('reports@docket.example'))).receipts;
  const delivery = receipt!.delivery;
  await input.ledger.resolve(delivery, 1, { to: 'pending', by: 'ops', reason: 'not there', at: 1 });
  // A worker that was blocked has made its message, and then finds that another worker has the row.
  const stale = { ...input.ledger, begin: async () => undefined };
  await deliver({ ...from('stale@docket.example'), ledger: stale });
  await deliver(from('new@docket.example'));

  const attempts = (epoch: number) =>
    readFile(join(sealed.folder, 'attempts', `${delivery}.${epoch}.end.json`), 'utf8').then(JSON.parse);
  const kept = await Promise.all((await archivedMessagePaths(sealed.folder, delivery)).map((path) => readFile(path)));
  expect(kept).toHaveLength(3);
  expect(sent).toHaveLength(2);
  for (const [index, epoch] of [1, 3].entries()) {
    const digest = createHash('sha256').update(sent[index]!).digest('hex');
    expect(await attempts(epoch)).toMatchObject({ message: digest });
    expect(kept.some((bytes) => bytes.equals(sent[index]!))).toBe(true);
  }
});

test('refused and unknown results are final and do not stop other recipients', async () => {
  const mailer = mailerThat((to) => {
    if (to.startsWith('gone')) return { kind: 'refused', response: '550 No such user' };
    return to.startsWith('lost') ? { kind: 'unknown', why: 'No answer' } : ACCEPTED;
  });
  const to = ['gone@acme.example', 'lost@acme.example', 'lead@acme.example'];
  const { input } = await caseOf([{ email: { to } }], mailer);
  await deliver(input);
  const { receipts, retryable } = await deliver(input);
  expect(receipts.map(({ state, detail }) => [state, detail])).toEqual([
    ['refused', '550 No such user'],
    ['unknown', 'No answer'],
    ['sent', '250 Ok'],
  ]);
  expect(retryable).toBe(false);
  expect(mailer.asked).toEqual(to);
});

test('an unexpected error of the mailer makes a delivery unknown and does not stop other recipients', async () => {
  const mailer = mailerThat((to) => {
    if (to === 'a@acme.example') throw new TypeError('defect');
    return ACCEPTED;
  });
  const { input } = await caseOf([{ email: { to: ['a@acme.example', 'b@acme.example'] } }], mailer);
  const { receipts } = await deliver(input);
  expect(receipts[0]).toMatchObject({ state: 'unknown', detail: expect.stringContaining('defect') });
  expect(receipts[1]).toMatchObject({ state: 'sent' });
});

test('a mail server that is down is tried once, and every recipient gets the reason', async () => {
  const mailer = mailerThat(() => ({ kind: 'deferred', response: 'connect ECONNREFUSED', server: true }));
  const { input, events, root } = await caseOf(
    [{ email: { to: ['a@acme.example', 'b@acme.example', 'c@acme.example'] } }, { directory: { path: 'out' } }],
    mailer,
  );
  const { receipts, retryable } = await deliver(input);
  expect(mailer.asked).toEqual(['a@acme.example']);
  expect(retryable).toBe(true);
  expect(receipts.map(({ state, detail }) => [state, detail]).slice(0, 3)).toEqual(
    Array.from({ length: 3 }, () => ['pending', 'connect ECONNREFUSED']),
  );
  expect(receipts[3]).toMatchObject({ state: 'sent' });
  expect(events).toHaveLength(4);
  expect(await readdir(join(root, 'out'))).toHaveLength(2);
});

test('a row left as `sending` becomes unknown and is not sent', async () => {
  const mailer = mailerThat(() => ACCEPTED);
  const { input } = await caseOf([{ email: { to: ['lead@acme.example'] } }], mailer);
  const id = deliveryId(RUN, '0-email', 'lead@acme.example');
  await input.ledger.open({ id, run: RUN, org: 'acme', report: 'r', target: 't', recipient: 'lead@acme.example' }, 1);
  await input.ledger.begin(id, 2);

  const again = await deliver(input);
  expect(again.receipts[0]).toMatchObject({ state: 'unknown', detail: INTERRUPTED });
  expect(again.retryable).toBe(false);
  expect(mailer.asked).toEqual([]);
});

test.each([
  'rival@elsewhere.example',
  'lead@sub.acme.example',
  'lead@notacme.example',
  '"a b"@acme.example',
  'lead@acme.example\r\nBcc: rival@elsewhere.example',
])('the recipient %j is refused and does not stop the others', async (stranger) => {
  const mailer = mailerThat(() => ACCEPTED);
  const { input } = await caseOf([{ email: { to: [stranger, 'lead@acme.example'] } }], mailer);
  const { receipts, retryable } = await deliver(input);
  expect(receipts[0]).toMatchObject({ state: 'refused', detail: expect.stringContaining(JSON.stringify(stranger)) });
  expect(receipts[1]).toMatchObject({ state: 'sent' });
  expect(retryable).toBe(false);
  expect(mailer.asked).toEqual(['lead@acme.example']);
});

test('a mailbox that is listed twice gets one message', async () => {
  const mailer = mailerThat(() => ACCEPTED);
  const { input } = await caseOf([{ email: { to: ['lead@acme.example', 'Lead@ACME.example'] } }], mailer);
  expect((await deliver(input)).receipts).toHaveLength(1);
  expect(mailer.asked).toHaveLength(1);
});

test('an e-mail with attachments that are too large is refused', async () => {
  const mailer = mailerThat(() => ACCEPTED);
  const { input } = await caseOf([{ email: { to: ['lead@acme.example'], attach: ['xlsx'] } }], mailer, {
    'big.xlsx': new Uint8Array(10 * 1024 * 1024 + 1),
  });
  const { receipts, retryable } = await deliver(input);
  expect(receipts[0]).toMatchObject({ state: 'refused', detail: expect.stringContaining('big.xlsx') });
  expect(retryable).toBe(false);
  expect(mailer.asked).toEqual([]);
});

test('an e-mail without the attachment that it should have is refused', async () => {
  const mailer = mailerThat(() => ACCEPTED);
  const { input } = await caseOf([{ email: { to: ['lead@acme.example'], attach: ['csv'] } }], mailer, {
    'a.xlsx': 'x',
  });
  expect((await deliver(input)).receipts[0]).toMatchObject({
    state: 'refused',
    detail: expect.stringContaining('csv'),
  });
  expect(mailer.asked).toEqual([]);
});

test.each([
  "{% if period.label != '2026-W46' %}KPIs{% endif %}",
  "{% if period.label == '2026-W46' %} \u200b\u200d\u00ad\u3164\u2800{% endif %}",
])('an empty subject is replaced by the title and the period: %j', async (subject) => {
  const catcher = await createMailCatcher(join(await folderFor(onTestFinished), 'mail'));
  onTestFinished(() => catcher.close());
  const { input } = await caseOf(
    [{ email: { to: ['lead@acme.example'], subject } }],
    smtpMailer(new Secret(catcher.url)),
  );
  expect(states((await deliver(input)).receipts)).toEqual({ 'lead@acme.example': 'sent' });
  const mail = await PostalMime.parse(await readFile(catcher.messages()[0]!.path));
  expect(mail.subject).toBe('Weekly KPIs, 2026-W46');
});

test('an e-mail with an unknown variable in its subject is refused', async () => {
  const mailer = mailerThat(() => ACCEPTED);
  const { input } = await caseOf([{ email: { to: ['lead@acme.example'], subject: '{{ nothing }}' } }], mailer);
  expect((await deliver(input)).receipts[0]).toMatchObject({
    state: 'refused',
    detail: expect.stringContaining('nothing'),
  });
  expect(mailer.asked).toEqual([]);
});

test('an e-mail stays pending without a mail server, and names the missing variables', async () => {
  const { input } = await caseOf(
    [{ email: { to: ['a@acme.example', 'b@acme.example'] } }],
    mailerThat(() => ACCEPTED),
  );
  const { receipts, retryable } = await deliver({ ...input, mail: undefined });
  expect(retryable).toBe(true);
  expect(receipts[0]).toMatchObject({ state: 'pending', detail: expect.stringContaining('SMTP_URL') });
  expect(receipts[1]).toMatchObject({ state: 'pending', detail: expect.stringContaining('SMTP_URL') });
});

test('a file that was changed after publishing is not sent, and its row stays pending', async () => {
  const mailer = mailerThat(() => ACCEPTED);
  const { input, sealed } = await caseOf([{ email: { to: ['lead@acme.example'], attach: ['csv'] } }], mailer);
  await appendFile(join(sealed.folder, 'files', 'queue.csv'), 'tampered');
  await expect(deliver(input)).rejects.toMatchObject({ code: 'archive.corrupt' });
  expect(mailer.asked).toEqual([]);
  expect(await input.ledger.list(RUN)).toMatchObject([{ state: 'pending' }]);
});

test('a run with parts of another organization or report is refused before any row is opened', async () => {
  const mailer = mailerThat(() => ACCEPTED);
  const { input } = await caseOf([{ email: { to: ['lead@acme.example'] } }], mailer);
  const strange: Partial<DeliverInput>[] = [
    { settings: { ...SETTINGS, id: 'other' } },
    { order: { ...ORDER, org: 'other' } },
    { order: { ...ORDER, id: 'f'.repeat(32) } },
    { definition: { ...input.definition, report: 'other' } },
    { published: { ...input.published, manifest: { ...input.published.manifest, org: 'other' } } },
  ];
  for (const part of strange) {
    await expect(deliver({ ...input, ...part })).rejects.toMatchObject({ code: 'internal.defect', retryable: false });
  }
  expect(mailer.asked).toEqual([]);
  expect(await input.ledger.list(RUN)).toEqual([]);
});

test('an aborted call begins no further delivery, and the next call continues', async () => {
  const stop = new AbortController();
  const reason = new Error('worker stops');
  const mailer = mailerThat((to) => {
    if (to === 'a@acme.example') stop.abort(reason);
    return ACCEPTED;
  });
  const { input, sealed } = await caseOf([{ email: { to: ['a@acme.example', 'b@acme.example'] } }], mailer);
  await expect(deliver({ ...input, signal: stop.signal })).rejects.toBe(reason);
  expect(mailer.asked).toEqual(['a@acme.example']);
  const receipts: unknown = JSON.parse(await readFile(join(sealed.folder, 'receipts.json'), 'utf8'));
  expect(receipts).toMatchObject([{ state: 'sent' }, { state: 'pending' }]);

  await deliver(input);
  expect(mailer.asked).toEqual(['a@acme.example', 'b@acme.example']);
});

test('a directory gets every file, replaces files with overwrite, and has no temporary files', async () => {
  const { input, root } = await caseOf(
    [{ directory: { path: 'out/{{ period.from }}', overwrite: true } }],
    mailerThat(() => ACCEPTED),
  );
  const folder = join(root, 'out', '2026-11-09');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'queue.csv'), 'of last time');

  const { receipts } = await deliver(input);

  expect(receipts).toMatchObject([{ target: '0-directory', recipient: 'out/2026-11-09', state: 'sent' }]);
  expect((await readdir(folder)).sort()).toEqual(['KPIs 2026-W46.xlsx', 'queue.csv']);
  expect(await readFile(join(folder, 'queue.csv'), 'utf8')).toBe('alerts\r\n3\r\n');
});

test('a directory delivery that would replace other bytes is refused and writes nothing', async () => {
  const { input, root } = await caseOf(
    [{ directory: { path: 'out' } }],
    mailerThat(() => ACCEPTED),
  );
  const folder = join(root, 'out');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'queue.csv'), 'of another report');

  const { receipts } = await deliver(input);

  expect(receipts).toMatchObject([{ state: 'refused', detail: expect.stringContaining('overwrite: true') }]);
  expect(await readdir(folder)).toEqual(['queue.csv']);
  expect(await readFile(join(folder, 'queue.csv'), 'utf8')).toBe('of another report');
});

test('a directory delivery keeps an existing file with the same bytes', async () => {
  const { input, root } = await caseOf(
    [{ directory: { path: 'out' } }],
    mailerThat(() => ACCEPTED),
  );
  const folder = join(root, 'out');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'queue.csv'), 'alerts\r\n3\r\n');
  const { receipts } = await deliver(input);
  expect(receipts).toMatchObject([{ state: 'sent' }]);
  expect((await readdir(folder)).sort()).toEqual(['KPIs 2026-W46.xlsx', 'queue.csv']);
});

test.each(['../out', 'out/../../etc', 'out/{{ org }}/..'])('the directory %s is refused', async (path) => {
  const { input, root } = await caseOf(
    [{ directory: { path } }],
    mailerThat(() => ACCEPTED),
  );
  const { receipts } = await deliver(input);
  expect(receipts[0]).toMatchObject({ state: 'refused', detail: expect.stringContaining('".."') });
  expect(await readdir(root)).toEqual(['archive']);
});

test('a delivery to an unwritable directory is retried later', async () => {
  const { input, root } = await caseOf(
    [{ directory: { path: 'out' } }],
    mailerThat(() => ACCEPTED),
  );
  await writeFile(join(root, 'out'), 'a file where the folder should be');
  const { receipts, retryable } = await deliver(input);
  expect(receipts[0]).toMatchObject({ state: 'pending' });
  expect(retryable).toBe(true);
});

test('an interrupted directory delivery is sent if all files are complete, and unknown otherwise', async () => {
  const { input, root, sealed } = await caseOf(
    [{ directory: { path: 'out' } }],
    mailerThat(() => ACCEPTED),
  );
  const { receipts } = await deliver({ ...input, ledger: memoryLedger() });
  const interrupted = async () => {
    const ledger = memoryLedger();
    const id = receipts[0]!.delivery;
    await ledger.open({ id, run: RUN, org: 'acme', report: 'r', target: 't', recipient: 'out' }, 1);
    await ledger.begin(id, 2);
    // The process died before the archive got a result.
    await rm(join(sealed.folder, 'attempts'), { recursive: true, force: true });
    return (await deliver({ ...input, ledger })).receipts[0]!.state;
  };
  expect(await interrupted()).toBe('sent');
  await writeFile(join(root, 'out', 'queue.csv'), 'half');
  expect(await interrupted()).toBe('unknown');
});

test('a report without deliveries has no receipts, like a run that is not delivered', async () => {
  const { input, sealed } = await caseOf(
    [],
    mailerThat(() => ACCEPTED),
  );
  expect(await deliver(input)).toEqual({ receipts: [], retryable: false, outage: undefined });
  expect(await readdir(sealed.folder)).not.toContain('receipts.json');
  expect(await input.archive.getReceipts(sealed)).toEqual([]);
});
