import { describe, expect, it } from 'vitest';
import { recordProgress } from '../../src/queue/progress.ts';
import { NOT_STARTED, type RunProgress } from '../../src/queue/stored-record.ts';
import { manualClock } from '../support/manual-clock.ts';
import { anOrder } from '../support/queue-bench.ts';

describe('the progress of a run', () => {
  const watched = (before: Partial<RunProgress> = {}) => {
    const clock = manualClock(1_000_000);
    const written: Partial<RunProgress>[] = [];
    const progress = recordProgress(
      { update: async (_, change) => void written.push(change) },
      { ...anOrder(), ...NOT_STARTED, ...before },
      { clock, failed: () => {} },
    );
    const wait = (call: string, forMs: number) =>
      progress.observe({ type: 'waiting', call, until: clock.now() + forMs, ahead: 1, tokens: 0 });
    return { clock, written, progress, wait };
  };

  it('adds up the time of each stage over all tries', async () => {
    const { progress } = watched({ timings: { plan: 5, fetch: 100 } });
    progress.observe({ type: 'timed', stage: 'fetch', ms: 20.4 });
    progress.observe({ type: 'timed', stage: 'render', ms: 7 });
    expect((await progress.ended()).timings).toEqual({ plan: 5, fetch: 120, render: 7 });
  });

  it('counts the time once in which several calls wait for their tokens', async () => {
    const { clock, progress, wait } = watched({ tokenWaitMs: 500 });
    wait('a', 60_000);
    clock.advance(1_000);
    wait('b', 60_000);
    clock.advance(1_000);
    progress.observe({ type: 'granted', call: 'a' });
    clock.advance(1_000);
    progress.observe({ type: 'granted', call: 'b' });
    clock.advance(9_000);
    expect((await progress.ended()).tokenWaitMs).toBe(3_500);
  });

  it('counts the sleep until the first token that it goes to sleep for', async () => {
    const { clock, progress, wait } = watched();
    wait('a', 60_000);
    wait('b', 90_000);
    clock.advance(10_000);
    expect((await progress.ended()).tokenWaitMs).toBe(60_000);
  });

  it('writes at most twice a second, and nothing of a run that is over by then', async () => {
    const { clock, written, progress } = watched();
    const fetched = () =>
      progress.observe({ type: 'fetched', call: 'a', done: 1, of: 9, saved: false, tokens: 1, finish: 0 });
    for (let n = 0; n < 50; n += 1) fetched();
    expect(written).toEqual([]);
    clock.advance(500);
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toMatchObject([{ calls: { made: 50 } }]);
    fetched();
    expect(await progress.ended()).toMatchObject({ calls: { made: 51 } });
    expect(written).toHaveLength(1);
  });
});
