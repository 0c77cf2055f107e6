import PostalMime from 'postal-mime';
import { expect, onTestFinished, test } from 'vitest';
import type { Clock } from '../../../../src/base/clock.ts';
import { Secret, secretSource } from '../../../../src/base/secrets/secret.ts';
import { createArchive } from '../../../../src/deliver/archive/create-archive.ts';
import { deliver } from '../../../../src/deliver/deliver.ts';
import { type Mailer, type SmtpMailer, smtpMailer } from '../../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { archiveUrl, bucketStorage, STORE_ENV } from '../../../support/archives.ts';
import {
  definitionWith,
  deliverInput,
  folderFor,
  sealedRun,
  type TestDelivery,
} from '../../../support/delivery-case.ts';
import { s3Server } from '../../../support/s3-server.ts';
import { scriptedSmtp } from '../../../support/smtp-script.ts';

const DAY = 86_400_000;
const MADE_AT = Date.parse('2026-11-16T07:00:05.000Z');
const MAIL_TO: TestDelivery = { email: { to: ['lead@acme.example'], attach: ['xlsx'], max_attachment: '7B' } };
const NAME = 'KPIs 2026-W46.xlsx';

/** A run archived in a bucket at this moment. Its workbook is too large for its e-mail. */
async function caseOf(
  deliveries: readonly TestDelivery[],
  now = MADE_AT,
  more = '',
  { workbook = 'workbook', smtp }: { workbook?: string | Uint8Array; smtp?: SmtpMailer } = {},
) {
  const store = await s3Server();
  onTestFinished(() => store.close());
  let at = now;
  store.now = () => at;
  const clock: Clock = { now: () => at, sleep: async () => {} };
  const root = await folderFor(onTestFinished);
  const storage = bucketStorage(archiveUrl(store, `${root}/staging`, more));
  onTestFinished(() => storage.close());
  const { archive, published } = await sealedRun(root, { [NAME]: workbook }, createArchive(storage, clock));
  const sent: string[] = [];
  const server: { announced: number | undefined } = { announced: undefined };
  const mailer: Mailer = smtp ?? {
    announcedSize: async () => ({ size: server.announced }),
    send: async (_, raw) => {
      sent.push(Buffer.from(raw).toString('utf8'));
      return { kind: 'deferred', response: '450 Later', server: false };
    },
    close: async () => {},
  };
  const input = deliverInput({
    definition: definitionWith(deliveries),
    secrets: secretSource(STORE_ENV),
    published,
    mail: { mailer, from: 'reports@docket.example' },
    archive,
    clock,
    workingDirectory: root,
  });
  const go = async () => (await deliver(input)).receipts;
  return { store, sent, go, server, wait: (ms: number) => (at += ms) };
}

/** The text of the message and its first link. */
async function textOf(raw = ''): Promise<{ text: string; link: string }> {
  const { text = '' } = await PostalMime.parse(raw);
  return { text, link: /https?:\/\/\S+/.exec(text)?.[0] ?? '' };
}

const bucketOf = (url: string, over: object = {}): TestDelivery => ({
  s3: {
    bucket: 'reports',
    key: 'out/{{ file.name }}',
    endpoint: url,
    credentials: { access_key_id: { env: 'ARCHIVE_ID' }, secret_access_key: { env: 'ARCHIVE_SECRET' } },
    tags: true,
    overwrite: false,
    ...over,
  },
});

test('an e-mail links to a large file in the archive, and the link expires at the stated time', async () => {
  const { store, sent, go, wait } = await caseOf([MAIL_TO]);
  expect((await go())[0]).toMatchObject({ state: 'pending', detail: '450 Later' });
  const { text, link } = await textOf(sent[0]);
  expect(text).toContain('until 2026-11-23 07:00 UTC');
  expect(link).toContain('X-Amz-Expires=604800');
  const opened = await fetch(link);
  expect({ status: opened.status, body: await opened.text() }).toEqual({ status: 200, body: 'workbook' });
  expect(opened.headers.get('content-disposition')).toContain(NAME);
  expect((await fetch(link.replace('X-Amz-Expires=604800', 'X-Amz-Expires=604799'))).status).toBe(403);
  wait(7 * DAY - 1);
  expect((await fetch(link)).status).toBe(200);
  wait(1);
  expect((await fetch(link)).status).toBe(403);
  expect(store.requests.every(({ method }) => method !== 'DELETE')).toBe(true);
});

