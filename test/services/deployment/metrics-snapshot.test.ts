import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { DocketError } from '../../../src/base/error.ts';
import { Secret, secretSource } from '../../../src/base/secrets/secret.ts';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { deliveryId } from '../../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../../src/deliver/ledger/redis-ledger.ts';
import { redisProcessRegistry } from '../../../src/queue/process-registry.ts';
import { redisNoticeOutbox } from '../../../src/queue/runs/notice-outbox.ts';
import { redisPauses } from '../../../src/queue/schedules/pauses.ts';
import { redisSchedulerHeartbeats } from '../../../src/queue/schedules/scheduler-heartbeat.ts';
import { redisClock } from '../../../src/redis/clock.ts';
import { sharedBudgets } from '../../../src/services/budgets/budgets.ts';
import type { Deployment } from '../../../src/services/deployment/deployment.ts';
import { readMetricsSnapshot } from '../../../src/services/deployment/metrics-snapshot.ts';
import { fake } from '../../support/fake.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { onDemand, openQueueHarness, type QueueHarness, reportDefinition } from '../../support/queue-harness.ts';

let harness: QueueHarness;
beforeAll(async () => {
  harness = await openQueueHarness();
});
afterAll(() => harness.close());

test('a snapshot has the figures that processes have written to Redis', async () => {
  const { prefix, producer, queue, trigger } = harness;
  const jobs = await loadDefinitions(
    await jobsFolder({
      'acme/org.yaml': `${ORG}budget: { calls: 5, window: 60 }\n`,
      'acme/weekly.yaml': REPORT,
      'lost/org.yaml': ORG.replace('ACME_KEY', 'LOST_KEY'),
      'bad/org.yaml': 'org: [',
    }),
  );
  const key = new Secret('acme.s3cr3t').fingerprint();
  const budgets = sharedBudgets(producer, prefix, systemClock);
  const metrics = budgets('metrics', { calls: 5, windowMs: 60_000 });
  for (let call = 0; call < 7; call += 1) {
    await metrics.acquire({ key, id: `run:${call}`, org: 'acme', priority: 'scheduled', holdMs: 30_000 });
  }
  const { record: first } = await trigger(onDemand(reportDefinition()));
  await trigger(onDemand(reportDefinition('daily')));
  const since = Date.now();
  const pause = { org: 'acme', report: null, who: 'docket', why: 'refused', since, key, run: 'r' };
  await redisPauses(producer, { prefix }).put(pause);
  await redisNoticeOutbox(producer, { prefix }).enqueue({
    run: 'r',
    error: new DocketError('run.held', 'Held.').toJSON(),
    since,
  });

  await redisSchedulerHeartbeats(producer, { prefix }).record({ at: 1_790_000_000_000, stuck: 1_789_999_000_000 });
  await redisProcessRegistry(producer, { prefix, self: 'one:1' }).heartbeat(['worker', 'scheduler']);
  await redisProcessRegistry(producer, { prefix, self: 'two:1' }).heartbeat(['worker']);

  await redisClock(producer, { prefix }).record(-7_000, 1_790_000_000_000);

  const ledger = redisLedger(producer, { prefix: `${prefix}:`, ttlDays: 90 });
  for (const [recipient, end] of [
    ['a@acme.example', 'unknown'],
    ['b@acme.example', 'sent'],
    ['c@acme.example', 'unknown'],
  ] as const) {
    const id = deliveryId('r', '0-email', recipient);
    await ledger.open({ id, run: 'r', org: 'acme', report: 'weekly', target: '0-email', recipient }, since);
    await ledger.begin(id, since);
    // The last delivery has waited for longer than decided rows are kept, and is still counted.
    const at = recipient.startsWith('c') ? since - 91 * 86_400_000 : since;
    await ledger.settle(id, 1, end, null, at);
  }

  const secrets = secretSource({ ACME_KEY: 'acme.s3cr3t' });
  const deployment = fake<Deployment>({
    ...{ redis: producer, prefix, queue, runs: harness.runs, secrets, clock: systemClock },
    ...{ pauses: redisPauses(producer, { prefix }), noticeOutbox: redisNoticeOutbox(producer, { prefix }) },
  });
  const read = await readMetricsSnapshot(deployment, jobs);
  expect(read).toMatchObject({
    budgets: [{ of: 'metrics', calls: 5, state: { key, tokens: 0, inFlight: 5, waiting: 2, limit: 5 } }],
    queue: { waiting: 2, active: 0, delayed: 0, failed: 0 },
    runs: [
      { state: 'queued', count: 2, oldest: first.createdAt },
      { state: 'running', count: 0, oldest: null },
      { state: 'waiting', count: 0, oldest: null },
      { state: 'held', count: 0, oldest: null },
      { state: 'awaiting_approval', count: 0, oldest: null },
    ],
    heartbeat: { at: 1_790_000_000_000, stuck: 1_789_999_000_000 },
    clockSteps: { steps: 1, last: { ms: -7_000, at: 1_790_000_000_000 } },
    pendingNotices: 1,
    unknownDeliveries: 2,
    reports: 1,
  });
  expect(read.processes).toEqual(
    new Map([
      ['worker', 2],
      ['scheduler', 1],
    ]),
  );
  expect(read.memory?.usedBytes).toBeGreaterThan(100_000);
  expect(read.faults).toBeGreaterThan(0);
  expect([...read.keys].sort()).toEqual([
    ['acme', key],
    ['lost', null],
  ]);
  expect(read.paused).toEqual([pause]);
});
