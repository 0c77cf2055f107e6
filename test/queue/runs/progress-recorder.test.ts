import { describe, expect, it } from 'vitest';
import { createProgressRecorder } from '../../../src/queue/runs/progress-recorder.ts';
import { INITIAL_RUN_FIELDS, type MutableRunFields } from '../../../src/queue/runs/stored-record.ts';
import type { LiveProgress } from '../../../src/run/live-progress.ts';
import { fake } from '../../support/fake.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { anOrder } from '../../support/queue-harness.ts';

describe('the progress recorder', () => {
  const watched = (before: Partial<MutableRunFields> = {}) => {
    const clock = manualClock(1_000_000);
    const written: Partial<MutableRunFields>[] = [];
    const reported: (LiveProgress | null)[] = [];
    const progress = createProgressRecorder(
      fake({ update: async (_, change) => void written.push(change) }),
      { ...anOrder(), ...INITIAL_RUN_FIELDS, ...before },
      {
        clock,
        live: fake({ put: async (_, live) => void reported.push(live), delete: async () => void reported.push(null) }),
        failed: () => {},
      },
    );
    const wait = (call: string, forMs: number) =>
      progress.observe({ type: 'waiting', call, until: clock.now() + forMs, ahead: 1, tokens: 0 });
    const fetched = (done: number) =>
      progress.observe({ type: 'fetched', call: `${done}`, done, of: 9, saved: false, tokens: 9 - done, finish: 7 });
    const turn = async (ms: number) => {
      clock.advance(ms);
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { clock, written, told: reported, progress, wait, fetched, turn };
  };

  it('adds up the time of each stage over all attempts', async () => {
    const { progress } = watched({ timings: { plan: 5, fetch: 100 } });
    progress.observe({ type: 'timed', stage: 'fetch', ms: 20.4 });
    progress.observe({ type: 'timed', stage: 'render', ms: 7 });
    expect((await progress.finish()).timings).toEqual({ plan: 5, fetch: 120, render: 7 });
  });

  it('keeps when each stage last ended, also in earlier attempts', async () => {
    const { clock, progress } = watched({ stageEnds: { plan: 5, fetch: 6 } });
    progress.observe({ type: 'timed', stage: 'fetch', ms: 20 });
    clock.advance(1_000);
    progress.observe({ type: 'timed', stage: 'render', ms: 7 });
    expect((await progress.finish()).stageEnds).toEqual({ plan: 5, fetch: 1_000_000, render: 1_001_000 });
    expect(await watched().progress.finish()).not.toHaveProperty('stageEnds');
  });

  it('counts the time once when several calls wait for tokens together', async () => {
    const { clock, progress, wait } = watched({ tokenWaitMs: 500 });
    wait('a', 60_000);
    clock.advance(1_000);
    wait('b', 60_000);
    clock.advance(1_000);
    progress.observe({ type: 'granted', call: 'a' });
    clock.advance(1_000);
    progress.observe({ type: 'granted', call: 'b' });
    clock.advance(9_000);
    expect((await progress.finish()).tokenWaitMs).toBe(3_500);
  });

  it('counts the snooze until the first token arrives', async () => {
    const { clock, progress, wait } = watched();
    wait('a', 60_000);
    wait('b', 90_000);
    clock.advance(10_000);
    expect((await progress.finish()).tokenWaitMs).toBe(60_000);
  });

  it('adds up the pages of all lists', async () => {
    const { progress } = watched();
    const list = (call: string, pages: number) =>
      progress.observe({ type: 'fetched', call, pages, done: 1, of: 2, saved: false, tokens: null, finish: 7 });
    list('a', 3);
    list('b', 1);
    expect((await progress.finish()).pages).toBe(4);
  });

  it('writes at most once a second, and nothing for a run that is over by then', async () => {
    const { written, progress, fetched, turn } = watched();
    for (let n = 1; n <= 50; n += 1) fetched(n);
    expect(written).toEqual([]);
    await turn(500);
    expect(written).toMatchObject([{ calls: { made: 50 } }]);
    fetched(51);
    await turn(999);
    expect(written).toHaveLength(1);
    await turn(1);
    expect(written).toHaveLength(2);
    fetched(52);
    expect(await progress.finish()).toMatchObject({ calls: { made: 52 } });
    expect(written).toHaveLength(2);
  });

  it('publishes live progress with each write, and removes it at the end', async () => {
    const { told, progress, fetched, turn, wait } = watched();
    progress.observe({ type: 'begun', stage: 'plan' });
    progress.observe({ type: 'planned', calls: 9, sections: 2 });
    progress.observe({ type: 'begun', stage: 'fetch' });
    fetched(1);
    wait('2', 1_000);
    await turn(500);
    expect(told).toEqual([{ stage: 'fetch', done: 1, of: 9, tokens: 0, ahead: 1, finish: 1_001_000, at: 1_000_500 }]);
    progress.observe({ type: 'granted', call: '2' });
    await turn(1_000);
    expect(told[1]).toMatchObject({ ahead: null, at: 1_001_500 });
    await progress.finish();
    expect(told[2]).toBeNull();
    expect(told).toHaveLength(3);
  });

  it('repeats unchanged progress only after 20 seconds, before watchers take the worker for dead', async () => {
    const { told, fetched, turn } = watched();
    fetched(1);
    await turn(500);
    for (let second = 1; second < 20; second += 1) await turn(1_000);
    expect(told).toHaveLength(1);
    await turn(1_000);
    expect(told).toMatchObject([{ at: 1_000_500 }, { at: 1_020_500, done: 1 }]);
  });

  it('publishes nothing for a run that ends within half a second, and removes nothing once another worker has the run', async () => {
    const short = watched();
    short.fetched(1);
    await short.progress.finish();
    expect(short.told).toEqual([]);
    const lost = watched();
    lost.fetched(1);
    await lost.turn(500);
    await lost.progress.finish(true);
    expect(lost.told).toMatchObject([{ done: 1 }]);
  });

  it('continues when live progress cannot be published', async () => {
    const clock = manualClock(0);
    let tells = 0;
    const failures: unknown[] = [];
    const progress = createProgressRecorder(
      fake({ update: async () => {} }),
      { ...anOrder(), ...INITIAL_RUN_FIELDS },
      {
        clock,
        live: fake({
          put: () => {
            tells += 1;
            return new Promise<void>(() => {});
          },
          delete: () => Promise.reject(new Error('gone')),
        }),
        failed: (error) => failures.push(error),
      },
    );
    for (let n = 1; n <= 5; n += 1) {
      progress.observe({ type: 'fetched', call: `${n}`, done: n, of: 9, saved: false, tokens: 1, finish: 0 });
      clock.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await progress.finish()).toMatchObject({ calls: { made: 5 } });
    expect(tells).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(failures).toHaveLength(1);
  });
});
