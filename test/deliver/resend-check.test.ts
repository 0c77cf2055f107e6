import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { PublishedRun } from '../../src/deliver/archive/archive.ts';
import { type DeliverInput, deliver } from '../../src/deliver/deliver.ts';
import { assertSameFiles } from '../../src/deliver/internal/resend-check.ts';
import { deliveryId } from '../../src/deliver/ledger/ledger.ts';
import type { SendResult } from '../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { webhookBody } from '../../src/deliver/targets/webhook/webhook-message.ts';
import { definitionWith, deliverInput, folderFor, ORDER, RUN, sealedRun } from '../support/delivery-case.ts';
import { sha256 } from '../support/signed-archive.ts';

const TO = 'lead@acme.example';
const ID = deliveryId(RUN, '0-email', TO);

/** An unknown e-mail that a person has decided to resend. No signing key is used. */
async function decided() {
  const root = await folderFor(onTestFinished);
  const { archive, published } = await sealedRun(root);
  const answers: SendResult[] = [{ kind: 'unknown', why: 'No answer' }];
  const sent: Uint8Array[] = [];
  const send = async (_: unknown, raw: Uint8Array): Promise<SendResult> => {
    sent.push(raw);
    return answers.shift() ?? { kind: 'accepted', response: '250 Ok' };
  };
  const input = deliverInput({
    definition: definitionWith([{ email: { to: [TO], attach: ['csv'] } }]),
    published,
    mail: { mailer: { send, close: async () => {} }, from: 'reports@docket.example' },
    archive,
    workingDirectory: root,
  });
  await deliver(input);
  await input.ledger.resolve(ID, 1, { to: 'pending', by: 'ada', reason: 'not there', at: 1 });
  const folder = join(root, 'archive', 'acme', 'weekly-kpi', RUN);
  const again = async (change: Partial<DeliverInput> = {}) => {
    const found = await archive.find(ORDER);
    if (found === undefined) throw new Error('not sealed');
    return deliver({ ...input, published: found, ...change });
  };
  return { folder, sent, again, archive, sealed: published, input };
}

/** Changes a file and its hash in the manifest, so that both agree. */
async function falsify(folder: string, name: string, from: string, to: string): Promise<void> {
  const path = join(folder, name);
  const before = await readFile(path, 'utf8');
  const after = before.replace(from, to);
  expect(after).not.toBe(before);
  await writeFile(path, after);
  const manifest = await readFile(join(folder, 'manifest.json'), 'utf8');
  await writeFile(join(folder, 'manifest.json'), manifest.replace(sha256(before), sha256(after)));
}

test('an unchanged e-mail is resent, even with another sender', async () => {
  const { again, sent, input } = await decided();
  const mail = input.mail && { ...input.mail, from: 'other@docket.example' };
  expect((await again({ mail })).receipts).toMatchObject([{ state: 'sent' }]);
  expect(sent).toHaveLength(2);
});

test.each([
  ['a file', 'files/queue.csv', '3', '4'],
  ['the e-mail', 'mail.html', 'well', 'lost'],
  ['the text of the e-mail', 'mail.txt', 'well', 'lost'],
])('an e-mail is not resent if %s was changed together with its hash', async (_, name, from, to) => {
  const { folder, sent, again } = await decided();
  await falsify(folder, name, from, to);
  await expect(again()).rejects.toMatchObject({
    code: 'archive.corrupt',
    where: expect.stringContaining(RUN),
    next: expect.any(String),
  });
  expect(sent).toHaveLength(1);
});

test.each([
  ['removed', (path: string) => rm(path)],
  ['changed', (path: string) => writeFile(path, 'Subject: another')],
])('an e-mail is not resent if its archived copy was %s', async (_, damage) => {
  const { folder, sent, again } = await decided();
  const [name = ''] = (await readdir(join(folder, 'messages'))).filter((each) => each.endsWith('.eml'));
  await damage(join(folder, 'messages', name));
  await expect(again()).rejects.toMatchObject({ code: 'archive.corrupt' });
  expect(sent).toHaveLength(1);
});

test('a webhook is resent only with the same files, but its links may change', async () => {
  const { archive, sealed } = await decided();
  const body = (of: PublishedRun, link: string) =>
    webhookBody(of.manifest, of.artifacts, new Map([['queue.csv', [link]]]));
  const delivery = 'e'.repeat(32);
  const message = await archive.putMessage(sealed, delivery, Buffer.from(body(sealed, 's3://one')), 'json');
  const attempt = { delivery, target: '1-webhook', epoch: 1, detail: null, at: 1, message } as const;
  await archive.putAttempt(sealed, { ...attempt, state: 'sending' });
  await assertSameFiles(archive, sealed, delivery, body(sealed, 's3://two'));
  const artifacts = sealed.artifacts.map((each) => ({ ...each, sha256: 'f'.repeat(64) }));
  await expect(
    assertSameFiles(archive, sealed, delivery, body({ ...sealed, artifacts }, 's3://one')),
  ).rejects.toMatchObject({ code: 'archive.corrupt' });
});
