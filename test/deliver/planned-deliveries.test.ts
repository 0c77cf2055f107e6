import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { deliver } from '../../src/deliver/deliver.ts';
import { plannedDeliveries } from '../../src/deliver/planned-deliveries.ts';
import {
  definitionWith,
  folderFor,
  manifestOf,
  NO_SECRETS,
  ORDER,
  SETTINGS,
  sealedRun,
} from '../support/delivery-case.ts';
import { memoryLedger } from '../support/memory-ledger.ts';

test('planned deliveries match the actual ones, with reasons for refusals', async ({ onTestFinished }) => {
  const root = await folderFor(onTestFinished);
  const { archive, published: sealed } = await sealedRun(root);
  const definition = definitionWith([
    { email: { to: ['lead@acme.example', 'Lead@Acme.example', 'board@elsewhere.example'], attach: ['xlsx'] } },
    { directory: { path: 'sent/{{ period.label }}' } },
    { email: { to: ['guest@partner.example'], attach: ['csv'] } },
  ]);
  const ledger = memoryLedger();
  const ports = { archive, ledger, clock: systemClock, secrets: NO_SECRETS, workingDirectory: root };
  const condition = {
    target: '2-email',
    recipient: null,
    send_if: 'non_empty',
    send: false,
    reason: 'Every list is empty.',
  };
  const manifest = { ...sealed.manifest, conditions: [condition] };
  const planned = plannedDeliveries(manifest, { definition, settings: SETTINGS, ...ports });
  expect(planned).toEqual([
    { target: '0-email', recipient: 'Lead@acme.example', receives: true, why: null },
    {
      target: '0-email',
      recipient: 'board@elsewhere.example',
      receives: false,
      why: expect.stringContaining('recipients'),
    },
    { target: '1-directory', recipient: 'sent/2026-W46', receives: true, why: null },
    { target: '2-email', recipient: 'guest@partner.example', receives: false, why: 'Every list is empty.' },
  ]);
  expect(await ledger.list(manifestOf([]).run)).toEqual([]);

  const { receipts } = await deliver({
    order: ORDER,
    definition,
    settings: SETTINGS,
    published: { ...sealed, manifest },
    mail: undefined,
    signal: new AbortController().signal,
    observe: () => {},
    ...ports,
  });
  expect(receipts.map(({ target, recipient }) => ({ target, recipient }))).toEqual(
    planned.map(({ target, recipient }) => ({ target, recipient })),
  );
  const refused = receipts.filter(({ state }) => state === 'refused' || state === 'skipped');
  expect(refused.map(({ recipient }) => recipient)).toEqual(
    planned.filter(({ receives }) => !receives).map(({ recipient }) => recipient),
  );
});
