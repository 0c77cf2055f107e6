import { createHash, createVerify, generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import PostalMime from 'postal-mime';
import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../../../src/base/secrets/secret.ts';
import type { Archive } from '../../../../src/deliver/archive/archive.ts';
import { deliver } from '../../../../src/deliver/deliver.ts';
import type { DeliveredEvent } from '../../../../src/deliver/send-pending.ts';
import { parseDkimKey } from '../../../../src/deliver/targets/email/dkim.ts';
import { encodeBase64 } from '../../../../src/deliver/targets/email/email-message.ts';
import { findFileLinks, withFileLinks } from '../../../../src/deliver/targets/email/file-links.ts';
import { smtpMailer } from '../../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import type { Delivery } from '../../../../src/deliver/targets/target.ts';
import { artifactKind } from '../../../../src/render/artifact.ts';
import { archivedMessagePath } from '../../../support/archived-messages.ts';
import {
  definitionWith,
  deliverInput,
  folderFor,
  MAIL,
  manifestOf,
  RUN,
  sealedRun,
  type TestDelivery,
} from '../../../support/delivery-case.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { type SmtpScript, scriptedSmtp } from '../../../support/smtp-script.ts';

async function caseOf(
  deliveries: readonly TestDelivery[],
  script: SmtpScript = {},
  more: { mail?: object; files?: Parameters<typeof sealedRun>[1]; extensions?: readonly string[] } = {},
) {
  const root = await folderFor(onTestFinished);
  const server = await scriptedSmtp(script, more.extensions);
  const mailer = smtpMailer(new Secret(server.url));
  onTestFinished(async () => {
    await mailer.close();
    await server.close();
  });
  const { archive, published } = await sealedRun(root, more.files);
  const events: DeliveredEvent[] = [];
  const input = deliverInput({
    definition: definitionWith(deliveries),
    published,
    mail: { mailer, from: 'reports@docket.example', ...more.mail },
    archive,
    observe: (event) => events.push(event),
    workingDirectory: root,
  });
  const kept = async (delivery: string) => readFile(await archivedMessagePath(published.folder, delivery));
  /** What the server received, without dot-stuffing. */
  const got = () =>
    server.conversations
      .filter(({ accepted }) => accepted)
      .map(({ body }) => body.toString('latin1').replace(/^\.\./gm, '.'));
  return { root, input, events, server, kept, got };
}

const states = (receipts: readonly { recipient: string; state: string }[]) =>
  receipts.map(({ recipient, state }) => [recipient, state]);

test('`together: true` sends the same message to all recipients, with an envelope and a result for each', async () => {
  const to = ['a@acme.example', 'gone@acme.example', 'c@acme.example', 'A@ACME.example'];
  const { input, server, kept, got } = await caseOf([{ email: { to, together: true, attach: ['csv'] } }]);
  const { receipts } = await deliver(input);
  expect(states(receipts)).toEqual([
    ['A@acme.example', 'sent'],
    ['gone@acme.example', 'sent'],
    ['c@acme.example', 'sent'],
  ]);
  expect(server.conversations.map(({ commands }) => commands.filter((line) => line.startsWith('RCPT')))).toEqual([
    ['RCPT TO:<A@acme.example>'],
    ['RCPT TO:<gone@acme.example>'],
    ['RCPT TO:<c@acme.example>'],
  ]);
  expect(new Set(got()).size).toBe(1);
  for (const { delivery } of receipts) expect((await kept(delivery)).toString('latin1')).toBe(got()[0]);
  expect(new Set(receipts.map(({ messageId }) => messageId)).size).toBe(1);
  const mail = await PostalMime.parse(got()[0] ?? '');
  expect(mail.to?.map(({ address }) => address)).toEqual(['A@acme.example', 'gone@acme.example', 'c@acme.example']);
  expect(mail.messageId).toBe(receipts[0]?.messageId);
});

test('a server that does not reply is skipped after two messages, and the others are sent later', async () => {
  const script: SmtpScript = { dot: 'RST' };
  const to = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}@acme.example`);
  const { input, server, root } = await caseOf([{ email: { to } }, { directory: { path: 'out' } }], script);
  const first = await deliver(input);
  expect(first.receipts.map(({ state }) => state)).toEqual([
    'unknown',
    'unknown',
    'pending',
    'pending',
    'pending',
    'sent',
  ]);
  expect(first.retryable).toBe(true);
  expect(server.conversations.filter(({ ended }) => ended)).toHaveLength(2);
  delete script.dot;
  const second = await deliver({ ...input, workingDirectory: root });
  expect(second.receipts.map(({ state }) => state)).toEqual(['unknown', 'unknown', 'sent', 'sent', 'sent', 'sent']);
});

test('`together: true` names only allowed recipients', async () => {
  const to = ['a@acme.example', 'rival@elsewhere.example'];
  const { input, got } = await caseOf([{ email: { to, together: true } }]);
  const { receipts } = await deliver(input);
  expect(states(receipts)).toEqual([
    ['a@acme.example', 'sent'],
    ['rival@elsewhere.example', 'refused'],
  ]);
  expect(got().join()).not.toContain('rival');
});

const PAIR = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

/** RFC 6376 §3.4 and §3.7, relaxed/relaxed, as a receiver verifies it. */
function verifies(raw: string): boolean {
  const end = raw.indexOf('\r\n\r\n');
  const headers = raw.slice(0, end + 2).split(/\r\n(?![ \t])/);
  const relaxed = (line: string) => {
    const colon = line.indexOf(':');
    const value = line
      .slice(colon + 1)
      .replace(/\r\n/g, '')
      .replace(/[ \t]+/g, ' ')
      .trim();
    return `${line.slice(0, colon).trim().toLowerCase()}:${value}`;
  };
  const signature = headers.find((line) => /^dkim-signature:/i.test(line)) ?? '';
  const tags = new Map(
    signature
      .slice(signature.indexOf(':') + 1)
      .replace(/\s+/g, '')
      .split(';')
      .map((tag) => [tag.slice(0, tag.indexOf('=')), tag.slice(tag.indexOf('=') + 1)] as const),
  );
  const body = `${raw
    .slice(end + 4)
    .replace(/[ \t]+\r\n/g, '\r\n')
    .replace(/[ \t]+/g, ' ')
    .replace(/(\r\n)*$/, '')}\r\n`;
  if (createHash('sha256').update(body, 'latin1').digest('base64') !== tags.get('bh')) return false;
  const signed = (tags.get('h') ?? '')
    .split(':')
    .map((name) =>
      relaxed(headers.findLast((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`)) ?? `${name}:`),
    );
  const unsigned = relaxed(signature.replace(/b=[^;]*$/, 'b='));
  return createVerify('sha256')
    .update([...signed, unsigned].join('\r\n'), 'latin1')
    .verify(PAIR.publicKey, tags.get('b') ?? '', 'base64');
}

