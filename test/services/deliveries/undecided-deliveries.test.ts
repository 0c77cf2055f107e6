import { expect, onTestFinished, test } from 'vitest';
import { deliveriesAccess } from '../../../src/admin/access/deliveries.ts';
import { DocketError } from '../../../src/base/error.ts';
import { applyRetention } from '../../../src/deliver/archive/retention.ts';
import { deliveryId, noticeId } from '../../../src/deliver/ledger/ledger.ts';
import { countUnknown } from '../../../src/deliver/ledger/unknown-set.ts';
import { redisKeys } from '../../../src/redis/keys.ts';
import { RUN_STATES } from '../../../src/run/run-record.ts';
import { createDecisionService } from '../../../src/services/deliveries/decisions.ts';
import {
  createNeededCheck,
  recoverExpiredRows,
  touchUndecided,
} from '../../../src/services/deliveries/undecided-deliveries.ts';
import { definitionWith, MAIL, manifestOf, ORDER, RUN, SETTINGS, writeArtifact } from '../../support/delivery-case.ts';
import { anOrder, openQueueHarness, recordingLog } from '../../support/queue-harness.ts';
import { testDeployment } from '../../support/test-deployment.ts';

const DAY = 86_400_000;
const WHO = { by: 'ops', reason: 'asked by phone' };
const DIGEST = 'd'.repeat(64);
const [LEAD, CFO, OPS] = ['lead@acme.example', 'cfo@acme.example', 'ops@acme.example'];
const idOf = (recipient: string): string => deliveryId(RUN, '0-email', recipient);
const NOTICE = noticeId(RUN, OPS, false);

/**
 * A run that was delivered to one of two mailboxes, known only by its archive. The other delivery and the notice are
 * unknown. `receipts`: whether its last attempt came to its end. The ledger rows and the record have expired.
 */
async function archivedRun({ receipts = true } = {}) {
  const log = recordingLog();
  const deployment = await testDeployment({ log });
  const { archive, ledger, runs, definitions } = deployment;
  const staged = await archive.stage(RUN);
  const artifacts = [await writeArtifact(staged, 'queue.csv', 'alerts\r\n3\r\n')];
  const manifest = { ...manifestOf(artifacts), recipients: ['lead@ACME.example', CFO] };
  const sealed = await archive.publish(staged, manifest, artifacts, MAIL);
  const keep = (delivery: string, state: 'sending' | 'sent' | 'unknown') =>
    archive.putAttempt(sealed, { delivery, epoch: 2, state, detail: null, at: 1 });
  for (const delivery of [idOf(LEAD), idOf(CFO), NOTICE]) await keep(delivery, 'sending');
  await keep(idOf(CFO), 'sent');
  if (receipts) {
    await keep(idOf(LEAD), 'unknown');
    const receipt = { target: '0-email', detail: null, messageId: null };
    await archive.putReceipts(sealed, [
      { ...receipt, delivery: idOf(LEAD), recipient: LEAD, state: 'unknown' },
      { ...receipt, delivery: idOf(CFO), recipient: CFO, state: 'sent' },
    ]);
  }
  return {
    ...deployment,
    log,
    sealed,
    /** Restores the record of the ended run. */
    record: async () => {
      await runs.open({ ...ORDER, trigger: 'schedule', priority: 'scheduled', digest: DIGEST, deliver: true });
      await runs.update(RUN, { state: 'partly_delivered', finishedAt: 1 });
    },
    definition: () =>
      definitions.put({ definition: definitionWith([{ email: { to: [LEAD, CFO] } }]), settings: SETTINGS }),
    decisions: createDecisionService(deployment),
    undecided: async () => (await ledger.listUnknown(10)).map(({ id }) => id).sort(),
    states: async () =>
      Object.fromEntries(
        (await ledger.list(RUN)).map(({ target, recipient, state }) => [`${target} ${recipient}`, state]),
      ),
  };
}

test.each([true, false])(
  'a delivery whose row has expired can be marked as sent, from the archive (receipts: %s)',
  async (receipts) => {
    const { decisions, archive, sealed, states, record } = await archivedRun({ receipts });
    await record();
    const row = await decisions.resolve(idOf(LEAD), 'sent', WHO);
    expect(row).toMatchObject({ state: 'sent', target: '0-email', recipient: LEAD, epoch: 2, decisions: [WHO] });
    expect(await states()).toEqual({
      [`0-email ${LEAD}`]: 'sent',
      [`0-email ${CFO}`]: 'sent',
      [`notice ${OPS}`]: 'unknown',
    });
    // The archive has the decision as well, so neither retention nor a lost ledger makes the delivery undecided again.
    expect((await archive.getArchivedStates(sealed)).get(idOf(LEAD))).toMatchObject({ state: 'sent' });
  },
);

test('a delivery whose row has expired can be sent again if its definition is stored, even without its record', async () => {
  const { decisions, definition, runs, queue, states } = await archivedRun();
  await expect(decisions.resolve(idOf(LEAD), 'resend', WHO)).rejects.toMatchObject({ code: 'run.not_found' });
  expect((await states())[`0-email ${LEAD}`]).toBe('unknown');
  await definition();
  expect(await decisions.resolve(idOf(LEAD), 'resend', WHO)).toMatchObject({ state: 'pending', epoch: 3 });
  expect(await runs.get(RUN)).toMatchObject({
    state: 'queued',
    digest: DIGEST,
    slot: ORDER.slot,
    period: ORDER.period,
  });
  expect(await queue.findOrphaned([RUN])).toEqual([]);
  expect((await states())[`0-email ${CFO}`]).toBe('sent');
});

