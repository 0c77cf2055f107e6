import { expect, test } from 'vitest';
import { expectedFinish } from '../../src/compose/budgets.ts';
import type { BudgetState } from '../../src/fetch/budget.ts';

const state = (change: Partial<BudgetState> = {}): BudgetState => ({
  key: 'f'.repeat(16),
  tokens: 30,
  inFlight: 0,
  waiting: 0,
  blockedUntil: null,
  throttled: 0,
  limit: 30,
  ...change,
});

test('a run is expected to end at once on a free key, and a window later for each limit of calls it has to wait for', () => {
  const finish = (change: Partial<BudgetState>, calls: number) =>
    expectedFinish(state(change), 60_000, calls, 1_000_000);
  expect(finish({}, 30)).toBe(1_000_000);
  expect(finish({}, 31)).toBe(1_060_000);
  expect(finish({ tokens: 4 }, 5)).toBe(1_060_000);
  expect(finish({ tokens: 0, waiting: 30 }, 30)).toBe(1_120_000);
  expect(finish({ tokens: 0, waiting: 30 }, 31)).toBe(1_180_000);
  expect(finish({ tokens: 15, limit: 15 }, 31)).toBe(1_120_000);
  expect(finish({ blockedUntil: 1_005_000 }, 1)).toBe(1_005_000);
  expect(finish({ blockedUntil: 999_000 }, 1)).toBe(1_000_000);
  expect(finish({ tokens: 0, waiting: 500 }, 0)).toBe(1_000_000);
});
