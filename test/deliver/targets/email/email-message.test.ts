import fc from 'fast-check';
import MailComposer from 'nodemailer/lib/mail-composer';
import PostalMime, { type Email } from 'postal-mime';
import { expect, test } from 'vitest';
import {
  buildEmail,
  buildMessageId,
  type EmailParts,
  MAX_ATTACHMENT_BYTES,
} from '../../../../src/deliver/targets/email/email-message.ts';
import { cases } from '../../../support/fuzz.ts';

const PARTS: EmailParts = {
  delivery: '0123456789abcdef0123456789abcdef',
  run: 'fedcba9876543210fedcba9876543210',
  from: 'reports@docket.example',
  list: { org: 'acme', report: 'weekly-kpi' },
  to: 'lead@acme.example',
  subject: 'Weekly KPIs',
  text: 'Hello\n',
  html: '<p>Hello</p>',
  attachments: [
    { name: 'KPIs – Zürich.xlsx', mediaType: 'application/octet-stream', content: Buffer.from([0, 1, 255]) },
  ],
  date: new Date('2026-11-16T07:00:05Z'),
};

/** Header names of the top part in order, split as a receiver does. */
const headerNames = (raw: Uint8Array): string[] =>
  (Buffer.from(raw).toString('latin1').split('\r\n\r\n')[0] ?? '')
    .split('\r\n')
    .filter((line) => !/^[ \t]/.test(line))
    .map((line) => line.slice(0, line.indexOf(':')).toLowerCase());

const HEADERS = [
  'auto-submitted',
  'content-type',
  'date',
  'from',
  'list-id',
  'message-id',
  'mime-version',
  'reply-to',
  'subject',
  'to',
  'x-docket-run',
];

test('building a message is deterministic', async () => {
  const [one, other] = [await buildEmail(PARTS), await buildEmail(PARTS)];
  expect(Buffer.from(one.raw).equals(other.raw)).toBe(true);
  expect(one.envelope).toEqual({ from: 'reports@docket.example', to: 'lead@acme.example' });
});

test.each([
  '=?utf-8?q?Paid=21?=',
  'KPIs =?utf-8?B?UGFpZA==?= of Zürich',
  'KPIs =?utf-8?q?a?= =?utf-8?q?b?= now',
  'a=?utf-8*en?q?b?=c',
  '"=?utf-8?q?a b?="',
  '=?',
  `=?utf-8?q?${'x'.repeat(60)}?= ${'ü'.repeat(20)}😀`,
])('text that looks like an encoded word arrives as typed: %s', async (typed) => {
  const { raw } = await buildEmail({ ...PARTS, subject: typed, fromName: typed });
  const mail = await PostalMime.parse(raw);
  expect([mail.subject, mail.from?.name, mail.from?.address]).toEqual([typed, typed, PARTS.from]);
  expect(headerNames(raw).sort()).toEqual(HEADERS.filter((name) => name !== 'reply-to'));
  const lines = Buffer.from(raw).toString('latin1').split('\r\n\r\n')[0]?.split('\r\n') ?? [];
  expect(lines.filter((line) => line.length > 78 && line.startsWith(' =?'))).toEqual([]);
});

test('a message contains its parts', async () => {
  const mail = await PostalMime.parse((await buildEmail(PARTS)).raw);
  expect(mail).toMatchObject({
    subject: 'Weekly KPIs',
    messageId: buildMessageId(PARTS.delivery, PARTS.from),
    date: '2026-11-16T07:00:05.000Z',
  });
  expect(mail.attachments[0]).toMatchObject({ filename: 'KPIs – Zürich.xlsx', disposition: 'attachment' });
  const content = mail.attachments[0]!.content;
  expect(Buffer.from(content as ArrayBuffer)).toEqual(Buffer.from([0, 1, 255]));
});

const PICTURES = ['onboarding', 'screening'].map((id) => ({
  cid: `${id}.0123456789abcdef@docket`,
  name: `mail-${id}.png`,
  bytes: Uint8Array.of(0x89, 0x50, ...Buffer.from(id)),
}));
const ILLUSTRATED: EmailParts = {
  ...PARTS,
  html: PICTURES.map(({ cid }) => `<img src="cid:${cid}" alt="">`).join(''),
  pictures: PICTURES,
};

