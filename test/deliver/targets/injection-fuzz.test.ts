import { mkdir, readdir, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { expect, onTestFinished, test } from 'vitest';
import { DocketError } from '../../../src/base/error.ts';
import { Secret } from '../../../src/base/secrets/secret.ts';
import { renderTemplate } from '../../../src/base/text/template.ts';
import { canonicalAddress, recipientRefusal } from '../../../src/definitions/allow-lists/recipients.ts';
import { deliver } from '../../../src/deliver/deliver.ts';
import { targetFolder, writeFiles } from '../../../src/deliver/targets/directory/directory-target.ts';
import { buildEmail } from '../../../src/deliver/targets/email/email-message.ts';
import { smtpMailer } from '../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { renderFileName } from '../../../src/render/file-names.ts';
import {
  definitionWith,
  deliverInput,
  folderFor,
  PERIOD,
  SETTINGS,
  sealedRun,
  writeArtifact,
} from '../../support/delivery-case.ts';
import { cases, least } from '../../support/fuzz.ts';
import { scriptedSmtp } from '../../support/smtp-script.ts';

const SEED = 20_261_116;
const ALLOWED = [
  'auto-submitted',
  'content-disposition',
  'content-transfer-encoding',
  'content-type',
  'date',
  'from',
  'list-id',
  'message-id',
  'mime-version',
  'subject',
  'to',
  'x-docket-run',
];
/** Text that breaks parsers: line ends, quotes, routes, comments, encoded words, dots, separators, reserved names. */
const TEETH = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  '\u2028',
  '"',
  '<',
  '>',
  ',',
  ';',
  ':',
  '@',
  '(',
  ')',
  '\\',
  '/',
  '..',
  '.',
  ' ',
  '%0d%0a',
  '=?utf-8?q?=0D=0A?=',
  'Bcc: rival@elsewhere.example',
  '{{',
  '}}',
  '{% raw %}',
  'CON',
  '~',
  '-',
  '\u202e',
  '\ud800',
  'ä',
  '日',
  '😀',
  '\x1b[2J',
];
const hostile = (most: number) =>
  fc
    .array(
      fc.oneof(fc.constantFrom(...TEETH), fc.string({ unit: 'binary', maxLength: 4 }), fc.string({ maxLength: 6 })),
      { maxLength: most },
    )
    .map((parts) => parts.join(''));
const address = fc.oneof(
  hostile(6),
  fc
    .tuple(
      hostile(3),
      fc.constantFrom(
        'acme.example',
        'ACME.example',
        'sub.acme.example',
        'acme.example.',
        'elsewhere.example',
        '[127.0.0.1]',
      ),
    )
    .map(([local, domain]) => `${local}@${domain}`),
  fc.tuple(hostile(2), hostile(2)).map(([local, tail]) => `${local}lead@acme.example${tail}`),
);

test('only plain addresses of the allow-list pass, out of 4000 hostile ones', () => {
  let passed = 0;
  fc.assert(
    fc.property(address, (text) => {
      const canonical = canonicalAddress(text);
      if (recipientRefusal(text, SETTINGS.recipients) === undefined) {
        passed += 1;
        expect(canonical).toMatch(/^[^\s<>"(),:;@[\\\]]{1,64}@(acme|partner)\.example$/);
      }
      if (canonical === undefined) return;
      expect(canonical).toMatch(/^[\x21-\x7e]+$/);
      expect(canonical.split('@')).toHaveLength(2);
      expect(canonicalAddress(canonical)).toBe(canonical);
    }),
    { ...cases(4_000), seed: SEED },
  );
  expect(passed).toBeGreaterThan(least(20));
});

test('no header, recipient or part is added by 1500 hostile headers, names and bodies', async () => {
  await fc.assert(
    fc.asyncProperty(hostile(10), hostile(10), hostile(10), address, async (subject, name, body, to) => {
      const parts = {
        delivery: '0'.repeat(32),
        run: subject,
        from: 'reports@docket.example',
        fromName: name,
        list: { org: subject, report: name },
        to,
        subject,
        text: body,
        html: body,
        attachments: [{ name, mediaType: 'text/csv', content: Buffer.from('a') }],
        date: new Date(0),
      };
      const message = await buildEmail(parts).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'deliver.recipient_refused' });
        return buildEmail({ ...parts, to: 'lead@acme.example' });
      });
      const mail = await PostalMime.parse(message.raw);
      expect(mail.to?.map(({ address: one }) => one)).toEqual([message.envelope.to]);
      expect(mail.from?.address).toBe('reports@docket.example');
      expect(mail.headers.find(({ key }) => key === 'list-id')?.value).toMatch(/^<[\w-]+\.[\w-]+\.docket\.example>$/);
      expect([mail.cc, mail.bcc, mail.replyTo]).toEqual([undefined, undefined, undefined]);
      expect(mail.attachments).toHaveLength(1);
      // A message with one part has its encoding in the top header. An empty subject has no header.
      const names = mail.headers.map(({ key }) => key);
      expect(names.filter((key) => !ALLOWED.includes(key))).toEqual([]);
      expect(new Set(names).size).toBe(names.length);
    }),
    { ...cases(1_500), seed: SEED },
  );
});

