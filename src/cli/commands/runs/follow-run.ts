import type { AppContext } from '../../../base/context.ts';
import { DocketError } from '../../../base/error.ts';
import { redisLiveProgress } from '../../../queue/runs/live-progress.ts';
import { openRedis } from '../../../redis/connection.ts';
import { DEFAULT_KEY_PREFIX } from '../../../redis/keys.ts';
import type { RunSnapshot } from '../../../run/live-progress.ts';
import { type RunRecord, TERMINAL_STATES } from '../../../run/run-record.ts';
import { watchRun } from '../../../services/runs/watch-run.ts';
import { abortOnSignal } from '../../context.ts';
import { printJson, printLine } from '../../terminal/print.ts';
import { openProgressBars } from '../../terminal/progress-bar.ts';
import { snapshotLines } from '../../terminal/run-snapshot-lines.ts';

/**
 * Follows a run that workers make, on stderr, until it has ended; the record as it is then.
 *
 * Throws `run.not_found`, `redis.unreachable`, and `run.unfinished` when it was stopped before, by a signal or its time.
 *
 * @param timeoutMs undefined: however long it takes
 */
export async function followRun(
  id: string,
  { config, clock, log }: AppContext,
  timeoutMs: number | undefined,
): Promise<RunRecord> {
  const redis = await openRedis(config.REDIS_URL, 'producer', log);
  const stopped = abortOnSignal();
  const over = new AbortController();
  if (timeoutMs !== undefined) {
    clock.sleep(timeoutMs, over.signal).then(
      () => over.abort(new Error(`Its time of ${timeoutMs / 1000} s is up.`)),
      () => {},
    );
  }
  const bars = openProgressBars();
  try {
    const signal = AbortSignal.any([stopped, over.signal]);
    const live = redisLiveProgress(redis, { prefix: DEFAULT_KEY_PREFIX });
    const show = createRunDisplay(bars, () => clock.now());
    let last: RunSnapshot | undefined;
    for await (const news of watchRun(id, signal, { live, clock })) {
      show(last, news);
      last = news;
    }
    if (last === undefined || !TERMINAL_STATES.has(last.record.state))
      throw unfinishedError(id, signal.reason, last?.record);
    return last.record;
  } finally {
    bars.close();
    over.abort(null);
    redis.disconnect();
  }
}

/** Lines, and on a terminal a bar for the calls. */
function createRunDisplay(bars: ReturnType<typeof openProgressBars>, now: () => number) {
  let bar: ReturnType<typeof bars.add> | undefined;
  return (before: RunSnapshot | undefined, news: RunSnapshot): void => {
    for (const { of, text } of snapshotLines(before, news, now()))
      if (of === 'run' || !bars.isVisible) bars.printLine(text);
    if (!bars.isVisible) return;
    const { record, live } = news;
    bar ??= bars.add(`${record.org}/${record.report}`);
    bar.set(live?.done ?? record.calls.made + record.calls.saved, live?.of ?? record.calls.planned, () =>
      formatProgress(news, now()),
    );
  };
}

function formatProgress({ record, live }: RunSnapshot, now: number): string {
  const inSeconds = (at: number) => `${Math.max(0, Math.ceil((at - now) / 1000))} s`;
  if (record.state === 'waiting') return `sleeps ${inSeconds(record.until ?? now)}`;
  if (live === null) return record.state.replaceAll('_', ' ');
  if (live.stage !== 'fetch')
    return { plan: 'planning', render: 'making the files', deliver: 'delivering' }[live.stage];
  const finish = live.finish === null ? '' : `, finish in ${inSeconds(live.finish)}`;
  const tokens =
    live.ahead === null
      ? live.tokens === null
        ? ''
        : `, ${live.tokens} tokens left`
      : `, no token free (${live.ahead} ahead)`;
  return `${live.done}/${live.of} calls${tokens}${finish}`;
}

const unfinishedError = (id: string, reason: unknown, record: RunRecord | undefined): DocketError =>
  new DocketError(
    'run.unfinished',
    `The run is not watched any more. ${reason instanceof Error ? reason.message : 'It was stopped.'}`,
    {
      expected: 'an end of the run before',
      ...(record === undefined ? {} : { got: `a run in state ${record.state}` }),
      next: `It goes on by itself. \`docket runs watch ${id}\` watches it again, \`docket runs cancel ${id}\` stops it.`,
    },
  );

/** Prints how a run ended, and sets the exit code: 0 done, 1 failed or cancelled, 3 held or partly delivered. */
export function printRunResult(record: RunRecord, json: boolean): void {
  if (json) printJson(record);
  else printLine(summaryOf(record));
  const { state } = record;
  process.exitCode = state === 'done' ? 0 : state === 'held' || state === 'partly_delivered' ? 3 : 1;
}

const summaryOf = ({ org, report, period, state, calls, files, deliveries, error, id }: RunRecord): string =>
  [
    `${org}/${report} ${period.label}: ${state.replaceAll('_', ' ')}, ${calls.made} API calls`,
    ...files.map(({ name, bytes }) => `  ${name} (${bytes} bytes)`),
    ...deliveries.map(
      ({ target, recipient, state: came, detail }) =>
        `  ${target} → ${recipient}: ${came}${detail === null || came === 'sent' ? '' : ` (${detail})`}`,
    ),
    ...(error === null ? [] : [`  ${error.message} [${error.code}]`]),
    `  docket runs show ${id}${files.length === 0 ? '' : `, docket runs get ${id}`}`,
  ].join('\n');