test.each([0, 1, 56, 57, 58, 114, 5_000])('a file of %i bytes is encoded as by nodemailer', async (bytes) => {
  const content = Buffer.alloc(bytes, 'x\xff');
  const { raw } = await buildEmail({ ...PARTS, attachments: [{ name: 'a.csv', mediaType: 'text/csv', content }] });
  const expected = await new MailComposer({
    text: 'Hello',
    attachments: [{ filename: 'a.csv', content }],
    newline: 'win',
  })
    .compile()
    .build();
  const bodyOf = (message: Uint8Array) =>
    Buffer.from(message)
      .toString('latin1')
      .split(/a\.csv"?\r\n/)
      .at(-1)
      ?.split('\r\n--')[0];
  const encoded = (message: Uint8Array) => bodyOf(message)?.split('\r\n\r\n').at(-1);
  expect(encoded(raw)).toBe(encoded(expected));
});

test('pictures are inline parts, not attachments', async () => {
  const { raw } = await buildEmail(ILLUSTRATED);
  const mail = await PostalMime.parse(raw);
  const shown = [...(mail.html ?? '').matchAll(/"cid:([^"]+)"/g)].map(([, cid]) => cid);
  const related = mail.attachments.filter(({ related }) => related);
  expect(related.map(({ contentId }) => contentId)).toEqual(shown.map((cid) => `<${cid}>`));
  related.forEach(({ disposition, mimeType, content }, index) => {
    expect({ disposition, mimeType }).toEqual({ disposition: 'inline', mimeType: 'image/png' });
    expect(new Uint8Array(content as ArrayBuffer)).toEqual(PICTURES[index]!.bytes);
  });
  expect(mail.attachments.filter(({ related }) => !related).map(({ filename }) => filename)).toEqual([
    'KPIs – Zürich.xlsx',
  ]);
  expect(Buffer.from(raw).equals((await buildEmail(ILLUSTRATED)).raw)).toBe(true);
});

test('pictures count towards the size limit', async () => {
  const pictures = [{ ...PICTURES[0]!, bytes: new Uint8Array(MAX_ATTACHMENT_BYTES) }];
  await expect(buildEmail({ ...ILLUSTRATED, pictures })).rejects.toMatchObject({ code: 'deliver.target_refused' });
});

test('no text can contain the boundary', async () => {
  const boundary = async (text: string) =>
    /boundary="([^"]+)"/.exec(Buffer.from((await buildEmail({ ...PARTS, text })).raw).toString('latin1'))?.[1];
  const first = await boundary('Hello');
  const text = `Hello\r\n--${first}\r\nContent-Disposition: attachment; filename=evil.html\r\n\r\nevil\r\n`;
  expect(await boundary(text)).not.toBe(first);
  const mail = await PostalMime.parse((await buildEmail({ ...PARTS, text })).raw);
  expect(mail.attachments).toHaveLength(1);
  expect(mail.text).toContain('evil');
});

test('every line ends with CRLF and has at most 998 bytes', async () => {
  const { raw } = await buildEmail({
    ...PARTS,
    html: `<p>${'ä'.repeat(5000)}\n.\r\n..\r</p>`,
    text: 'x'.repeat(5000),
  });
  const lines = Buffer.from(raw).toString('latin1').split('\r\n');
  for (const line of lines) {
    expect(line).not.toMatch(/[\r\n]/);
    expect(line.length).toBeLessThanOrEqual(998);
  }
});

test('the Message-ID is stable and unique per delivery', () => {
  const id = buildMessageId('a', 'reports@docket.example');
  expect(id).toMatch(/^<[0-9a-f]{40}@docket\.example>$/);
  expect(buildMessageId('a', 'reports@docket.example')).toBe(id);
  expect(buildMessageId('b', 'reports@docket.example')).not.toBe(id);
});

test('attachments above the limit are refused with names and sizes', async () => {
  const of = (length: number) => ({
    ...PARTS,
    attachments: [{ ...PARTS.attachments[0]!, content: new Uint8Array(length) }],
  });
  // Exactly the limit, as base64 with line breaks.
  await expect(buildEmail(of(7_662_672))).resolves.toBeDefined();
  await expect(buildEmail(of(7_662_673))).rejects.toMatchObject({
    code: 'deliver.target_refused',
    got: expect.stringContaining('KPIs – Zürich.xlsx (7662673)'),
  });
});

test('bidirectional and invisible characters are removed from attachment names', async () => {
  const [attachment] = PARTS.attachments;
  if (attachment === undefined) throw new Error('no attachment');
  const named = { ...PARTS, attachments: [{ ...attachment, name: 'KPIs \u202exslx\u202c\u200b.exe' }] };
  const { attachments } = await PostalMime.parse((await buildEmail(named)).raw);
  expect(attachments.map(({ filename }) => filename)).toEqual(['KPIs xslx.exe']);
});