test('none of 2500 hostile templates runs code; each gives a text or an error', () => {
  const template = fc.oneof(
    hostile(8),
    fc
      .tuple(
        hostile(2),
        fc.constantFrom(
          '{{ title }}',
          '{{ period.label }}',
          '{{ org.constructor }}',
          '{{ __proto__ }}',
          '{% include "/etc/passwd" %}',
          '{{ title | upcase }}',
          '{% for i in (1..9) %}{{ i }}{% endfor %}',
        ),
        hostile(2),
      )
      .map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(template, hostile(4), (text, title) => {
      try {
        const filled = renderTemplate(
          text,
          { period: PERIOD, org: 'acme', report: 'weekly', title, run: 'r' },
          'the subject',
        );
        expect(filled).not.toMatch(/native code|root:x:/);
      } catch (error) {
        expect(error).toBeInstanceOf(DocketError);
      }
    }),
    { ...cases(2_500), seed: SEED },
  );
});

test('none of 2000 hostile file names and folders leaves the target', async () => {
  const root = await folderFor(onTestFinished);
  const inside = join(root, 'target');
  const made: string[] = [];
  fc.assert(
    fc.property(hostile(8), hostile(8), (name, folder) => {
      const safe = renderFileName('{{ title }}', { period: PERIOD, org: 'acme', report: 'r', title: name }, '.csv');
      expect(safe).not.toMatch(/[/\\\p{Cc}]/u);
      expect(safe.length).toBeLessThanOrEqual(120);
      expect(['.', '..']).not.toContain(safe);
      if (made.length < 40) made.push(safe);
      try {
        const target = targetFolder(`x/${folder}`, inside);
        expect(relative(inside, target).startsWith('..')).toBe(false);
        expect(resolve(target, safe).startsWith(`${target}/`)).toBe(true);
      } catch (error) {
        expect(error).toMatchObject({ code: 'deliver.target_refused' });
      }
    }),
    { ...cases(2_000), seed: SEED },
  );
  const source = join(root, 'source');
  await mkdir(source);
  const artifacts = await Promise.all([...new Set(made)].map((name) => writeArtifact(source, name, 'a')));
  expect(await writeFiles(inside, artifacts, new AbortController().signal)).toMatchObject({ state: 'sent' });
  expect((await readdir(root)).sort()).toEqual(['source', 'target']);
  for (const { name } of artifacts) expect((await stat(join(inside, name))).isFile()).toBe(true);
});

test('a mail server gets only allowed recipients and plain commands, whatever the recipients and subject are', async () => {
  const server = await scriptedSmtp({});
  const mailer = smtpMailer(new Secret(server.url));
  onTestFinished(async () => {
    await mailer.close();
    await server.close();
  });
  const { archive, published } = await sealedRun(await folderFor(onTestFinished));
  const to = fc.sample(address, { numRuns: 95, seed: SEED });
  const [subject = ''] = fc.sample(
    hostile(12).filter((text) => !/[{}]/.test(text) && text.trim() !== ''),
    { numRuns: 1, seed: SEED },
  );
  const { receipts } = await deliver(
    deliverInput({
      definition: definitionWith([{ email: { to: [...to, 'lead@acme.example'], subject } }]),
      published,
      mail: { mailer, from: 'reports@docket.example' },
      archive,
    }),
  );
  expect(receipts.every(({ state }) => state === 'sent' || state === 'refused')).toBe(true);
  const sent = receipts.filter(({ state }) => state === 'sent').map(({ recipient }) => `RCPT TO:<${recipient}>`);
  expect(sent).toContain('RCPT TO:<lead@acme.example>');
  const commands = server.conversations.flatMap((talk) => talk.commands);
  expect(commands.filter((line) => line.startsWith('RCPT'))).toEqual(sent);
  expect(
    commands.filter(
      (line) =>
        !/^(EHLO|MAIL FROM:<reports@docket\.example>|RCPT TO:<[^<>\s]+@(acme|partner)\.example>|DATA|RSET|QUIT)/.test(
          line,
        ),
    ),
  ).toEqual([]);
});
