import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { splitSlug } from '../../../src/definitions/split.ts';
import { type DeliveryState, deliveryId } from '../../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../../src/deliver/ledger/redis-ledger.ts';
import type { RunRecord } from '../../../src/run/run-record.ts';
import {
  type FindEarlierDelivery,
  findDeliveredInRecords,
  summarizeDeliveries,
} from '../../../src/services/runs/already-delivered.ts';
import { type TriggerRequest, triggerRun } from '../../../src/services/runs/trigger-run.ts';
import { fake } from '../../support/fake.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { onDemand, openQueueHarness, type QueueHarness, reportDefinition } from '../../support/queue-harness.ts';

const MONDAY = Date.parse('2026-11-16T07:00:00Z');
const WEEK = { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' };

describe('the summary of a run’s deliveries', () => {
  const of = (...facts: readonly (readonly [target: string | null, recipient: string, state: string])[]) =>
    summarizeDeliveries(
      'r',
      WEEK,
      facts.map(([target, recipient, state], at) => ({ target, recipient, state, at })),
    );

  it.each([
    ['an e-mail', '0-email', { email: 1 }],
    ['an S3 bucket', '1-s3', { s3: 1 }],
    ['an SFTP server', '12-sftp', { sftp: 1 }],
    ['a webhook', '0-webhook', { webhook: 1 }],
  ])('counts %s', (_, target, sent) => {
    expect(of([target, 'somewhere', 'sent'])).toMatchObject({ sent, uncertain: 0 });
    for (const state of ['unknown', 'sending']) {
      expect(of([target, 'somewhere', state])).toMatchObject({ sent: {}, uncertain: 1 });
    }
    for (const state of ['pending', 'refused', 'skipped']) expect(of([target, 'somewhere', state])).toBe(undefined);
  });

  it('leaves out folders and notices, and counts each mailbox once', () => {
    expect(of(['0-directory', '/out', 'sent'], ['notice', 'ops@acme.example', 'sent'])).toBe(undefined);
    expect(of(['0-email', 'Lead@acme.example', 'sent'], ['1-email', 'lead@ACME.example', 'sent'])).toMatchObject({
      sent: { email: 1 },
      at: 1,
    });
  });

  it('counts a delivery without a target name as uncertain', () => {
    expect(of([null, 'x', 'sent'])).toMatchObject({ sent: {}, uncertain: 1 });
  });
});

describe('a request for a delivered period', () => {
  let harness: QueueHarness;
  const clock = manualClock(MONDAY);
  beforeAll(async () => {
    harness = await openQueueHarness(clock);
  });
  afterAll(() => harness.close());

  const ledger = () => redisLedger(harness.producer, { prefix: `${harness.prefix}:`, ttlDays: 30 });
  const reportTo = (name: string, deliveries: object = { email: { to: ['lead@acme.example'], attach: ['csv'] } }) => {
    const report = reportDefinition(name);
    return { ...report, definition: { ...report.definition, deliveries: [deliveries] } } as typeof report;
  };
  const ask = (request: TriggerRequest, find: FindEarlierDelivery | null = null) => {
    const { runs, queue } = harness;
    const findDelivered = find ?? findDeliveredInRecords(fake({ runs, ledger: ledger() }));
    return triggerRun(request, { runs, queue, findDelivered, clock, log: silentLog });
  };
  const delivered = async ({ id, org, report }: RunRecord, state: DeliveryState, target = '0-email') => {
    const row = { id: deliveryId(id, target, 'lead@acme.example'), run: id, org, report, target };
    await ledger().open({ ...row, recipient: 'lead@acme.example' }, clock.now(), { state, epoch: 1, detail: null });
  };

  it('is refused with the run and opens nothing, unless it has `again` or delivers nothing', async () => {
    const report = reportTo('told');
    const { record } = await ask(onDemand(report));
    await expect(ask(onDemand(report)), 'nothing has left yet').resolves.toMatchObject({ opened: true });
    await delivered(record, 'sent');
    const before = await harness.runs.list({ report: 'told', limit: 10 });
    await expect(ask(onDemand(report))).rejects.toMatchObject({
      code: 'already_delivered',
      message: expect.stringMatching(
        `^Monday 9 to Sunday 15 November 2026 went to 1 person on 16 Nov, 08:00 \\(run ${record.id.slice(0, 8)}\\)\\.$`,
      ),
      delivered: { run: record.id, people: 1, targets: 0, uncertain: 0, period: record.period },
    });
    expect(await harness.runs.list({ report: 'told', limit: 10 })).toEqual(before);
    await expect(ask({ ...onDemand(report), deliver: false })).resolves.toMatchObject({ opened: true });
    await expect(ask({ ...onDemand(report), period: 'previous_day' })).resolves.toMatchObject({ opened: true });
    const repeats = [{ run: record.id, at: MONDAY }];
    await expect(ask({ ...onDemand(report), again: true })).resolves.toMatchObject({
      opened: true,
      record: { repeats },
    });
    const first = await ask({ ...onDemand(report), again: true, period: 'previous_month' });
    expect(first.record.repeats, 'nobody has that period').toBeUndefined();
    await expect(ask({ ...onDemand(report), period: { from: WEEK.from, to: WEEK.to } })).rejects.toMatchObject({
      code: 'already_delivered',
    });
  });

  it('with `again` names the runs that delivered packs of a report with split', async () => {
    const [retail, merchants] = [splitSlug('Retail'), splitSlug('Merchants')];
    const plain = reportTo('packs');
    const split = { by: 'profile.group', to: { Retail: ['lead@acme.example'] }, others: 'skip' };
    const report = { ...plain, definition: { ...plain.definition, split } } as typeof plain;
    const { record: first } = await ask(onDemand(report));
    const { record: second } = await ask({ ...onDemand(report), value: 'Retail', again: true });
    expect(second.repeats, 'nothing was delivered before').toBeUndefined();
    for (const slug of [retail, merchants]) await delivered(first, 'sent', `0-email:${slug}`);
    await delivered(second, 'unknown', `0-email:${retail}`);
    const ofAll = await ask({ ...onDemand(report), again: true });
    const both = [
      { run: second.id, at: MONDAY, packs: [retail] },
      { run: first.id, at: MONDAY, packs: [retail, merchants] },
    ];
    expect(new Set(ofAll.record.repeats?.map(({ run }) => run))).toEqual(new Set(both.map(({ run }) => run)));
    expect(ofAll.record.repeats).toEqual(expect.arrayContaining(both.map((each) => expect.objectContaining(each))));
    const ofOne = await ask({ ...onDemand(report), value: 'Retail', again: true });
    expect(ofOne.record.repeats).toHaveLength(1);
  });

  it.each(['unknown', 'sending'] as const)(
    'is also refused if the period may have been delivered (%s)',
    async (state) => {
      const report = reportTo(`perhaps-${state}`);
      const { record } = await ask(onDemand(report));
      await delivered(record, state);
      await expect(ask(onDemand(report))).rejects.toMatchObject({
        code: 'already_delivered',
        delivered: { run: record.id, people: 0, uncertain: 1 },
      });
    },
  );

  it('is not refused to a slot, which runs once', async () => {
    const report = reportTo('slots');
    const { record } = await ask(onDemand(report));
    await delivered(record, 'sent');
    const scheduled = { ...onDemand(report), slot: { scheduled: MONDAY }, trigger: 'schedule', priority: 'scheduled' };
    const slot = scheduled as TriggerRequest;
    await expect(ask(slot)).resolves.toMatchObject({ opened: true });
    await expect(ask(slot)).resolves.toMatchObject({ opened: false });
  });

  it('is not refused if it goes to folders of this machine', async () => {
    const report = reportTo('folders', { directory: { path: 'out', overwrite: true } });
    const { record } = await ask(onDemand(report));
    await delivered(record, 'sent', '0-directory');
    await expect(ask(onDemand(report))).resolves.toMatchObject({ opened: true });
    // The earlier definition sent it by mail. A folder does not mail it again.
    await delivered(record, 'sent');
    await expect(ask(onDemand(report))).resolves.toMatchObject({ opened: true });
  });

  it('returns its own run if repeated with the same key, and `again` with that key is another request', async () => {
    const report = reportTo('repeated');
    const first = await ask(onDemand(report, 'key-a'));
    await delivered(first.record, 'sent');
    const again = await ask(onDemand(report, 'key-a'));
    expect(again).toMatchObject({ opened: false, record: { id: first.record.id } });
    await expect(ask({ ...onDemand(report, 'key-a'), again: true })).rejects.toMatchObject({ code: 'run.conflict' });
    await expect(ask(onDemand(report, 'key-b'))).rejects.toMatchObject({ code: 'already_delivered' });
    // A refused request does not use up its key.
    const insisting = { ...onDemand(report, 'key-b'), again: true };
    const second = await ask(insisting);
    expect(second).toMatchObject({ opened: true });
    expect(await ask(insisting)).toEqual({ opened: false, record: second.record });
  });

  it('is refused even behind many other periods, from the record if the ledger has lost its rows', async () => {
    const report = reportTo('many');
    const { record } = await ask(onDemand(report));
    const deliveries = [{ target: '0-email', recipient: 'lead@acme.example', state: 'sent', detail: null }];
    await harness.runs.update(record.id, { state: 'done', deliveries, finishedAt: MONDAY });
    const days = Array.from({ length: 220 }, (_, day) =>
      new Date(MONDAY - (day + 1) * 86_400_000).toISOString().slice(0, 10),
    );
    for (const day of days) await harness.trigger({ ...onDemand(report), period: { from: day, to: day } });
    await expect(ask(onDemand(report))).rejects.toMatchObject({
      code: 'already_delivered',
      delivered: { run: record.id, at: new Date(MONDAY).toISOString() },
    });
  });

  it('fails and opens nothing while the earlier deliveries cannot be read', async () => {
    const report = reportTo('away');
    const away = Object.assign(new Error('away'), { code: 'archive.unreachable' });
    await expect(ask(onDemand(report), () => Promise.reject(away))).rejects.toBe(away);
    expect(await harness.runs.list({ report: 'away', limit: 1 })).toEqual([]);
    await expect(ask({ ...onDemand(report), again: true }, () => Promise.reject(away))).resolves.toMatchObject({
      opened: true,
    });
  });
});
