import { DocketError } from '../base/error.ts';
import type { Surroundings } from '../compose/ports.ts';
import { openRedis } from '../queue/connection.ts';
import { DEFAULT_PREFIX } from '../queue/keys.ts';
import { redisLive } from '../queue/live.ts';
import { watchRun } from '../queue/watch.ts';
import type { RunNews } from '../run/live.ts';
import { newsLines } from '../run/news-lines.ts';
import { ENDED, type RunRecord } from '../run/record.ts';
import { printJson, printLine } from './print.ts';
import { openBars } from './progress-bar.ts';
import { abortOnSignal } from './surroundings.ts';

/**
 * Follows a run that workers make, on stderr, until it has ended; the record as it is then.
 *
 * Throws `run.not_found`, `redis.unreachable`, and `run.unfinished` when it was stopped before, by a signal or its time.
 *
 * @param timeoutMs undefined: however long it takes
 */
export async function followRun(
  id: string,
  { config, clock, log }: Surroundings,
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
  const bars = openBars();
  try {
    const signal = AbortSignal.any([stopped, over.signal]);
    const live = redisLive(redis, { prefix: DEFAULT_PREFIX });
    const show = showing(bars, () => clock.now());
    let last: RunNews | undefined;
    for await (const news of watchRun(id, signal, { live, clock })) {
      show(last, news);
      last = news;
    }
    if (last === undefined || !ENDED.has(last.record.state)) throw unfinished(id, signal.reason, last?.record);
    return last.record;
  } finally {
    bars.close();
    over.abort(null);
    redis.disconnect();
  }
}

/** Lines, and on a terminal a bar for the calls. */
function showing(bars: ReturnType<typeof openBars>, now: () => number) {
  let bar: ReturnType<typeof bars.add> | undefined;
  return (before: RunNews | undefined, news: RunNews): void => {
    for (const { of, text } of newsLines(before, news, now())) if (of === 'run' || !bars.drawn) bars.say(text);
    if (!bars.drawn) return;
    const { record, live } = news;
    bar ??= bars.add(`${record.org}/${record.report}`);
    bar.set(live?.done ?? record.calls.made + record.calls.saved, live?.of ?? record.calls.planned, () =>
      inWords(news, now()),
    );
  };
}

function inWords({ record, live }: RunNews, now: number): string {
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

const unfinished = (id: string, reason: unknown, record: RunRecord | undefined): DocketError =>
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
export function showEnd(record: RunRecord, json: boolean): void {
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
