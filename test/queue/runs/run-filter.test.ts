import fc from 'fast-check';
import { expect, test } from 'vitest';
import { deliveryId } from '../../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../../src/deliver/ledger/redis-ledger.ts';
import { listRunPage, parseRunCursor } from '../../../src/run/run-page.ts';
import type { RunFilter, RunRecord, RunState } from '../../../src/run/run-record.ts';
import { cases } from '../../support/fuzz.ts';
import { anOrder, openQueueHarness } from '../../support/queue-harness.ts';

const ORGS = ['acme', 'globex'];
const REPORTS = ['weekly', 'weekly-kpi', 'board'];
const STATES = ['done', 'failed', 'held', 'queued'] as const;
const CODES = ['smtp.refused', 'api.timeout'] as const;
const RECIPIENTS = ['a@acme.example', 'b@acme.example'];
const DAYS = ['2026-09-30', '2026-10-01', '2026-10-31', '2026-11-01'];

const START = Date.now() - 100_000;
/** Runs with every combination of these values, some of them opened at the same instant. */
const orders = Array.from({ length: 150 }, (_, index) => {
  const day = DAYS[(index >> 2) % DAYS.length] ?? '';
  const order = anOrder({
    org: ORGS[index % 2] ?? '',
    report: REPORTS[index % 3] ?? '',
    slot: `trigger:${index}`,
    createdAt: START + (index >> 1) * 10,
    period: { from: day, to: day, timezone: 'UTC', label: day },
  });
  const state: RunState = STATES[(index >> 1) % STATES.length] ?? 'done';
  const code = state === 'failed' || state === 'held' ? CODES[(index >> 3) % 2] : undefined;
  return { order, state, code, recipients: RECIPIENTS.filter((_, bit) => ((index >> 3) >> bit) & 1) };
});

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const some = <T>(values: readonly T[]) => fc.subarray([...values], { minLength: 1 });
const filters = fc.record({
  org: optional(fc.constantFrom(...ORGS)),
  report: optional(fc.constantFrom(...REPORTS)),
  reports: optional(some(ORGS.flatMap((org) => REPORTS.map((report) => `${org}/${report}`)))),
  states: optional(some(STATES)),
  error: optional(fc.constantFrom('smtp', 'TIME', '.', 'none')),
  recipients: optional(some(ORGS.flatMap((org) => RECIPIENTS.map((recipient) => `${org}/${recipient}`)))),
  begins: optional(fc.constantFrom({ from: '2026-10-01', to: '2026-10-31' }, { from: '2026-11-01', to: '2026-11-01' })),
  since: optional(fc.nat({ max: 800 }).map((ms) => START + ms)),
  until: optional(fc.nat({ max: 800 }).map((ms) => START + ms)),
  limit: fc.integer({ min: 1, max: 60 }),
});

const isMatch = ({ order, state, code, recipients }: (typeof orders)[number], filter: Omit<RunFilter, 'limit'>) =>
  (filter.org ?? order.org) === order.org &&
  (filter.report ?? order.report) === order.report &&
  (filter.reports?.includes(`${order.org}/${order.report}`) ?? true) &&
  (filter.states?.includes(state) ?? true) &&
  (filter.error === undefined || (code?.includes(filter.error.toLowerCase()) ?? false)) &&
  (filter.recipients?.some((name) => recipients.some((each) => name === `${order.org}/${each}`)) ?? true) &&
  (filter.begins === undefined || (order.period.from >= filter.begins.from && order.period.from <= filter.begins.to)) &&
  order.createdAt >= (filter.since ?? 0) &&
  order.createdAt < (filter.until ?? Number.POSITIVE_INFINITY);

test('a listing with any filter returns exactly the matching runs, newest first over all pages, and counts them', async () => {
  const harness = await openQueueHarness();
  const ledger = redisLedger(harness.producer, { prefix: `${harness.prefix}:`, ttlDays: 90 });
  try {
    for (const { order, state, code, recipients } of orders) {
      await harness.runs.open(order);
      const { id: run, org, report } = order;
      const error = code === undefined ? null : { code: code as 'api.timeout', message: 'No.' };
      await harness.runs.update(run, { ...(state === 'queued' ? {} : { state }), error });
      for (const recipient of recipients) {
        const id = deliveryId(run, '0-email', recipient);
        await ledger.open({ id, run, org, report, target: '0-email', recipient }, order.createdAt);
      }
    }
    const newestFirst = (one: RunRecord | (typeof orders)[number]['order'], other: typeof one) =>
      other.createdAt - one.createdAt || (one.id < other.id ? 1 : -1);
    await fc.assert(
      fc.asyncProperty(filters, async (filter) => {
        const expected = orders.filter((each) => isMatch(each, filter)).map(({ order }) => order);
        const found: RunRecord[] = [];
        let next: string | null = null;
        do {
          const after = next === null ? undefined : parseRunCursor(next);
          const page = await listRunPage(harness.runs, { ...filter, after });
          found.push(...page.runs);
          next = page.next;
        } while (next !== null);
        expect(found.map(({ id }) => id)).toEqual(expected.sort(newestFirst).map(({ id }) => id));
        const counted = await harness.runs.listAndCount(filter, 100);
        expect(counted.total).toBe(Math.min(100, expected.length));
        expect(counted.runs.map(({ id }) => id)).toEqual(expected.slice(0, filter.limit).map(({ id }) => id));
      }),
      cases(400),
    );
  } finally {
    await harness.close();
  }
});
