import { describe, expect, test } from 'vitest';
import { DEFAULT_ASSUMPTIONS, type ForecastRun } from '../../../src/services/forecast/forecast-run.ts';
import { simulateRuns } from '../../../src/services/forecast/simulate-runs.ts';

const NINE = Date.parse('2026-11-30T09:00:00Z');
const LIMITS = new Map([
  ['k', { calls: 30, windowMs: 60_000 }],
  ['other', { calls: 30, windowMs: 60_000 }],
]);
const HOUR = 3_600_000;

/** A run at nine with this many calls of its own. */
const runOf = (name: string, calls: number, more: Partial<ForecastRun> = {}): ForecastRun => ({
  ...{ org: 'acme', name: `acme/${name}`, key: 'k', slot: NINE, begins: NINE, lateAt: undefined },
  ...{ expected: NINE + 24 * HOUR, maxAgeMs: 0, offsetMs: 0, before: Number.NEGATIVE_INFINITY },
  calls: Array.from({ length: calls }, (_, index) => ({
    request: `${name} ${index}`,
    kind: 'report',
    preparedFrom: undefined,
  })),
  ...more,
});
/** The same, with calls that can be prepared from `ms` before nine on. */
const preparedOf = (name: string, calls: number, ms: number): ForecastRun => {
  const run = runOf(name, calls);
  return { ...run, calls: run.calls.map((call) => ({ ...call, preparedFrom: NINE - ms })) };
};
const simulate = async (runs: readonly ForecastRun[], more = {}) => {
  const { runs: ended, keys } = await simulateRuns(runs, LIMITS, { ...DEFAULT_ASSUMPTIONS, ...more });
  return {
    runs: ended.map(({ run, begun, ready, delivered, late, tokens }) => ({
      ...{ name: run.name.slice(5), late, tokens },
      ...{ begun: begun - NINE, ready: ready - NINE, delivered: delivered - NINE },
    })),
    keys: keys.map(({ key, minutes, fullAt }) => ({
      key,
      minutes: minutes.map(({ at, tokens }) => [(at - NINE) / 60_000, tokens]),
      fullAt: fullAt === undefined ? undefined : fullAt - NINE,
    })),
  };
};