test('a signed message verifies, equals the archived one and is deterministic', async () => {
  const dkim = { domain: 'docket.example', selector: 's1', key: parseDkimKey(new Secret(PAIR.privateKey), 'test') };
  const deliveries = [{ email: { to: ['a@acme.example'], attach: ['xlsx', 'csv'] } }] satisfies TestDelivery[];
  const one = await caseOf(deliveries, {}, { mail: { dkim } });
  const clock = manualClock(Date.parse('2026-11-20T09:10:11Z'));
  const { receipts } = await deliver({ ...one.input, clock });
  const [raw = ''] = one.got();
  expect(raw).toMatch(/^DKIM-Signature: v=1; a=rsa-sha256;/);
  expect(raw).toMatch(/d=docket\.example;\s+q=dns\/txt; s=s1;/);
  expect(verifies(raw)).toBe(true);
  expect(verifies(raw.replace('Weekly KPIs', 'Weekly Lies'))).toBe(false);
  expect((await one.kept(receipts[0]?.delivery ?? '')).toString('latin1')).toBe(raw);
  const other = await caseOf(deliveries, {}, { mail: { dkim } });
  await deliver({ ...other.input, clock });
  expect(other.got()).toEqual([raw]);
});

test.each([
  ['no key', 'hello', 'something else'],
  ['an elliptic one', generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), 'ed25519'],
  [
    'a short one',
    generateKeyPairSync('rsa', { modulusLength: 512 }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
    '512 bits',
  ],
])('a DKIM key that is %s is refused before it is used', (_, pem, got) => {
  expect(() => parseDkimKey(new Secret(String(pem)), 'smtp.dkim of acme')).toThrowError(
    expect.objectContaining({ code: 'config.invalid', got: expect.stringContaining(got) }),
  );
});

