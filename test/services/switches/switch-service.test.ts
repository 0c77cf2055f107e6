import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { archivedSwitches } from '../../../src/deliver/switches/archived-switches.ts';
import { sharedSwitches } from '../../../src/deliver/switches/shared-switches.ts';
import { redisKeys } from '../../../src/redis/keys.ts';
import type { AuditEntry, AuditLog } from '../../../src/services/audit-log.ts';
import { keepHeld } from '../../../src/services/switches/keep-held.ts';
import { createSwitchService, stopSentence } from '../../../src/services/switches/switch-service.ts';
import { decisionHarness, NO_AUDIT } from '../../support/decision-harness.ts';
import { folderFor } from '../../support/delivery-case.ts';
import { anOrder, openQueueHarness } from '../../support/queue-harness.ts';

const DAY_MS = 86_400_000;
const ANA = { by: 'ana', reason: 'wrong figures' };
const OCTOBER = { from: '2026-10-01', to: '2026-10-31', timezone: 'UTC', label: '2026-10' };
const NOVEMBER = { from: '2026-11-01', to: '2026-11-30', timezone: 'UTC', label: '2026-11' };

async function deployment() {
  const harness = await openQueueHarness();
  onTestFinished(() => harness.close());
  const { runs, queue, prefix, producer } = harness;
  const storage = directoryStorage(join(await folderFor(onTestFinished), 'archive'));
  const switches = sharedSwitches(producer, archivedSwitches(storage), { prefix, clock: systemClock });
  const audited: AuditEntry[] = [];
  const audit: AuditLog = { ...NO_AUDIT, record: async (entry) => void audited.push(entry) };
  const service = createSwitchService({ switches, runs, queue, audit }, decisionHarness(harness, { audit }).decisions);
  let created = Date.now() - 10 * DAY_MS;
  /** A run whose worker has found that deliveries are stopped. */
  const stopped = async (of: Parameters<typeof anOrder>[0]): Promise<string> => {
    created += 1_000;
    const order = anOrder({ createdAt: created, ...of });
    await runs.open(order);
    await queue.enqueue(order, DAY_MS);
    const until = Date.now() + DAY_MS;
    const why = stopSentence({ kind: 'stop', org: null, ...ANA, since: created });
    await runs.update(order.id, { state: 'waiting', until, waitingFor: { until, why } });
    return order.id;
  };
  const stateOf = async (id: string) => (await runs.get(id))?.state;
  /** Whether its job can be taken now. */
  const isWoken = async (id: string) => !(await queue.promote(id));
  return { ...harness, storage, switches, service, audited, stopped, stateOf, isWoken };
}

test('a release continues waiting runs, and cancels those that a newer run supersedes or corrects', async () => {
  const { service, audited, stopped, stateOf, isWoken } = await deployment();
  await service.set({ kind: 'stop', org: null }, ANA);
  const old = await stopped({ slot: 'trigger:1', period: OCTOBER });
  const newer = await stopped({ slot: 'trigger:2', period: OCTOBER });
  const other = await stopped({ slot: 'trigger:3', period: NOVEMBER });
  const corrected = await stopped({ slot: 'trigger:4', report: 'board', period: OCTOBER });
  const correction = await stopped({ slot: 'correction:1', report: 'board', period: OCTOBER, corrects: corrected });
  const replaced = (await service.waiting('*')).map(({ record, replacedBy }) => [record.id, replacedBy]);
  expect(Object.fromEntries(replaced)).toEqual({
    [old]: { run: newer, why: 'superseded' },
    [newer]: null,
    [other]: null,
    [corrected]: { run: correction, why: 'corrected' },
    [correction]: null,
  });
  const { released, continued, cancelled } = await service.release({ kind: 'stop', org: null }, ANA, {
    also: [old],
    except: [other],
  });
  expect(released).toMatchObject({ kind: 'stop', org: null, by: 'ana' });
  expect(new Set(continued.map(({ id }) => id))).toEqual(new Set([old, newer, correction]));
  expect(new Set(cancelled.map(({ id }) => id))).toEqual(new Set([other, corrected]));
  expect(await Promise.all([other, corrected].map(stateOf))).toEqual(['cancelled', 'cancelled']);
  expect(await Promise.all([old, newer, correction].map(isWoken))).toEqual([true, true, true]);
  expect(audited.map(({ event }) => event)).toEqual([
    'deliveries.stopped',
    'run.cancelled',
    'run.cancelled',
    'deliveries.released',
  ]);
});

