import { describe, expect, test } from 'vitest';
import { archiveClaims } from '../../../src/deliver/claims/archive-claims.ts';
import type { PeriodClaims } from '../../../src/deliver/claims/claim.ts';
import { requestFingerprint } from '../../../src/run/request-fingerprint.ts';
import type { Reviews } from '../../../src/run/review/load-review.ts';
import { claimFor } from '../../../src/run/run.ts';
import type { RunOrder, RunState } from '../../../src/run/run-record.ts';
import type { EarlierDelivery } from '../../../src/services/runs/already-delivered.ts';
import { createPeriodClaims } from '../../../src/services/runs/period-claims.ts';
import { fake } from '../../support/fake.ts';
import { runOf } from '../../support/page-data.ts';
import { DOCKET_ACTOR, memoryMetadata } from '../../support/review-harness.ts';

const HOUR_MS = 3_600_000;
const NOW = Date.parse('2026-11-16T08:00:00Z');
const A = 'a'.repeat(32);
const B = 'b'.repeat(32);
const PERIOD = { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' };
const DAYS = { from: PERIOD.from, to: PERIOD.to };
const orderOf = (id: string, change: Partial<RunOrder> = {}): RunOrder => ({
  ...runOf('claims', 'running', { id, report: 'weekly', trigger: 'on_demand', createdAt: NOW }),
  period: PERIOD,
  ...change,
});

function claimsOf({
  states = {},
  delivered,
}: {
  readonly states?: Readonly<Record<string, RunState>>;
  readonly delivered?: Pick<EarlierDelivery, 'run' | 'at'>;
} = {}) {
  const store = archiveClaims(fake({ metadata: memoryMetadata() }));
  const world = { now: NOW, states, delivered };
  const claims: PeriodClaims = createPeriodClaims(
    {
      runs: fake({
        get: async (id) => {
          const state = world.states[id];
          return state && runOf('claims', state, { id });
        },
      }),
      clock: { now: () => world.now, monotonic: () => world.now, sleep: async () => {} },
    },
    [store],
    async ({ id }) =>
      world.delivered === undefined || world.delivered.run === id
        ? undefined
        : { ...world.delivered, period: PERIOD, sent: { email: 2 }, uncertain: 0 },
  );
  const acquire = (order: RunOrder, reviews?: Reviews) =>
    claimFor(order, { claims, reviews })?.(async () => world.delivered?.run === order.id);
  const holder = async () => {
    const claim = await store.read(orderOf(A));
    return claim?.released ? undefined : claim?.run;
  };
  return { claims, world, acquire, holder };
}

describe('a run on demand that finds the claim of another run', () => {
  test.each(['queued', 'running', 'waiting'] as const)('does not deliver while that run is %s', async (state) => {
    const { acquire, holder } = claimsOf({ states: { [A]: state } });
    await acquire(orderOf(A));
    await expect(acquire(orderOf(B))).rejects.toMatchObject({
      code: 'already_delivered',
      where: 'acme/weekly',
      delivered: { run: A, people: 0, uncertain: 0 },
    });
    expect(await holder()).toBe(A);
    await acquire(orderOf(A));
  });

  test.each(['done', 'partly_delivered', 'failed', 'cancelled'] as const)(
    'delivers if that run is %s without any delivery, and not otherwise',
    async (state) => {
      const { acquire, holder, world } = claimsOf({ states: { [A]: state } });
      await acquire(orderOf(A));
      world.delivered = { run: A, at: NOW };
      await expect(acquire(orderOf(B))).rejects.toMatchObject({
        code: 'already_delivered',
        delivered: { run: A, people: 2 },
      });
      world.delivered = undefined;
      await acquire(orderOf(B));
      expect(await holder()).toBe(B);
    },
  );

  test.each([
    ['a slot', { trigger: 'schedule' }],
    ['a corrected edition', { corrects: A }],
    ['a request with `again`', { again: true }],
    ['a request of 0.2.0 with `again`', { asked: requestFingerprint({ deliver: true, again: true }) }],
    ['one for a named period', { asked: requestFingerprint({ period: 'previous_week', deliver: true, again: true }) }],
    ['one for the last days', { asked: requestFingerprint({ period: 'last_7_days', deliver: true, again: true }) }],
    ['one for dates', { asked: requestFingerprint({ period: DAYS, deliver: true, again: true }) }],
  ] as const)('takes the claim over as %s', async (_, change) => {
    const { acquire, holder, world } = claimsOf({ states: { [A]: 'running', [B]: 'running' } });
    await acquire(orderOf(A));
    world.delivered = { run: A, at: NOW };
    await acquire(orderOf(B, change));
    expect(await holder()).toBe(B);
    // The first run has delivered something, so it continues.
    await acquire(orderOf(A));
    world.delivered = undefined;
    await acquire(orderOf(B, change));
    await expect(acquire(orderOf(A))).rejects.toMatchObject({ code: 'already_delivered' });
  });

  test('takes the claim over if its content was approved with `again`', async () => {
    const by = DOCKET_ACTOR;
    const content = 'c'.repeat(64);
    const reviewsWith = (...approvals: readonly { readonly content: string; readonly again?: true }[]) =>
      ({
        events: async () => [
          ...approvals.map((each, index) => ({ type: 'approve', seq: index + 1, at: 1, by, reason: 'r', ...each })),
          { type: 'seal', seq: 9, at: 2, by, content },
        ],
      }) as unknown as Reviews;
    const { acquire, holder } = claimsOf({ states: { [A]: 'running' } });
    await acquire(orderOf(A));
    for (const reviews of [
      reviewsWith({ content }),
      reviewsWith({ content: 'd'.repeat(64), again: true }, { content }),
    ]) {
      await expect(acquire(orderOf(B), reviews)).rejects.toMatchObject({ code: 'already_delivered' });
    }
    await acquire(orderOf(B), reviewsWith({ content, again: true }));
    expect(await holder()).toBe(B);
  });
});

test('a run without a record and without deliveries loses its claim after a day', async () => {
  const { acquire, holder, world } = claimsOf();
  await acquire(orderOf(A));
  world.now += 23 * HOUR_MS;
  await expect(acquire(orderOf(B))).rejects.toMatchObject({ code: 'already_delivered' });
  // The run is alive after all, and renews its claim.
  await acquire(orderOf(A));
  world.now += 2 * HOUR_MS;
  await expect(acquire(orderOf(B))).rejects.toMatchObject({ code: 'already_delivered' });
  world.now += 23 * HOUR_MS;
  await acquire(orderOf(B));
  expect(await holder()).toBe(B);
});

test('a released claim is free for another run', async () => {
  const { acquire, claims, holder } = claimsOf({ states: { [A]: 'running' } });
  await acquire(orderOf(A));
  await claims.release(orderOf(B));
  expect(await holder()).toBe(A);
  await claims.release(orderOf(A));
  await claims.release(orderOf(A));
  expect(await holder()).toBeUndefined();
  await acquire(orderOf(B));
  expect(await holder()).toBe(B);
});

test('deliveries without a claim, as of 0.2.0, count only if they happened after the run was opened', async () => {
  const { acquire, holder, world } = claimsOf();
  // The request was checked then, or had `again`.
  world.delivered = { run: A, at: NOW - 1 };
  await acquire(orderOf(B));
  world.delivered = { run: A, at: NOW + 1 };
  await expect(acquire(orderOf(B))).rejects.toMatchObject({ code: 'already_delivered', delivered: { run: A } });
  expect(await holder()).toBeUndefined();
});

test('a retried run gets its claim back before another run has taken it', async () => {
  const { acquire, holder, world } = claimsOf({ states: { [A]: 'failed' } });
  await acquire(orderOf(A));
  const states = { ...world.states };
  let reads = 0;
  world.states = new Proxy(states, { get: () => (reads++ === 0 ? 'failed' : 'queued') });
  await expect(acquire(orderOf(B))).rejects.toMatchObject({ code: 'already_delivered', delivered: { run: A } });
  expect(reads).toBe(2);
  expect(await holder()).toBe(A);
});
