import { randomBytes } from 'node:crypto';
import { systemClock } from '../../src/base/clock.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import { deliveryId, type Ledger, type NewDelivery } from '../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../src/deliver/ledger/redis-ledger.ts';
import { type NoticeOutbox, redisNoticeOutbox } from '../../src/queue/runs/notice-outbox.ts';
import type { Pauses } from '../../src/queue/schedules/pauses.ts';
import type { Reviews } from '../../src/run/review/load-review.ts';
import type { RunRecord } from '../../src/run/run-record.ts';
import {
  createDecisionService,
  type DecisionService,
  type DecisionServicePorts,
} from '../../src/services/deliveries/decisions.ts';
import { anOrder, type QueueHarness } from './queue-harness.ts';

/** Decisions that nobody may make: for routes that are not about them. */
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

/** Where nothing is paused, and nothing may be. */
export const NO_PAUSES: Pauses = {
  list: async () => [],
  put: () => Promise.reject(new Error('not here')),
  lift: () => Promise.reject(new Error('not here')),
  liftKeyPause: () => Promise.reject(new Error('not here')),
  history: async () => [],
};

export interface DecisionHarness {
  readonly decisions: DecisionService;
  readonly ledger: Ledger;
  readonly owed: NoticeOutbox;
  /** Runs whose files are gone. */
  readonly gone: Set<string>;
  readonly kept: string[];
  /** A run that has ended in this state, with a delivery in each of these states. */
  ended(
    state: RunRecord['state'],
    rows?: readonly ('pending' | 'sent' | 'refused' | 'unknown')[],
    order?: Partial<RunRecord>,
  ): Promise<{ readonly id: string; readonly deliveries: readonly string[] }>;
}

/** Decisions over a bench's own Redis; the archive is a note of what was to be kept. */
export function decisionHarness(bench: QueueHarness, log: Log = silentLog, reviews?: Reviews): DecisionHarness {
  const ledger = redisLedger(bench.producer, { prefix: `${bench.prefix}:`, ttlDays: 30 });
  const noticeOutbox = redisNoticeOutbox(bench.producer, { prefix: bench.prefix });
  const gone = new Set<string>();
  const kept: string[] = [];
  const archive: DecisionServicePorts['archive'] = {
    isPublished: async ({ id }) => !gone.has(id),
    recordDecisions: async (rows, { by }) =>
      void kept.push(...rows.map(({ id, state, epoch }) => `${id} ${state} ${epoch} ${by}`)),
    release: async ({ id }, { by, reason }) => void kept.push(`${id} released ${by} ${reason}`),
  };
  const { runs, queue } = bench;
  return {
    decisions: createDecisionService({ runs, queue, ledger, noticeOutbox, archive, reviews, clock: systemClock, log }),
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
