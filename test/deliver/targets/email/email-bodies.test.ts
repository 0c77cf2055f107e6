import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../../../src/base/secrets/secret.ts';
import { directoryStorage } from '../../../../src/deliver/archive/storage/directory-storage.ts';
import { deliver } from '../../../../src/deliver/deliver.ts';
import { smtpMailer } from '../../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import type { RunMail } from '../../../../src/render/artifact.ts';
import { createRunFileReader } from '../../../../src/services/runs/run-file-reader.ts';
import {
  definitionWith,
  deliverInput,
  folderFor,
  MAIL,
  ORDER,
  sealedRun,
  type TestDelivery,
} from '../../../support/delivery-case.ts';
import { type SmtpScript, scriptedSmtp } from '../../../support/smtp-script.ts';

const picture = (name: string) => ({ cid: `${name}@docket`, name: `mail-${name}.png`, bytes: Buffer.from(name) });
const bodyOf = (name: string) => ({ html: `<p>${name}</p>`, text: `${name}\n`, pictures: [] });
const MAILS: RunMail = {
  body: 'full',
  html: '<p>full <img src="cid:chart@docket"></p>',
  text: 'full\n',
  pictures: [picture('chart')],
  others: [
    { body: 'full-lists', ...bodyOf('full-lists'), pictures: [picture('chart')] },
    { body: 'summary', ...bodyOf('summary') },
    { body: 'notice', ...bodyOf('notice') },
  ],
};
const HEADLINES = ['Approval rate: 83.0%, target 90.0%, breached', 'Profiles created: 460'];

async function caseOf(
  deliveries: readonly TestDelivery[],
  {
    mail,
    script = {},
    fromName,
    manifest = {},
  }: { mail?: RunMail; script?: SmtpScript; fromName?: string; manifest?: Parameters<typeof sealedRun>[3] } = {},
) {
  const root = await folderFor(onTestFinished);
  const server = await scriptedSmtp(script);
  const mailer = smtpMailer(new Secret(server.url));
  onTestFinished(async () => {
    await mailer.close();
    await server.close();
  });
  const sealed = await sealedRun(root, undefined, undefined, {
    headlines: HEADLINES,
    ...(mail ? { mail } : {}),
    ...manifest,
  });
  const input = deliverInput({
    definition: definitionWith(deliveries),
    published: sealed.published,
    mail: { mailer, from: 'reports@docket.example', ...(fromName === undefined ? {} : { fromName }) },
    archive: sealed.archive,
    workingDirectory: root,
  });
  const messages = () =>
    Promise.all(
      server.conversations.filter(({ accepted }) => accepted).map(({ body }) => PostalMime.parse(new Uint8Array(body))),
    );
  return { ...sealed, root, input, messages };
}

const email = (name: string, more: object = {}): TestDelivery => ({ email: { to: [`${name}@acme.example`], ...more } });

test('each delivery sends its own kind of body with that body’s pictures', async () => {
  const { input, messages } = await caseOf(
    [
      email('all'),
      email('lists', { body: 'full', list_in_body: true }),
      email('summary', { body: 'summary' }),
      email('notice', { body: 'notice' }),
    ],
    { mail: MAILS },
  );
  await deliver(input);
  const got = new Map((await messages()).map((mail) => [mail.to?.[0]?.address, mail]));
  const shown = (name: string) => {
    const mail = got.get(`${name}@acme.example`);
    return [mail?.html?.trim(), mail?.text?.trim(), mail?.attachments.length];
  };
  expect(shown('all')).toEqual([expect.stringContaining('<p>full <img'), 'full', 1]);
  expect(shown('lists')).toEqual([expect.stringContaining('full-lists'), 'full-lists', 1]);
  expect(shown('summary')).toEqual([expect.stringContaining('<p>summary</p>'), 'summary', 0]);
  expect(shown('notice')).toEqual([expect.stringContaining('<p>notice</p>'), 'notice', 0]);
});

test('a run of an older version is sent with its only body', async () => {
  const { input, messages, published } = await caseOf([email('a', { body: 'summary' })]);
  expect(published.manifest.mail).not.toHaveProperty('body');
  await deliver(input);
  expect((await messages())[0]?.text?.trim()).toBe(MAIL.text.trim());
});

test('a run without the body that a delivery needs is not sent', async () => {
  const { others: _, ...only } = MAILS;
  const { input, messages } = await caseOf([email('a', { body: 'notice' })], { mail: only });
  const result = await deliver(input).catch((error: unknown) => error);
  expect(JSON.stringify(result)).toContain('notice');
  expect(await messages()).toEqual([]);
});

test('the subject has title, period and first headline, and no figures if the delivery says so', async () => {
  const { input, messages } = await caseOf([
    email('a'),
    email('b', { subject_figures: false }),
    email('c', { subject: '{{ title }}|{{ headline }}|{{ headlines.size }}', subject_figures: false }),
    email('d', { subject: 'Own {{ headline }}' }),
  ]);
  await deliver(input);
  const subjects = new Map((await messages()).map(({ to, subject }) => [to?.[0]?.address?.[0], subject]));
  expect(Object.fromEntries(subjects)).toEqual({
    a: `Weekly KPIs, 2026-W46: ${HEADLINES[0]}`,
    b: 'Weekly KPIs, 2026-W46',
    c: 'Weekly KPIs||0',
    d: `Own ${HEADLINES[0]}`,
  });
});

