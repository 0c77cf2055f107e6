import { describe, expect, it } from 'vitest';
import { snapshotLines } from '../../../src/cli/terminal/run-snapshot-lines.ts';
import { INITIAL_RUN_FIELDS, type MutableRunFields } from '../../../src/queue/runs/stored-record.ts';
import type { LiveProgress, RunSnapshot } from '../../../src/run/live-progress.ts';
import { anOrder } from '../../support/queue-harness.ts';

const order = anOrder();
const news = (change: Partial<MutableRunFields>, live: Partial<LiveProgress> | null = null): RunSnapshot => ({
  record: { ...order, ...INITIAL_RUN_FIELDS, ...change },
  live:
    live === null ? null : { stage: 'fetch', done: 0, of: 0, tokens: null, ahead: null, finish: null, at: 0, ...live },
});

/** The text without the name of the report. */
const textOf = ({ text }: { readonly text: string }) => text.replace(/^acme\/weekly +/, '');

describe('the lines of a watched run', () => {
  it('show each change once', () => {
    const seen: RunSnapshot[] = [
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
    const lines = seen.map((each, index) => snapshotLines(seen[index - 1], each, 1_000).map(textOf));
    const expected = [
      [/^queue /],
      [/^start .*1$/],
      [/^plan .*3 calls/, /^call +1\/3, 12 tokens .* 20 s$/],
      [/^wait .*4 ahead.* 20 s$/],
      [/^render /, /^call +3\/3$/],
      [/^deliver /, /^deliver +sent +0-email → a@acme\.example$/],
      [/^finished +done, 2 .* 1 /],
    ];
    expect(lines).toEqual(expected.map((each) => each.map((text) => expect.stringMatching(text))));
    for (const each of seen) expect(snapshotLines(each, each, 1_000)).toEqual([]);
  });

  it('show why a run waits, who cancelled it, and its error', () => {
    const error = { code: 'api.unavailable', message: 'Not now.' } as const;
    const waiting = news({ state: 'waiting', until: 31_000, error });
    const linesBetween = (before: RunSnapshot | undefined, after: RunSnapshot) =>
      snapshotLines(before, after, 1_000).map(textOf);
    expect(linesBetween(undefined, waiting)).toEqual([expect.stringMatching(/^snooze +30 s: Not now\.$/)]);
    const cancelled = news({ state: 'waiting', until: 31_000, error, cancel: { by: 'ada', reason: 'wrong', at: 1 } });
    expect(linesBetween(waiting, cancelled)).toEqual([expect.stringMatching(/^cancel .* ada: wrong$/)]);
    expect(linesBetween(cancelled, news({ state: 'failed', error }))).toEqual([
      expect.stringMatching(/^finished +failed: .*\[api\.unavailable\]$/),
    ]);
  });
});
