import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { deliveryId } from '../../../src/deliver/ledger/ledger.ts';
import { createArchivedDeliveries } from '../../../src/services/listings/archived-deliveries.ts';
import { listReceived } from '../../../src/services/listings/received.ts';
import { MAIL, manifestOf, PERIOD, writeArtifact } from '../../support/delivery-case.ts';
import { anOrder } from '../../support/queue-harness.ts';
import { testDeployment } from '../../support/test-deployment.ts';

const OCTOBER = { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: '2026-10' };
type State = 'sent' | 'refused' | 'sending';

async function anArchive() {
  const deployment = await testDeployment();
  const { archive } = deployment;
  /** Archives a delivered run. `receipts: false`: its process died before it wrote them. */
  const delivered = async (
    to: Readonly<Record<string, State>>,
    {
      org = 'acme',
      report = 'board-pack',
      period = OCTOBER,
      madeAt = '2026-11-03T10:56:00.000Z',
      receipts = true,
    } = {},
  ) => {
    const id = randomBytes(16).toString('hex');
    const staged = await archive.stage(id);
    const artifact = await writeArtifact(staged, 'pack.csv', 'a\r\n1\r\n');
    const recipients = Object.keys(to);
    const named = {
      ...manifestOf([artifact], id),
      org,
      report,
      period,
      made_at: madeAt,
      recipients,
      title: 'Board pack',
    };
    const published = await archive.publish(staged, named, [artifact], MAIL);
    const rows = recipients.map((recipient) => ({
      delivery: deliveryId(id, '0-email', recipient.toLowerCase()),
      target: '0-email',
      recipient,
      state: to[recipient] ?? 'sent',
    }));
    for (const { delivery, target, state } of rows) {
      const detail = state === 'sent' ? '250 Ok' : state === 'refused' ? '550 No such user' : null;
      await archive.putAttempt(published, { delivery, target, epoch: 1, state, detail, at: Date.parse(madeAt) + 5 });
    }
    if (receipts)
      await archive.putReceipts(
        published,
        rows.map((row) => ({ ...row, detail: null, messageId: null })),
      );
    return id;
  };
  const ports = { ...deployment, archivedDeliveries: createArchivedDeliveries(deployment) };
  const received = (filter: Partial<Parameters<typeof listReceived>[0]>) =>
    listReceived({ orgs: '*', limit: 50, ...filter }, ports);
  return { ...deployment, delivered, received };
}

test('the archive alone says who got October, when, under which title, and how the server replied', async () => {
  const { delivered, received } = await anArchive();
  const run = await delivered({ 'Board@acme.example': 'sent', 'ana@acme.example': 'refused' });
  await delivered({ 'board@acme.example': 'sent' }, { period: PERIOD, report: 'weekly-kpi' });
  await delivered({ 'keyboard@acme.example': 'sent' });

  const october = { begins: { from: '2026-10-01', to: '2026-10-31' } };
  const { deliveries, next } = await received({ to: 'board@acme.example', ...october });

  expect(deliveries).toEqual([
    {
      row: {
        id: deliveryId(run, '0-email', 'board@acme.example'),
        run,
        org: 'acme',
        report: 'board-pack',
        target: '0-email',
        recipient: 'Board@acme.example',
        state: 'sent',
        epoch: 1,
        detail: '250 Ok',
        at: Date.parse('2026-11-03T10:56:00.005Z'),
        decisions: [],
      },
      period: OCTOBER,
      title: 'Board pack',
      content: null,
      archived: true,
    },
  ]);
  expect(next).toBeNull();
  const states = (await received({ state: 'refused' })).deliveries.map(({ row }) => row.recipient);
  expect(states).toEqual(['ana@acme.example']);
});

test('recipients are found even without receipts, and an attempt without a result is unknown', async () => {
  const { delivered, received } = await anArchive();
  await delivered({ 'lead@acme.example': 'sent', 'ana@acme.example': 'sending' }, { receipts: false });
  const { deliveries } = await received({ to: '@acme.example' });
  expect(deliveries.map(({ row: { recipient, state } }) => [recipient, state]).sort()).toEqual([
    ['ana@acme.example', 'unknown'],
    ['lead@acme.example', 'sent'],
  ]);
});

test('archived runs that Redis still has are left out, as are those of other organizations', async () => {
  const { delivered, received, runs } = await anArchive();
  const recorded = await delivered({ 'lead@acme.example': 'sent' });
  await runs.open(anOrder({ id: recorded, report: 'board-pack' }));
  const lost = await delivered({ 'lead@acme.example': 'sent' });
  await delivered({ 'lead@acme.example': 'sent' }, { org: 'globex' });
  const { deliveries } = await received({ orgs: ['acme'], to: 'lead@acme.example' });
  expect(deliveries.map(({ row }) => row.run)).toEqual([lost]);
});

test('pages continue with the newest first, each run once', async () => {
  const { delivered, received } = await anArchive();
  const days = Array.from({ length: 5 }, (_, nth) => `2026-11-0${nth + 1}T08:00:00.000Z`);
  const ids: string[] = [];
  for (const madeAt of days) ids.unshift(await delivered({ 'lead@acme.example': 'sent' }, { madeAt }));
  const seen: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await received({ to: 'lead@acme.example', limit: 2, after });
    seen.push(...page.deliveries.map(({ row }) => row.run));
    if (page.next === null) break;
    after = page.next;
  }
  expect(seen).toEqual(ids);
});

test('a delivery is no longer found once its run has left the archive', async () => {
  const { delivered, received, storage } = await anArchive();
  const id = await delivered({ 'lead@acme.example': 'sent' });
  expect((await received({ to: 'lead@acme.example' })).deliveries).toHaveLength(1);
  await storage.delete({ id, org: 'acme', report: 'board-pack' });
  expect((await received({ to: 'lead@acme.example' })).deliveries).toEqual([]);
});

test('an unreadable run is reported as an error, and the others are listed', async () => {
  const { delivered, received, folder } = await anArchive();
  const broken = await delivered({ 'lead@acme.example': 'sent' });
  const fine = await delivered({ 'lead@acme.example': 'sent' });
  await writeFile(join(folder, 'archive', 'acme', 'board-pack', broken, 'receipts.json'), '{');
  const page = await received({ to: 'lead@acme.example' });
  expect(page.deliveries.map(({ row }) => row.run)).toEqual([fine]);
  expect(page.error).toMatchObject({ code: 'archive.corrupt' });
});