describe('a forecast', () => {
  test('of one report has the catalog, then four calls at once, rendering and delivery', async () => {
    const { runs, keys } = await simulate([runOf('a', 8)]);
    expect(runs).toEqual([{ name: 'a', begun: 0, ready: 4_500, delivered: 6_500, late: false, tokens: 9 }]);
    expect(keys).toEqual([{ key: 'k', minutes: [[0, 9]], fullAt: undefined }]);
  });

  test('of a full key makes the remaining calls wait until the first tokens return', async () => {
    const { runs, keys } = await simulate([runOf('a', 35)]);
    // The catalog's token returns first, one window and a millisecond after its response. It is one of 30.
    expect(keys).toEqual([
      {
        key: 'k',
        minutes: [
          [0, 30],
          [1, 6],
        ],
        fullAt: 0,
      },
    ]);
    expect(runs[0]?.ready).toBeGreaterThan(60_000);
    expect(runs[0]?.ready).toBeLessThan(70_000);
  });

  test('of forty reports with ten calls delivers the last one 13 minutes after the slot', async () => {
    const { runs, keys } = await simulate(Array.from({ length: 40 }, (_, index) => runOf(`r${index}`, 10)));
    const last = Math.max(...runs.map(({ delivered }) => delivered));
    expect(last / 60_000).toBeGreaterThan(13);
    expect(last / 60_000).toBeLessThan(14);
    for (const [, tokens] of keys[0]?.minutes ?? []) expect(tokens).toBeLessThanOrEqual(30);
    expect(keys[0]?.minutes.reduce((sum, [, tokens = 0]) => sum + tokens, 0)).toBe(401);
  });

  test('starts the runs of an organization in the order in which readers expect them, then by name', async () => {
    const { runs } = await simulate(
      [runOf('b', 1), runOf('a', 1), runOf('soon', 1, { expected: NINE + HOUR / 2, lateAt: NINE + HOUR / 2 })],
      { concurrency: 1 },
    );
    const order = runs.toSorted((one, other) => one.begun - other.begun).map(({ name }) => name);
    expect(order).toEqual(['soon', 'a', 'b']);
  });

  test('lets organizations take turns', async () => {
    const other = { org: 'beta', key: 'other' };
    const { runs } = await simulate(
      [runOf('a', 1), runOf('b', 1), runOf('c', 1), runOf('x', 1, { ...other, name: 'beta/x' })],
      { concurrency: 1 },
    );
    const order = runs.toSorted((one, other) => one.begun - other.begun).map(({ name }) => name);
    expect(order).toEqual(['a', 'b', 'x', 'c']);
  });

  test('marks a run late that is delivered after its `late_after`', async () => {
    const { runs } = await simulate([
      runOf('a', 40, { lateAt: NINE + 30_000, expected: NINE + 30_000 }),
      runOf('b', 1, { lateAt: NINE + 30 * 60_000, expected: NINE + 30 * 60_000 }),
    ]);
    expect(runs.map(({ late }) => late)).toEqual([true, false]);
  });

  test('makes a call once if several runs share it', async () => {
    const shared = [{ request: 'shared', kind: 'report' as const, preparedFrom: undefined }];
    const { runs } = await simulate(['a', 'b', 'c'].map((name) => runOf(name, 0, { calls: shared, maxAgeMs: HOUR })));
    expect(runs.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(2);
  });

  test('uses no token for lists', async () => {
    const list = [{ request: 'list', kind: 'list' as const, preparedFrom: undefined }];
    const { runs } = await simulate([runOf('a', 0, { calls: list })]);
    expect(runs).toMatchObject([{ tokens: 1, ready: 4_000 }]);
  });

  test('reads the pages of a list one after the other, at most 600 a minute', async () => {
    const list = [{ request: 'list', kind: 'list' as const, preparedFrom: undefined }];
    const readyAfter = async (pages: number) => {
      const reports = new Map([['acme/a', { callMs: 50, renderMs: 0, deliverMs: 0, pages }]]);
      const { runs } = await simulate([runOf('a', 0, { calls: list })], { catalogs: 'cached', reports });
      return runs[0]?.ready;
    };
    expect(await readyAfter(12)).toBe(600);
    // The first page's token returns after a window, then one token every 50 ms.
    expect(await readyAfter(700)).toBe(60_001 + 100 * 50 + 50);
  });

  test('of prepared reports makes no call between slot and delivery', async () => {
    const { runs, keys } = await simulate(
      Array.from({ length: 10 }, (_, index) => preparedOf(`r${index}`, 10, HOUR / 2)),
    );
    for (const [minute = 0, tokens = 0] of keys[0]?.minutes ?? []) {
      // No call in the two windows before the slot, and never more than two thirds of the tokens.
      expect(minute).toBeLessThan(-1);
      expect(tokens).toBeLessThanOrEqual(21);
    }
    expect(keys[0]?.fullAt).toBeUndefined();
    expect(Math.max(...runs.map(({ delivered }) => delivered))).toBe(15_000);
  });

  test('of a preparation with too little time leaves the other calls to the run', async () => {
    const { runs, keys } = await simulate([preparedOf('a', 60, 4 * 60_000)]);
    const before = keys[0]?.minutes.filter(([minute = 0]) => minute < 0) ?? [];
    const early = before.reduce((sum, [, tokens = 0]) => sum + tokens, 0);
    expect(early).toBeGreaterThanOrEqual(20);
    expect(early).toBeLessThan(60);
    expect(runs[0]?.tokens).toBeGreaterThanOrEqual(61);
  });

  test('of no runs is empty', async () => {
    expect(await simulate([])).toEqual({ runs: [], keys: [] });
  });
});