test('a classified report has no figures in its subject unless the delivery allows it', async () => {
  const { input, messages } = await caseOf([
    email('a'),
    email('b', { subject: 'Own {{ headline }}' }),
    email('c', { subject_figures: true }),
  ]);
  await deliver({ ...input, settings: { ...input.settings, classification: 'Confidential' } });
  const subjects = new Map((await messages()).map(({ to, subject }) => [to?.[0]?.address?.[0], subject]));
  expect(Object.fromEntries(subjects)).toEqual({
    a: 'Weekly KPIs, 2026-W46',
    b: 'Own',
    c: `Weekly KPIs, 2026-W46: ${HEADLINES[0]}`,
  });
});

test('a subject can have the usual range of the first headline, unless figures are not allowed', async () => {
  const subject = '{{ headline_range.state }}|{{ headline_range.low }}|{{ headline_range.high }}';
  const state: 'unusual' = 'unusual';
  const range = { section: 'kpis', metric: 'profiles.created', value: 160, low: 94, high: 118, state };
  const other = { ...range, low: 1, headline: 1 };
  const recipients = [email('a', { subject }), email('b', { subject, subject_figures: false })];
  const subjectsOf = async (ranges: readonly (typeof range & { readonly headline?: number })[]) => {
    const { input, messages } = await caseOf(recipients, { manifest: { ranges } });
    await deliver(input);
    return (await messages()).map((message) => message.subject).sort();
  };
  expect(await subjectsOf([other, { ...range, headline: 0 }])).toEqual(['unusual|94|118', '||'].sort());
  expect(await subjectsOf([other])).toEqual(['||', '||']);
});

test('the subject of a corrected edition begins with the correction, in any template', async () => {
  const send = (target: string) => ({ target, recipient: null, send_if: 'correction', send: true, reason: 'Got it.' });
  const { input, messages } = await caseOf([email('a'), email('b', { subject: 'Own' })], {
    manifest: {
      corrects: { run: 'f'.repeat(32), at: '2026-11-03T09:56:00Z', changes: 1, subject: 'Corrected' },
      conditions: [send('0-email'), send('1-email')],
    },
  });
  await deliver(input);
  const subjects = (await messages()).map(({ subject }) => subject).sort();
  expect(subjects).toEqual(['Corrected: Own', `Corrected: Weekly KPIs, 2026-W46: ${HEADLINES[0]}`]);
});

test('a message names its sender and list, and suppresses automatic replies', async () => {
  const { input, messages } = await caseOf([email('a')], { fromName: 'Acme, "Payments" AG' });
  await deliver(input);
  const [mail] = await messages();
  const header = (name: string) => mail?.headers.find(({ key }) => key === name)?.value;
  expect(mail?.from).toEqual({ address: 'reports@docket.example', name: 'Acme, "Payments" AG' });
  expect(header('list-id')).toBe('<weekly-kpi.acme.docket.example>');
  expect(header('auto-submitted')).toBe('auto-generated');
});

test('the archive stores each body under its own name, and can return and preview it', async () => {
  const { archive, published, root } = await caseOf([], { mail: MAILS });
  const found = await archive.find(ORDER);
  expect(found?.mail).toEqual(MAILS);
  expect(await readFile(join(published.folder, 'mail-summary.html'), 'utf8')).toBe('<p>summary</p>');
  const reader = createRunFileReader(directoryStorage(join(root, 'archive')));
  const names = (await reader.files(ORDER))?.filter(({ kind }) => kind !== 'file').map(({ name }) => name);
  expect(names?.sort()).toEqual([
    'mail-chart.png',
    'mail-full-lists.html',
    'mail-full-lists.txt',
    'mail-notice.html',
    'mail-notice.txt',
    'mail-summary.html',
    'mail-summary.txt',
    'mail.html',
    'mail.txt',
  ]);
  expect(await reader.preview(ORDER, 'notice')).toBe('<p>notice</p>');
  expect(await reader.preview(ORDER)).toContain('data:image/png;base64,');
  expect(await reader.preview(ORDER, 'unknown')).toBeUndefined();
});

test('a changed body makes the run corrupt, like any other changed file', async () => {
  const { archive, published } = await caseOf([], { mail: MAILS });
  await writeFile(join(published.folder, 'mail-notice.txt'), 'other\n');
  await expect(archive.find(ORDER)).rejects.toMatchObject({ code: 'archive.corrupt' });
});

test('a message that is resent has the same bytes as before', async () => {
  const script: SmtpScript = { dot: { say: '450 later' } };
  const { input, messages, archive, published } = await caseOf([email('a', { body: 'summary' })], {
    mail: MAILS,
    script,
  });
  const first = await deliver(input);
  const delivery = first.receipts[0]?.delivery ?? '';
  const archived = await archive.getMessage(published, delivery);
  delete script.dot;
  await deliver(input);
  expect((await messages()).at(-1)?.text?.trim()).toBe('summary');
  expect(Buffer.from((await archive.getMessage(published, delivery)) ?? []).equals(Buffer.from(archived ?? []))).toBe(
    true,
  );
});