test('releasing an organization while everything is stopped, a stop that is not set, or a hold wakes and cancels no run', async () => {
  const { service, stopped, stateOf, isWoken } = await deployment();
  await service.set({ kind: 'stop', org: null }, ANA);
  await service.set({ kind: 'stop', org: 'acme' }, ANA);
  await service.set({ kind: 'hold', org: 'acme' }, ANA);
  const runs = [
    await stopped({ slot: 'trigger:1', period: OCTOBER }),
    await stopped({ slot: 'trigger:2', period: OCTOBER }),
  ];
  for (const target of [
    { kind: 'stop', org: 'acme' },
    { kind: 'stop', org: 'beta' },
    { kind: 'hold', org: 'acme' },
  ] as const) {
    expect(await service.release(target, ANA)).toMatchObject({ continued: [], cancelled: [] });
    expect(await Promise.all(runs.map(stateOf))).toEqual(['waiting', 'waiting']);
  }
  const { continued } = await service.release({ kind: 'stop', org: null }, ANA);
  expect(continued.map(({ id }) => id)).toEqual([runs[1]]);
  expect(await isWoken(runs[1] ?? '')).toBe(true);
});

test('a hold stops expiry in Redis for its own organization only', async () => {
  const { service, switches, storage, runs, prefix, producer } = await deployment();
  const keys = redisKeys(prefix);
  const [acme, beta] = [anOrder({ slot: 'trigger:1' }), anOrder({ org: 'beta', slot: 'trigger:2' })];
  for (const order of [acme, beta]) await runs.open(order);
  const rows = (run: string) => `${prefix}:deliveries:{${run.slice(0, 16)}}`;
  for (const { id, org } of [acme, beta]) await producer.hset(rows(id), `${id}x:row`, JSON.stringify({ id, org }));
  const kept = [
    keys.record(acme.id),
    rows(acme.id),
    keys.index({ org: 'acme' }),
    keys.index(),
    `${prefix}:claim:acme/weekly:x`,
  ];
  const free = [keys.record(beta.id), rows(beta.id), keys.index({ org: 'beta' }), keys.live(acme.id)];
  await producer.set(keys.live(acme.id), '{}');
  await producer.set(`${prefix}:claim:acme/weekly:x`, '{}');
  const expireSoon = () => Promise.all([...kept, ...free].map((key) => producer.pexpire(key, DAY_MS)));
  const extended = async (all: readonly string[]) =>
    (await Promise.all(all.map((key) => producer.pttl(key)))).map((ms) => ms > 80 * DAY_MS);
  await expireSoon();
  expect(await keepHeld({ redis: producer, prefix, switches })).toBe(0);
  await service.set({ kind: 'hold', org: 'acme' }, ANA);
  await keepHeld({ redis: producer, prefix, switches });
  expect(await extended(kept)).toEqual(kept.map(() => true));
  expect(await extended(free)).toEqual(free.map(() => false));
  // An unreadable switch may be a hold, so everything is kept.
  await storage.metadata.put('.switches/000009.json', '{');
  await producer.del(keys.switchesFresh);
  await expireSoon();
  await keepHeld({ redis: producer, prefix, switches });
  expect(await extended([...kept, ...free.slice(0, 3)])).not.toContain(false);
});