test('files above max_attachment are refused without a link, even with a directory delivery', async () => {
  const deliveries: TestDelivery[] = [
    { directory: { path: 'out' } },
    { email: { to: ['a@acme.example'], attach: ['xlsx'], max_attachment: '7B' } },
  ];
  const { input, server } = await caseOf(deliveries);
  const { receipts, retryable } = await deliver(input);
  expect(receipts.map(({ state }) => state)).toEqual(['sent', 'refused']);
  expect(receipts[1]?.detail).toMatch(/too large.*KPIs 2026-W46\.xlsx \(8\).*S3 or SFTP/);
  expect(retryable).toBe(false);
  expect(server.conversations).toEqual([]);
});

test('files above the announced SIZE are refused without a link, with the size', async () => {
  const { input, server } = await caseOf(
    [{ email: { to: ['a@acme.example'], attach: ['xlsx'] } }],
    {},
    {
      files: { 'big.xlsx': new Uint8Array(30_000) },
      extensions: ['SIZE 20000'],
    },
  );
  const { receipts } = await deliver(input);
  expect(receipts).toMatchObject([{ state: 'refused', detail: expect.stringMatching(/big\.xlsx \(30000\).*20000/) }]);
  expect(server.conversations.flatMap(({ commands }) => commands).join()).not.toMatch(/MAIL|DATA/);
});

test('max_attachment counts the bytes that are sent, in base64 with line breaks', async () => {
  const stateOf = async (max_attachment: string | number, bytes: number) => {
    const files = { 'big.xlsx': new Uint8Array(bytes) };
    const { input } = await caseOf(
      [{ email: { to: ['a@acme.example'], attach: ['xlsx'], max_attachment } }],
      {},
      { files },
    );
    return (await deliver(input)).receipts[0]?.state;
  };
  for (const bytes of [1, 56, 57, 58, 60_000]) {
    const sent = encodeBase64(new Uint8Array(bytes)).length;
    expect([await stateOf(sent, bytes), await stateOf(sent - 1, bytes)]).toEqual(['sent', 'refused']);
  }
  expect(await stateOf('12MB', 8 * 1024 * 1024)).toBe('sent');
  expect(await stateOf('10MB', 8 * 1024 * 1024)).toBe('refused');
});

