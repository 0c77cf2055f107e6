import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { Secret } from '../../src/base/secret.ts';
import { type DeliveredEvent, type DeliverInput, deliver } from '../../src/deliver/deliver.ts';
import { smtpMailer } from '../../src/deliver/mailer.ts';
import { memoryLedger } from '../../src/deliver/memory-ledger.ts';
import { mailCatcher } from '../../src/demo/mail-catcher.ts';
import { definitionWith, folderFor, ORDER, SETTINGS, sealedRun } from '../support/delivery-case.ts';

async function caseOf(deliveries: unknown[], files?: Parameters<typeof sealedRun>[1]) {
  const root = await folderFor(onTestFinished);
  const catcher = await mailCatcher(join(root, 'mail'));
  onTestFinished(() => catcher.close());
  const mailer = smtpMailer(new Secret(catcher.url));
  const { archive, sealed } = await sealedRun(root, files);
  const events: DeliveredEvent[] = [];
  const input: DeliverInput = {
    order: ORDER,
    definition: definitionWith(deliveries),
    settings: SETTINGS,
    sealed,
    mail: { mailer, from: 'reports@docket.example' },
    ledger: memoryLedger(),
    archive,
    clock: systemClock,
    signal: new AbortController().signal,
    observe: (event) => events.push(event),
    workingDirectory: root,
  };
  return { root, catcher, input, events, sealed };
}

test('each recipient gets one message of its own with the files that are to be attached', async () => {
  const { catcher, input, sealed } = await caseOf([
    {
      email: {
        to: ['lead@acme.example', 'Guest@Partner.example'],
        subject: 'KPIs {{ period.label }}',
        attach: ['xlsx'],
      },
    },
  ]);

  const { receipts, retryable } = await deliver(input);

  expect(retryable).toBe(false);
  expect(receipts.map(({ recipient, state }) => [recipient, state])).toEqual([
    ['lead@acme.example', 'sent'],
    ['Guest@partner.example', 'sent'],
  ]);
  expect(catcher.messages().map(({ from, to }) => ({ from, to }))).toEqual([
    { from: 'reports@docket.example', to: ['lead@acme.example'] },
    { from: 'reports@docket.example', to: ['Guest@partner.example'] },
  ]);
  const [first] = catcher.messages();
  const sent = await readFile(first!.path);
  const mail = await PostalMime.parse(sent);
  expect(mail.subject).toBe('KPIs 2026-W46');
  expect(mail.to?.map(({ address }) => address)).toEqual(['lead@acme.example']);
  expect(mail.html).toContain('Zürich');
  expect(mail.text).toContain('Zürich');
  expect(mail.messageId).toBe(receipts[0]!.messageId);
  expect(mail.attachments.map(({ filename }) => filename)).toEqual(['KPIs 2026-W46.xlsx']);
  const kept = await readFile(join(sealed.folder, 'messages', `${receipts[0]!.delivery}.eml`));
  expect(kept.equals(sent)).toBe(true);
});