test('a retry on the same day sends the same bytes, and one on another day sends a new link', async () => {
  const { sent, go, wait } = await caseOf([MAIL_TO]);
  await go();
  wait(DAY - 1);
  await go();
  expect(sent[1]).toBe(sent[0]);
  wait(4 * DAY);
  await go();
  expect((await textOf(sent[2])).text).toContain('until 2026-11-27 07:00 UTC');
  expect((await fetch((await textOf(sent[2])).link)).status).toBe(200);
});

test('an S3 delivery of the report is preferred to the archive', async () => {
  const other = await s3Server();
  onTestFinished(() => other.close());
  other.now = () => MADE_AT;
  const { sent, go } = await caseOf([bucketOf(other.url), MAIL_TO]);
  expect((await go()).map(({ state }) => state)).toEqual(['sent', 'pending']);
  const { link } = await textOf(sent[0]);
  expect(link.startsWith(`${other.url}/reports/out/`)).toBe(true);
  expect(await (await fetch(link)).text()).toBe('workbook');
});

test('a bucket with public_url is linked with it, without expiry', async () => {
  const other = await s3Server();
  onTestFinished(() => other.close());
  const { sent, go } = await caseOf([bucketOf(other.url, { public_url: 'https://reports.acme.example/r/' }), MAIL_TO]);
  await go();
  const { text, link } = await textOf(sent[0]);
  expect(link).toBe('https://reports.acme.example/r/out/KPIs%202026-W46.xlsx');
  expect(text).not.toContain('until');
});

test.each([
  ['set to links=false', '&links=false', NAME],
  ['opened with temporary credentials', '&session_token=env:ARCHIVE_ID', 'public_url'],
])('an e-mail is refused if the archive is %s', async (_, more, detail) => {
  const { sent, go } = await caseOf([MAIL_TO], MADE_AT, more);
  expect((await go())[0]).toMatchObject({ state: 'refused', detail: expect.stringContaining(detail) });
  expect(sent).toEqual([]);
});

test('a bucket with temporary credentials is named without a link', async () => {
  const other = await s3Server();
  onTestFinished(() => other.close());
  const credentials = {
    access_key_id: { env: 'ARCHIVE_ID' },
    secret_access_key: { env: 'ARCHIVE_SECRET' },
    session_token: { env: 'ARCHIVE_ID' },
  };
  const { sent, go } = await caseOf([bucketOf(other.url, { credentials }), MAIL_TO], MADE_AT, '&links=false');
  await go();
  expect((await textOf(sent[0])).text).toContain('s3://reports/out/KPIs 2026-W46.xlsx');
});

test.each([
  ['above the announced SIZE is linked', 30_000, 20_000, 0],
  ['within it, in a message above it, is linked', 14_600, 20_000, 0],
  ['within it is attached', 14_600, 60_000, 1],
  ['is attached where the server announces no number', 30_000, 0, 1],
])('a file %s, over one connection', async (_, bytes, size, attached) => {
  const server = await scriptedSmtp({}, [size === 0 ? 'SIZE' : `SIZE ${size}`]);
  const smtp = smtpMailer(new Secret(server.url));
  onTestFinished(async () => {
    await smtp.close();
    await server.close();
  });
  const mail: TestDelivery = { email: { to: ['lead@acme.example', 'b@acme.example'], attach: ['xlsx'] } };
  const { go } = await caseOf([mail], MADE_AT, '', { workbook: new Uint8Array(bytes), smtp });
  expect((await go()).map(({ state }) => state)).toEqual(['sent', 'sent']);
  const accepted = server.conversations.filter(({ accepted: yes }) => yes);
  expect(accepted).toHaveLength(2);
  for (const { body, connection } of accepted) {
    const { attachments, text = '' } = await PostalMime.parse(body);
    expect(attachments).toHaveLength(attached);
    expect(/https?:/.test(text)).toBe(attached === 0);
    expect(connection).toBe(0);
  }
});

test('a file is attached once the server accepts its size, and linked again if not', async () => {
  const { sent, go, server } = await caseOf([{ email: { to: ['lead@acme.example'], attach: ['xlsx'] } }]);
  for (const announced of [100, undefined, 100]) {
    server.announced = announced;
    expect((await go())[0]).toMatchObject({ state: 'pending', detail: '450 Later' });
  }
  const counts = await Promise.all(sent.map(async (raw) => (await PostalMime.parse(raw)).attachments.length));
  expect(counts).toEqual([0, 1, 0]);
});
