import { describe, expect, it } from 'vitest';
import { NOT_STARTED, type RunProgress } from '../../src/queue/stored-record.ts';
import type { RunLive, RunNews } from '../../src/run/live.ts';
import { newsLines } from '../../src/run/news-lines.ts';
import { anOrder } from '../support/queue-bench.ts';

const order = anOrder();
const news = (change: Partial<RunProgress>, live: Partial<RunLive> | null = null): RunNews => ({
  record: { ...order, ...NOT_STARTED, ...change },
  live:
    live === null ? null : { stage: 'fetch', done: 0, of: 0, tokens: null, ahead: null, finish: null, at: 0, ...live },
});

describe('the lines of a run that is watched', () => {
  it('tell what is new of each look, and nothing twice', () => {
    const seen: RunNews[] = [
      news({}),
      news({ state: 'running', starts: 1, attempts: 1 }),
      news({ state: 'running', starts: 1, attempts: 1 }, { done: 1, of: 3, tokens: 12, finish: 21_000 }),
      news({ state: 'running', starts: 1, attempts: 1 }, { done: 1, of: 3, tokens: 0, ahead: 4, finish: 21_000 }),
      news({ state: 'running', starts: 1, attempts: 1 }, { stage: 'render', done: 3, of: 3 }),
      news(
        {
          state: 'running',
          starts: 1,
          attempts: 1,
          deliveries: [{ target: '0-email', recipient: 'a@acme.example', state: 'sent', detail: '250 OK' }],
        },
        { stage: 'deliver', done: 3, of: 3 },
      ),
      news({
        state: 'done',
        starts: 1,
        attempts: 1,
        calls: { planned: 3, made: 2, saved: 1 },
        deliveries: [{ target: '0-email', recipient: 'a@acme.example', state: 'sent', detail: '250 OK' }],
      }),
    ];
    const lines = seen.map((each, index) => newsLines(seen[index - 1], each, 1_000).map(({ text }) => text));
    const line = (text: string) => `acme/weekly  ${text}`;
    expect(lines).toEqual([
      [line('queue     waits for a worker')],
      [line('start     try 1')],
      [line('plan      3 calls'), line('call      1/3, 12 tokens left, finish in 20 s')],
      [line('wait      no token free (4 ahead), finish in 20 s')],
      [line('render    the files are being made'), line('call      3/3')],
      [line('deliver   the files are on their way'), line('deliver   0-email → a@acme.example: sent (250 OK)')],
      [line('finished  done, 2 calls made, 1 answers kept')],
    ]);
    for (const each of seen) expect(newsLines(each, each, 1_000)).toEqual([]);
  });

  it('tell why it sleeps, who stops it, and why it ended', () => {
    const error = { code: 'api.unavailable', message: 'Not now.' } as const;
    const waiting = news({ state: 'waiting', until: 31_000, error });
    expect(newsLines(undefined, waiting, 1_000)).toEqual([
      { of: 'run', text: 'acme/weekly  snooze    30 s: Not now.' },
    ]);
    const told = news({ state: 'waiting', until: 31_000, error, cancel: { by: 'ada', reason: 'wrong', at: 1 } });
    expect(newsLines(waiting, told, 1_000)).toEqual([
      { of: 'run', text: 'acme/weekly  cancel    told to stop by ada: wrong' },
    ]);
    expect(newsLines(told, news({ state: 'failed', error }), 1_000)).toEqual([
      { of: 'run', text: 'acme/weekly  finished  failed: Not now. [api.unavailable]' },
    ]);
  });
});
