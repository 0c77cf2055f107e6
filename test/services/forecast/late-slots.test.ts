import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_ASSUMPTIONS, type ForecastRun } from '../../../src/services/forecast/forecast-run.ts';
import { findLateSlots } from '../../../src/services/forecast/late-slots.ts';
import { prepareRun } from '../../../src/services/forecast/plan-slots.ts';
import { simulateRuns } from '../../../src/services/forecast/simulate-runs.ts';
import { cases, least } from '../../support/fuzz.ts';

const NINE = Date.parse('2026-11-30T09:00:00Z');
const MINUTE = 60_000;
const NO_TASKS = { tasks: [], to: Number.POSITIVE_INFINITY };
const LIMITS = new Map([['k', { calls: 30, windowMs: MINUTE }]]);

/** A run at nine with its own calls, whose days are complete since midnight. */
const runOf = (name: string, calls: number, lateAfter: number, more: Partial<ForecastRun> = {}): ForecastRun => ({
  ...{ org: 'acme', name: `acme/${name}`, key: 'k', slot: NINE, begins: NINE, before: NINE - 24 * 60 * MINUTE },
  ...{ lateAt: NINE + lateAfter * MINUTE, expected: NINE + lateAfter * MINUTE, maxAgeMs: 0, offsetMs: 0 },
  calls: Array.from({ length: calls }, (_, index) => ({
    request: `${name} ${index}`,
    kind: 'report',
    preparedFrom: undefined,
    completeFrom: NINE - 9 * 60 * MINUTE,
  })),
  ...more,
});
const lateSlots = async (runs: readonly ForecastRun[]) =>
  findLateSlots((await simulateRuns(runs, LIMITS, DEFAULT_ASSUMPTIONS)).runs, LIMITS, DEFAULT_ASSUMPTIONS, NO_TASKS);

describe('late slots', () => {
  test('are not found while all runs are on time', async () => {
    expect(await lateSlots([runOf('a', 10, 5), runOf('b', 10, 5)])).toEqual([]);
  });

  test('get advice that leaves no run late, and names no report too many', async () => {
    const runs = Array.from({ length: 20 }, (_, index) => runOf(`r${String(index).padStart(2, '0')}`, 10, 4));
    const [slot, ...others] = await lateSlots(runs);
    expect(others).toEqual([]);
    expect(slot).toMatchObject({ key: 'k', slot: NINE });
    const { reports = [], prepareMs = 0 } = slot?.advice ?? {};
    expect(prepareMs % (15 * MINUTE)).toBe(0);
    const follow = (names: readonly string[]) =>
      lateSlots(runs.map((run) => (names.includes(run.name) ? prepareRun(run, prepareMs) : run)));
    expect(await follow(reports)).toEqual([]);
    expect(await follow(reports.slice(1))).toHaveLength(1);
  });

  test('get the least number of concurrent runs if runs wait for workers and not for the key', async () => {
    const assumptions = { ...DEFAULT_ASSUMPTIONS, renderMs: 2 * MINUTE };
    const runs = Array.from({ length: 20 }, (_, index) => runOf(`r${String(index).padStart(2, '0')}`, 1, 5));
    const lateWith = async (concurrency: number) => {
      const assumed = { ...assumptions, concurrency };
      return findLateSlots((await simulateRuns(runs, LIMITS, assumed)).runs, LIMITS, assumed, NO_TASKS);
    };
    const [slot] = await lateWith(4);
    expect(slot).toMatchObject({ advice: undefined, concurrency: 10 });
    expect(await lateWith(10)).toEqual([]);
    expect(await lateWith(9)).toHaveLength(1);
  });

  test('get no advice if no figure is complete before the slot', async () => {
    const running = Array.from({ length: 4 }, (_, index) => {
      const run = runOf(`r${index}`, 20, 1);
      return { ...run, calls: run.calls.map(({ completeFrom: _never, ...call }) => call) };
    });
    expect(await lateSlots(running)).toMatchObject([{ advice: undefined, concurrency: undefined }]);
  });
});

test('do not delay unprepared runs when others are prepared', async () => {
  let earlier = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ calls: fc.integer({ min: 1, max: 12 }), prepared: fc.boolean() }), {
        minLength: 2,
        maxLength: 20,
      }),
      async (drawn) => {
        const runs = drawn.map(({ calls }, index) => runOf(`r${String(index).padStart(2, '0')}`, calls, 60));
        const prepared = runs.map((run, index) => (drawn[index]?.prepared ? prepareRun(run, 120 * MINUTE) : run));
        // One worker per run, so that no run waits for a worker.
        const assumed = { ...DEFAULT_ASSUMPTIONS, concurrency: runs.length };
        const readyOf = async (all: readonly ForecastRun[]) =>
          (await simulateRuns(all, LIMITS, assumed)).runs.map(({ ready }) => ready);
        const [without, beside] = [await readyOf(runs), await readyOf(prepared)];
        for (const [index, ready] of beside.entries()) {
          expect(ready).toBeLessThanOrEqual(without[index] ?? 0);
          if (ready < (without[index] ?? 0)) earlier += 1;
        }
      },
    ),
    cases(100),
  );
  expect(earlier).toBeGreaterThan(least(100));
});
