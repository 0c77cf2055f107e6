import { createMetrics, type Exposition } from '../../src/admin/metrics/process-metrics.ts';
import { systemClock } from '../../src/base/clock.ts';
import { OPEN_STATES } from '../../src/queue/runs/run-counts.ts';
import { STAGES } from '../../src/run/run-record.ts';
import type { MetricsSnapshot } from '../../src/services/deployment/metrics-snapshot.ts';
import { anOrder } from './queue-harness.ts';

/** The metrics of a process in which everything has happened: every metric has a series. */
export async function populatedExposition(): Promise<Exposition> {
  const metrics = createMetrics([{ org: 'acme', kinds: ['email'] }], {
    version: '0.1.0',
    clock: systemClock,
    targetKinds: ['email'],
    disk: async () => ({ freeBytes: 1, sizeBytes: 2 }),
  });
  metrics.observeDefinitions();
  metrics.observeOverdue(0);
  metrics.observeStorage('archive', true);
  metrics.observeRequest('acme', { endpoint: 'report', status: '2xx', ms: 300 });
  const order = anOrder({ slot: new Date().toISOString() });
  for (const stage of STAGES) metrics.observe(order, { type: 'timed', stage, ms: 20 });
  const delivery = { target: '0-email', recipient: 'a@acme.example', state: 'sent', detail: null } as const;
  metrics.observe(order, { type: 'delivered', ...delivery, ms: 40 });
  metrics.observe(order, { type: 'finished', state: 'done' });
  return metrics.scrape(async () => populatedSnapshot());
}

/** What all processes share, with a series of each metric. */
export function populatedSnapshot(): MetricsSnapshot {
  const state = {
    key: 'f1',
    tokens: 30,
    inFlight: 0,
    waiting: 0,
    blockedUntil: null,
    throttled: 0,
    limit: 30,
    slowedUntil: null,
  };
  return {
    budgets: [{ of: 'metrics', calls: 30, state }],
    keys: new Map([
      ['acme', 'f1'],
      ['lost', null],
    ]),
    queue: { waiting: 1, active: 1, delayed: 1, failed: 1 },
    runs: OPEN_STATES.map((standing) => ({ state: standing, count: 1, oldest: Date.now() })),
    processes: new Map([['worker', 1]]),
    heartbeat: { at: Date.now(), stuck: null },
    memory: { usedBytes: 1, limitBytes: 0 },
    clockSteps: { steps: 2, last: { ms: -7_000, at: 1_800_000_000_000 } },
    paused: [
      { org: 'acme', report: null, since: 1 },
      { org: 'acme', report: 'weekly', since: 1 },
    ],
    readings: [{ org: 'acme', newest: 1_800_000_000_000, missed: [] }],
    corrections: [{ org: 'acme', watched: 4, open: 1, oldest: 1_800_000_000_000 }],
    late: ['acme'],
    preparations: [{ org: 'acme', prepared: 12, complete: false }],
    forecastErrorMs: 4_200,
    pendingNotices: 0,
    unknownDeliveries: 0,
    reports: 1,
    faults: 0,
    kept: 0,
    problems: ['circuit.open'],
  };
}