test('bidirectional and invisible characters are removed from subjects', async () => {
  const subjectOf = async (subject: string) =>
    (await PostalMime.parse((await buildEmail({ ...PARTS, subject })).raw)).subject;
  expect(await subjectOf('KPIs \u202e2026')).toBe('KPIs 2026');
  expect(await subjectOf('KPIs \u2068שלום\u2069 2026')).toBe('KPIs שלום 2026');
  for (const [open, close] of [
    '\u202a\u202c',
    '\u202e\u202c',
    '\u2067\u2069',
    '\u200f\u200e',
    '\u200b\u2060',
    '\ufeff\u061c',
  ]) {
    expect(await subjectOf(`KPIs ${open}gpj.exe${close} 2026`)).toBe('KPIs gpj.exe 2026');
  }
  expect(await subjectOf(`\u2068${'a'.repeat(250)}\u2069`)).toMatch(/^a{199}…$/);
});

test('hostile input adds no header, recipient or part', async () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc
      .tuple(fc.string({ maxLength: 10 }), fc.constantFrom('\r\n', '\n', '\r', '\u2028', '\0', '=?utf-8?q?=0D=0A?='))
      .map(([text, end]) => `${text}${end}Bcc: rival@elsewhere.example${end}${end}--${PARTS.delivery}`),
  );
  await fc.assert(
    fc.asyncProperty(hostile, hostile, hostile, async (subject, name, run) => {
      const attachments = [{ name, mediaType: 'text/csv', content: Buffer.from('a') }];
      const { raw, envelope } = await buildEmail({
        ...PARTS,
        fromName: name,
        list: { org: subject, report: run },
        subject,
        run,
        replyTo: 'ops@acme.example',
        attachments,
      });
      const names = headerNames(raw);
      expect(names.filter((header) => !HEADERS.includes(header))).toEqual([]);
      expect(new Set(names).size).toBe(names.length);
      expect(envelope.to).toBe('lead@acme.example');
      const mail = await PostalMime.parse(raw);
      expect(mail.to).toMatchObject([{ address: 'lead@acme.example' }]);
      expect(mail.from?.address).toBe(PARTS.from);
      expect(mail.bcc).toBeUndefined();
      expect(mail.attachments).toHaveLength(1);
    }),
    cases(500),
  );
});

const parse = async (change: Partial<EmailParts>) => PostalMime.parse((await buildEmail({ ...PARTS, ...change })).raw);
const headerOf = (mail: Email, name: string): string | undefined => mail.headers.find(({ key }) => key === name)?.value;

test.each([
  ['Acme Payments', 'Acme Payments'],
  ['Zürcher "Kantonal", AG', 'Zürcher "Kantonal", AG'],
  ['شركة أكمي', 'شركة أكمي'],
  ['Acme <ceo@bank.example>', 'Acme <ceo@bank.example>'],
  ['Acme\r\nBcc: a@b.example', 'Acme Bcc: a@b.example'],
  ['\u202egpj.exe', 'gpj.exe'],
  [' \u200b ', ''],
  [undefined, ''],
])('the sender is shown as %j and stays a single address', async (fromName, shown) => {
  expect((await parse({ fromName })).from).toEqual({ address: PARTS.from, name: shown });
});

test('the List-Id is stable for a report, and a valid dot-atom for any ids', async () => {
  const listId = async (org: string, report: string, from = PARTS.from) =>
    headerOf(await parse({ from, list: { org, report } }), 'list-id');
  expect(await listId('acme', 'weekly-kpi')).toBe('<weekly-kpi.acme.docket.example>');
  expect(await listId('acme', 'weekly-kpi', 'Reports@Docket.Example')).toBe('<weekly-kpi.acme.docket.example>');
  expect(headerOf(await parse({ delivery: 'f'.repeat(32), subject: 'Other' }), 'list-id')).toBe(
    '<weekly-kpi.acme.docket.example>',
  );
  // RFC 2919: dot-atom-text, at most 255 characters.
  const long = await listId(`a.b c${'x'.repeat(300)}`, `<Ünï>${'y'.repeat(300)}`);
  expect(long).toMatch(/^<[\w-]+\.[\w-]+\.docket\.example>$/);
  expect(long?.length).toBeLessThanOrEqual(257);
});

test.each(['from', 'to', 'replyTo'] as const)('text beside the address is refused in the field %s', async (place) => {
  for (const value of [
    'a@b.example\r\nBcc: c@d.example',
    'a@b.example, c@d.example',
    'A <a@b.example>',
    '@b.example',
    'a',
  ]) {
    await expect(buildEmail({ ...PARTS, [place]: value })).rejects.toMatchObject({
      code: 'deliver.recipient_refused',
    });
  }
});
