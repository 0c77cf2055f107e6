import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Archive } from '../../src/deliver/archive/archive.ts';
import { findArchivedRuns } from '../../src/deliver/archive/archived-runs.ts';
import { directoryStorage } from '../../src/deliver/archive/storage/directory-storage.ts';
import { deliver } from '../../src/deliver/deliver.ts';
import type { Mailer } from '../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { definitionWith, deliverInput, folderFor, ORDER, sealedRun } from '../support/delivery-case.ts';
import { memoryLedger } from '../support/memory-ledger.ts';

const TO = ['a@acme.example', 'b@acme.example', 'c@acme.example'];

/** A run to three mailboxes. The mail server accepts a message once the fence has confirmed it. */
async function aRun(change: (archive: Archive) => Partial<Archive> = () => ({})) {
  const root = await folderFor(onTestFinished);
  const { archive, published } = await sealedRun(root);
  const steps: string[] = [];
  const nameOf = new Map<string, string>();
  const ledger = memoryLedger();
  const mailer: Mailer = {
    confirmsFirst: true,
    send: async ({ to }, _, __, fence) => {
      const refused = await fence?.confirm().catch((error: Error) => error);
      if (refused) return { kind: 'deferred', response: refused.message, server: false };
      steps.push(`sent ${to[0]}`);
      return { kind: 'accepted', response: '250 Ok' };
    },
    close: async () => {},
  };
  const input = deliverInput({
    definition: definitionWith([{ email: { to: TO } }]),
    published,
    mail: { mailer, from: 'reports@docket.example' },
    ledger: {
      ...ledger,
      open: async (row, ...rest) => {
        nameOf.set(row.id, row.recipient[0] ?? '');
        return ledger.open(row, ...rest);
      },
      settle: async (id, ...rest) => {
        const settled = await ledger.settle(id, ...rest);
        steps.push(`settled ${nameOf.get(id)}`);
        return settled;
      },
    },
    archive: {
      ...archive,
      putMessage: async (run, id, ...rest) => {
        steps.push(`archiving ${nameOf.get(id)}`);
        return archive.putMessage(run, id, ...rest);
      },
      putAttempt: async (run, record) => {
        await archive.putAttempt(run, record);
        steps.push(`${record.state === 'sending' ? 'begun' : 'ended'} ${nameOf.get(record.delivery)}`);
      },
      ...change(archive),
    },
    workingDirectory: root,
  });
  return { input, steps, archive, published, ledger, root };
}

test('a message is sent after its attempt and the previous end are recorded, and archived ahead of its turn', async () => {
  const { input, steps } = await aRun();
  const { receipts } = await deliver(input);
  expect(receipts.map(({ state }) => state)).toEqual(['sent', 'sent', 'sent']);
  const at = (step: string): number => {
    expect(steps).toContain(step);
    return steps.indexOf(step);
  };
  for (const [one, next] of ['ab', 'bc'].map((pair) => [...pair])) {
    expect(at(`begun ${one}`)).toBeLessThan(at(`sent ${one}`));
    expect(at(`settled ${one}`)).toBeLessThan(at(`sent ${next}`));
    expect(at(`ended ${one}`)).toBeLessThan(at(`sent ${next}`));
    expect(at('begun a')).toBeLessThan(at(`archiving ${next}`));
    expect(at(`archiving ${next}`)).toBeLessThan(at(`ended ${one}`));
  }
});

test('an attempt that the archive cannot record sends nothing, and its row stays pending', async () => {
  const full = new Error('the disk is full');
  const { input, steps, ledger } = await aRun((archive) => ({
    putAttempt: async (run, record) => {
      if (record.state === 'sending') throw full;
      await archive.putAttempt(run, record);
    },
  }));
  await expect(deliver(input)).rejects.toBe(full);
  expect(steps.filter((step) => step.startsWith('sent'))).toEqual([]);
  expect((await ledger.list(ORDER.id)).map(({ state }) => state)).toEqual(['pending', 'pending', 'pending']);
});

test('a delivery stays pending if the previous result cannot be recorded, also in the archive', async () => {
  let begun: () => void = () => {};
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const { input, steps, archive, published, ledger } = await aRun((real) => ({
    putAttempt: async (run, record) => {
      if (record.state === 'sending' && steps.includes('sent a')) begun();
      await real.putAttempt(run, record);
    },
  }));
  const broken = new Error('a ledger that fails');
  const settle: typeof ledger.settle = async (id, epoch, to, ...rest) => {
    if (to !== 'sent') return ledger.settle(id, epoch, to, ...rest);
    await isBegun;
    throw broken;
  };
  await expect(deliver({ ...input, ledger: { ...input.ledger, settle } })).rejects.toBe(broken);
  expect(steps.filter((step) => step.startsWith('sent'))).toEqual(['sent a']);
  const rows = await ledger.list(ORDER.id);
  expect(rows.map(({ state, epoch }) => [state, epoch])).toEqual([
    ['sending', 1],
    ['pending', 1],
    ['pending', 0],
  ]);
  const archived = await archive.getArchivedStates(published);
  expect(archived.get(rows[1]?.id ?? '')).toMatchObject({ state: 'pending', epoch: 1 });
});

test('a message archived ahead of its turn by a dead process is sent after the ledger is lost', async () => {
  const { input, archive, published, steps, root } = await aRun();
  const first = await deliver({ ...input, definition: definitionWith([{ email: { to: TO.slice(0, 1) } }]) });
  expect(first.receipts).toMatchObject([{ state: 'sent' }]);
  const rows = await Promise.all(
    TO.map(async (to) => (await input.ledger.list(ORDER.id)).find((row) => row.recipient === to)),
  );
  expect(rows.filter((row) => row !== undefined)).toHaveLength(1);
  const { deliveryId } = await import('../../src/deliver/ledger/ledger.ts');
  await archive.putMessage(published, deliveryId(ORDER.id, '0-email', 'b@acme.example'), Buffer.from('made ahead'));
  const { period } = published.manifest;
  const storage = directoryStorage(join(root, 'archive'));
  for await (const { deliveries } of findArchivedRuns(storage, () => {})({ ...ORDER, period }))
    expect(deliveries).toMatchObject([{ recipient: TO[0], state: 'sent' }]);
  const { receipts } = await deliver({ ...input, ledger: memoryLedger() });
  expect(receipts.map(({ state }) => state)).toEqual(['sent', 'sent', 'sent']);
  expect(steps.filter((step) => step === 'sent a')).toHaveLength(1);
});

test('a row that was rolled back is not sent by this call', async () => {
  const { input, ledger, archive, published } = await aRun();
  const [row] = await (async () => {
    await deliver({ ...input, mail: undefined });
    return ledger.list(ORDER.id);
  })();
  if (row === undefined) throw new Error('no row');
  const { epoch } = row;
  // `begin` returns an epoch that the archive already has records of, as after a rollback.
  const rolledBack = {
    ...input.ledger,
    begin: async (id: string, at: number) => ((await ledger.begin(id, at)) ?? 0) - epoch,
  };
  const { receipts } = await deliver({ ...input, ledger: { ...rolledBack, settle: async () => true } });
  expect(receipts.map(({ state }) => state)).not.toContain('sent');
  expect((await archive.getArchivedStates(published)).get(row.id)).toMatchObject({ epoch });
});
