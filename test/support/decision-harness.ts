import { randomBytes } from 'node:crypto';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import type { Archive, PublishedRun } from '../../src/deliver/archive/archive.ts';
import type { ArchiveStorage, RunRef } from '../../src/deliver/archive/storage/archive-storage.ts';
import { buildDenyList, NOBODY_DENIED } from '../../src/deliver/denials/deny-list.ts';
import type { Denials } from '../../src/deliver/denials/shared-denials.ts';
import { deliveryId, type Ledger, type NewDelivery } from '../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../src/deliver/ledger/redis-ledger.ts';
import type { Switches } from '../../src/deliver/switches/shared-switches.ts';
import { type NoticeOutbox, redisNoticeOutbox } from '../../src/queue/runs/notice-outbox.ts';
import type { Pauses } from '../../src/queue/schedules/pauses.ts';
import type { Reviews } from '../../src/run/review/load-review.ts';
import type { RunRecord } from '../../src/run/run-record.ts';
import type { AuditLog } from '../../src/services/audit-log.ts';
import { createDecisionService, type DecisionService } from '../../src/services/deliveries/decisions.ts';
import type { Deployment } from '../../src/services/deployment/deployment.ts';
import { fake } from './fake.ts';
import { anOrder, type QueueHarness } from './queue-harness.ts';

/** A service without decisions, for routes that do not need them. */
export const NO_DECISIONS: DecisionService = {
  find: async () => undefined,
  recover: async () => undefined,
  page: async () => ({ deliveries: [], next: null }),
  list: async () => [],
  resolve: () => Promise.reject(new Error('not here')),
  resolveMany: () => Promise.reject(new Error('not here')),
  retry: () => Promise.reject(new Error('not here')),
  release: () => Promise.reject(new Error('not here')),
  cancel: () => Promise.reject(new Error('not here')),
};

/** A service without pauses. */
export const NO_PAUSES: Pauses = {
  list: async () => [],
  put: () => Promise.reject(new Error('not here')),
  lift: () => Promise.reject(new Error('not here')),
  liftKeyPause: () => Promise.reject(new Error('not here')),
  history: async () => [],
};

/** An audit log that stores nothing. */
export const NO_AUDIT: AuditLog = { record: async () => {}, list: async () => ({ entries: [], next: null }) };

/** Switches without stops and legal holds. */
export const NEVER_STOPPED = fake<Switches>({
  stoppedMs: async () => 0,
  assertOpen: async () => {},
  isHeld: async () => false,
});

export const NOBODY_IS_DENIED = fake<Denials>({ list: async () => buildDenyList(NOBODY_DENIED) });

/** An archive without reviews and runs. */
const NO_EVENTS = fake<Reviews>({ events: async () => [] });
const NO_RUNS = fake<ArchiveStorage>({ async *listRuns() {} });

export interface DecisionHarness {
  readonly decisions: DecisionService;
  readonly ledger: Ledger;
  readonly owed: NoticeOutbox;
  /** Runs whose files are gone. */
  readonly gone: Set<string>;
  readonly kept: string[];
  /** A run that ended in this state, with a delivery in each of these states. */
  ended(
    state: RunRecord['state'],
    rows?: readonly ('pending' | 'sent' | 'refused' | 'unknown')[],
    order?: Partial<RunRecord>,
  ): Promise<{ readonly id: string; readonly deliveries: readonly string[] }>;
}

/** Decisions with the harness's Redis. The archive only records what should be stored. */
export function decisionHarness(
  harness: QueueHarness,
  {
    log = silentLog,
    reviews = NO_EVENTS,
    audit = NO_AUDIT,
  }: Partial<Pick<Deployment, 'log' | 'reviews' | 'audit'>> = {},
): DecisionHarness {
  const ledger = redisLedger(harness.producer, { prefix: `${harness.prefix}:`, ttlDays: 30 });
  const noticeOutbox = redisNoticeOutbox(harness.producer, { prefix: harness.prefix });
  const gone = new Set<string>();
  const kept: string[] = [];
  const published = async ({ id }: RunRef) => (gone.has(id) ? undefined : fake<PublishedRun>({ folder: id }));
  const archive = fake<Archive>({
    find: published,
    peek: published as Archive['peek'],
    discardCheckout: async () => {},
    getReceipts: async () => [],
    putReceipts: async () => {},
    putAttempt: async (_, { delivery, state, epoch, decision }) =>
      void kept.push(`${delivery} ${state} ${epoch} ${decision?.by}`),
    putRelease: async (run, { by, reason }) =>
      void kept.push(`${(run as PublishedRun).folder} released ${by} ${reason}`),
  });
  const { runs, queue } = harness;
  const stores = { runs, queue, ledger, denials: NOBODY_IS_DENIED, noticeOutbox, archive, storage: NO_RUNS, reviews };
  return {
    decisions: createDecisionService(fake({ ...stores, audit, clock: systemClock, log })),
    owed: noticeOutbox,
    ledger,
    gone,
    kept,
    ended: async (state, rows = [], order = {}) => {
      const id = randomBytes(16).toString('hex');
      const { org, report } = anOrder(order);
      await runs.open(anOrder({ ...order, id }));
      const deliveries: string[] = [];
      for (const [index, to] of rows.entries()) {
        const recipient = `r${index}@${org}.example`;
        const row: NewDelivery = {
          id: deliveryId(id, '0-email', recipient),
          run: id,
          org,
          report,
          target: '0-email',
          recipient,
        };
        await ledger.open(row, 1);
        const epoch = await ledger.begin(row.id, 2);
        await ledger.settle(row.id, epoch ?? 0, to, `ended ${to}`, 3);
        deliveries.push(row.id);
      }
      await runs.update(id, { state, finishedAt: 4 });
      return { id, deliveries };
    },
  };
}
