import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/base/secrets/secret.ts';
import { smtpMailer } from '../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { createMailCatcher } from '../../src/demo/mail-catcher.ts';
import { folderFor } from '../support/delivery-case.ts';

const NEVER = new AbortController().signal;
const raw = (text: string) => Buffer.from(`Subject: ${text}\r\n\r\n.${text}\r\n`);

test('every message becomes a file with its exact bytes, named by its recipient', async () => {
  const folder = join(await folderFor(onTestFinished), 'mail');
  const catcher = await createMailCatcher(folder);
  onTestFinished(() => catcher.close());
  const mailer = smtpMailer(new Secret(catcher.url));
  const three = catcher.waitForMessages(3);
  const recipients = ['lead@acme.example', 'b@acme.example', 'a/b@acme.example'];
  for (const to of recipients) {
    const result = await mailer.send({ from: 'reports@docket.example', to }, raw(to), NEVER);
    expect(result.kind).toBe('accepted');
  }
  await three;

  expect((await readdir(folder)).sort()).toEqual([
    '0001-lead@acme.example.eml',
    '0002-b@acme.example.eml',
    '0003-a_b@acme.example.eml',
  ]);
  expect(catcher.messages().map(({ to }) => to)).toEqual(recipients.map((to) => [to]));
  expect(await readFile(catcher.messages()[0]!.path)).toEqual(raw('lead@acme.example'));
});

test('rejects a caller that still waits for messages when the catcher closes', async () => {
  const catcher = await createMailCatcher(await folderFor(onTestFinished));
  const waiting = catcher.waitForMessages(1);
  const reported = expect(waiting).rejects.toThrow('0 of 1');
  await catcher.close();
  await reported;
});

test('two catchers run at the same time on different ports', async () => {
  const root = await folderFor(onTestFinished);
  const [one, other] = [await createMailCatcher(join(root, 'a')), await createMailCatcher(join(root, 'b'))];
  expect(one.url).not.toBe(other.url);
  await Promise.all([one.close(), other.close()]);
});