test('a delivery of a run that continues cannot be decided from the archive, since an attempt may be active', async () => {
  const { decisions, runs, record, states } = await archivedRun();
  await record();
  await runs.reopen(RUN, ['partly_delivered'], { what: 'retry', ...WHO, at: 2 });
  await expect(decisions.resolve(idOf(LEAD), 'sent', WHO)).rejects.toMatchObject({ code: 'delivery.not_found' });
  expect(await states()).toEqual({});
});

test('a delivery that neither the ledger nor the archive has is not found', async () => {
  const { decisions, states } = await archivedRun();
  const other = deliveryId('f'.repeat(32), '0-email', LEAD);
  await expect(decisions.resolve(other, 'sent', WHO)).rejects.toMatchObject({ code: 'delivery.not_found' });
  expect(await states()).toEqual({});
});

test('a run that retention keeps for a decision is listed as undecided again', async () => {
  const { storage, ledger, log, undecided } = await archivedRun();
  const removed = await applyRetention({
    storage,
    daysOf: () => 30,
    ledger,
    isOpen: async () => false,
    clock: { now: () => Date.parse('2026-11-16T07:00:05Z') + 100 * DAY, sleep: async () => {} },
    log,
    signal: new AbortController().signal,
  });
  expect(removed).toBe(0);
  expect(log.lines.map(({ level, run }) => [level, run])).toEqual([['warn', RUN]]);
  expect(await undecided()).toEqual([idOf(LEAD), NOTICE].sort());
});

test('records that an older version let expire are kept while a decision is pending', async () => {
  const { record, definition, decisions, ...ports } = await archivedRun();
  const { redis, prefix } = ports;
  await record();
  await definition();
  await decisions.recover(idOf(LEAD), '*');
  const keys = {
    rows: `${prefix}:deliveries:{${RUN.slice(0, 16)}}`,
    waiting: `${prefix}:unknown`,
    record: redisKeys(prefix).record(RUN),
    definition: redisKeys(prefix).definition(DIGEST),
  };
  for (const key of Object.values(keys)) await redis.expire(key, 60);
  await touchUndecided(ports);
  const days = expect.toSatisfy((seconds) => seconds > 89 * 86_400 && seconds <= 90 * 86_400);
  expect(await redis.ttl(keys.rows)).toBe(-1);
  expect(await redis.ttl(keys.waiting)).toBe(-1);
  expect(await redis.ttl(keys.record)).toEqual(days);
  expect(await redis.ttl(keys.definition)).toEqual(days);
  // After the decision, nothing is kept any longer.
  for (const id of [idOf(LEAD), NOTICE]) await decisions.resolve(id, 'sent', WHO);
  expect(await redis.ttl(keys.rows)).toEqual(days);
  await redis.expire(keys.record, 60);
  await touchUndecided(ports);
  expect(await redis.ttl(keys.record)).toBeLessThanOrEqual(60);
});

test('listed deliveries without a row are restored from the archive, or leave the list', async () => {
  const { undecided, ...ports } = await archivedRun();
  const { redis, prefix } = ports;
  const lost = deliveryId('f'.repeat(32), '0-email', LEAD);
  await redis.zadd(`${prefix}:unknown`, 1, idOf(LEAD), 2, lost);
  expect(await undecided()).toEqual([]);
  await recoverExpiredRows(ports);
  expect(await undecided()).toEqual([idOf(LEAD), NOTICE].sort());
  expect(await countUnknown(redis, `${prefix}:`, 0)).toBe(2);
});

test('a run with unreadable files stays on the list', async () => {
  const { undecided, ...deployment } = await archivedRun();
  const { redis, prefix, archive } = deployment;
  await redis.zadd(`${prefix}:unknown`, 1, idOf(LEAD));
  const broken = { ...archive, peek: () => Promise.reject(new DocketError('archive.corrupt', 'Not JSON.')) };
  await recoverExpiredRows({ ...deployment, archive: broken });
  expect(await undecided()).toEqual([]);
  await recoverExpiredRows(deployment);
  expect(await undecided()).toEqual([idOf(LEAD), NOTICE].sort());
});

test('the archive is searched for operators of the organization, but not for viewers or other organizations', async () => {
  const { decisions, runs } = await archivedRun();
  const access = (role: 'viewer' | 'operator', orgs: readonly string[]) =>
    deliveriesAccess({ decisions, runs }, {
      name: 'somebody',
      role,
      orgs,
      via: 'token',
    } as unknown as Parameters<typeof deliveriesAccess>[1]);
  await expect(access('viewer', ['acme']).resolve(idOf(LEAD), 'sent', 'r')).rejects.toMatchObject({
    code: 'request.not_found',
  });
  expect(await decisions.find(idOf(LEAD))).toBeUndefined();
  await expect(access('operator', ['rival']).resolve(idOf(LEAD), 'sent', 'r')).rejects.toMatchObject({
    code: 'request.not_found',
  });
  // Nothing is restored for tokens of another organization either.
  expect(await decisions.find(idOf(LEAD))).toBeUndefined();
  expect(await access('operator', ['acme']).resolve(idOf(LEAD), 'sent', 'r')).toMatchObject({ state: 'sent' });
});

test('the files of an open or held run are needed, those of an ended or unknown run are not', async () => {
  const { runs, close } = await openQueueHarness();
  onTestFinished(close);
  const needed: string[] = [];
  for (const state of RUN_STATES) {
    const order = anOrder();
    await runs.open(order);
    await runs.update(order.id, { state });
    if (await createNeededCheck(runs)(order.id)) needed.push(state);
  }
  expect(needed.sort()).toEqual(['awaiting_approval', 'held', 'queued', 'running', 'waiting']);
  expect(await createNeededCheck(runs)('f'.repeat(32))).toBe(false);
});