test('files that are too large are linked; the e-mail waits for a pending target and is refused without a source', async () => {
  const artifact = (name: string, format: 'xlsx' | 'csv' | 'schema' | 'zip') => ({
    name,
    format,
    ...artifactKind({ format }),
    path: `/x/${name}`,
    bytes: 3 * 1024 * 1024,
    sha256: 'a'.repeat(64),
  });
  const artifacts = [
    artifact('a.csv', 'csv'),
    artifact('a.json', 'schema'),
    artifact('all.zip', 'zip'),
    artifact('k.xlsx', 'xlsx'),
  ];
  const row = { id: 'd', run: RUN, org: 'acme', report: 'weekly-kpi', target: '0-s3', recipient: 's3://b/acme/' };
  const delivery = {
    row,
    service: 's3',
    messageId: null,
    linkable: true as const,
    prepare: () => Promise.reject(new Error('not asked')),
    fileLocations: () => new Map(['a.csv', 'a.json', 'k.xlsx'].map((name) => [name, `s3://b/acme/${name}`])),
  };
  const rowIn = (state: 'sent' | 'pending' | 'refused') => [
    { ...row, state, epoch: 1, detail: null, at: 1, decisions: [] },
  ];
  const published = { folder: '/x', manifest: manifestOf(artifacts), artifacts, mail: MAIL };
  const ask = (
    format: 'csv' | 'xlsx',
    rows: ReturnType<typeof rowIn>,
    one: Delivery = delivery,
    archive: Partial<Archive> = {},
  ) => findFileLinks({ formats: [format], published, deliveries: [one], rows, archive: archive as Archive });
  const [bytes, until] = [3 * 1024 * 1024, null];
  expect(await ask('csv', rowIn('sent'))).toEqual(
    ['a.csv', 'a.json'].map((name) => ({ name, bytes, url: `s3://b/acme/${name}`, until })),
  );
  expect(await ask('csv', rowIn('pending'))).toEqual({ waitsFor: 's3://b/acme/' });
  for (const rows of [rowIn('refused'), []]) {
    await expect(ask('csv', rows)).rejects.toMatchObject({ code: 'deliver.target_refused' });
  }
  const local = { ...delivery, fileLocations: () => new Map([['k.xlsx', '/srv/out/k.xlsx']]) };
  await expect(ask('xlsx', rowIn('sent'), local)).rejects.toMatchObject({ code: 'deliver.target_refused' });

  // A link that opens for the reader comes before a mere location, and does not wait.
  const open = (where: string) => async (name: string) => ({ url: `https://${where}/${name}`, until: 9 });
  const archive = { link: (_: unknown, name: string) => open('archive')(name) };
  const shared = { ...delivery, sharedLinks: async () => new Map([['k.xlsx', await open('bucket')('k.xlsx')]]) };
  expect(await ask('xlsx', rowIn('sent'), shared, archive)).toMatchObject([{ url: 'https://bucket/k.xlsx', until: 9 }]);
  expect(await ask('xlsx', rowIn('sent'), delivery, archive)).toMatchObject([{ url: 'https://archive/k.xlsx' }]);
  expect(await ask('xlsx', rowIn('pending'), shared, archive)).toMatchObject([{ url: 'https://archive/k.xlsx' }]);
  const mute = { link: async () => undefined };
  expect(await ask('xlsx', rowIn('sent'), delivery, mute)).toMatchObject([{ url: 's3://b/acme/k.xlsx' }]);
  await expect(ask('xlsx', [], delivery, mute)).rejects.toMatchObject({
    next: expect.stringContaining('public_url'),
  });

  const body = withFileLinks({ html: '<!doctype html><html><body class="x"><p>Hi</p></body></html>', text: 'Hi\n' }, [
    { name: '<b>&.xlsx', bytes: 3 * 1024 * 1024, url: 'sftp://x.example/"><script>', until: null },
  ]);
  expect(body.html).toMatch(/^<!doctype html><html><body class="x"><div/);
  expect(body.html).not.toContain('<script>');
  expect(body.html).not.toContain('<b>');
  expect(body.text).toMatch(/^.+:\n {2}<b>&\.xlsx \(3\.0 MB\): sftp:\/\/x\.example\/"><script>\n\nHi\n$/);
  const small = withFileLinks(
    { html: '', text: '' },
    [1, 99 * 1024].map((bytes) => ({ name: `${bytes}`, bytes, url: 'sftp://x.example/a', until: null })),
  );
  expect(small.text.match(/\((?:\d|\.)+ .B\)/g)).toEqual(['(1 kB)', '(99 kB)']);
});

test('a delivery with an unmet condition is skipped without a row', async () => {
  const { input, events, server } = await caseOf([
    { email: { to: ['a@acme.example', 'b@acme.example'] } },
    { directory: { path: 'out' } },
  ]);
  const decision = {
    target: '0-email',
    recipient: 'b@acme.example',
    send_if: 'changed',
    send: false,
    reason: 'The same.',
  };
  const manifest = { ...input.published.manifest, conditions: [decision] };
  const { receipts, retryable } = await deliver({ ...input, published: { ...input.published, manifest } });
  expect(receipts.map(({ recipient, state, detail }) => [recipient, state, detail])).toEqual([
    ['a@acme.example', 'sent', '250 2.0.0 Queued as 4711'],
    ['b@acme.example', 'skipped', 'The same.'],
    ['out', 'sent', '2 files'],
  ]);
  expect(retryable).toBe(false);
  expect(events.map(({ state }) => state).sort()).toEqual(['sent', 'sent', 'skipped']);
  expect((await input.ledger.list(RUN)).map(({ recipient }) => recipient)).toEqual(['a@acme.example', 'out']);
  expect(server.conversations).toHaveLength(1);
});

test.each([false, true])('all attempts have the date of the first attempt (together: %s)', async (together) => {
  const script: SmtpScript = { dot: { say: '450 4.7.1 Later' } };
  const to = ['a@acme.example', 'b@acme.example'];
  const { input, server, kept, got } = await caseOf([{ email: { to, together, attach: ['csv'] } }], script);
  const first = Date.parse('2026-11-20T08:00:01.500Z');
  const dates = () =>
    server.conversations.map(({ body }) => /^Date: (.+)$/m.exec(body.toString('latin1'))?.[1]).filter(Boolean);
  await deliver({ ...input, clock: manualClock(first) });
  expect(dates().length).toBeGreaterThan(0);
  delete script.dot;
  const { receipts } = await deliver({ ...input, clock: manualClock(first + 3 * 86_400_000) });
  expect(receipts.map(({ state }) => state)).toEqual(['sent', 'sent']);
  expect(new Set(dates().map((date) => Date.parse(date ?? '')))).toEqual(new Set([Math.floor(first / 1000) * 1000]));
  for (const { delivery } of receipts) expect(got()).toContain((await kept(delivery)).toString('latin1'));
});
