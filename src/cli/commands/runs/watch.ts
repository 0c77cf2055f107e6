import type { AppContext } from '../../../base/context.ts';
import { DocketError } from '../../../base/error.ts';
import { DAY_MS } from '../../../base/time.ts';
import { redisLiveProgress } from '../../../queue/runs/live-progress.ts';
import { DEFAULT_KEY_PREFIX } from '../../../redis/keys.ts';
import type { RunSnapshot } from '../../../run/live-progress.ts';
import { type RunRecord, TERMINAL_STATES, WAITING_STATES } from '../../../run/run-record.ts';
import { watchRun } from '../../../services/runs/watch-run.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { parseDurationOption } from '../../options/option-parsers.ts';
import { expandRunId } from '../../options/run-id.ts';
import { withRedis } from '../../redis.ts';
import { deliveryLines } from '../../terminal/delivery-groups.ts';
import { formatFileGroup, groupFiles } from '../../terminal/output-groups.ts';
import { createPrinter } from '../../terminal/print.ts';
import { openProgressBars, type ProgressBar, type ProgressBars } from '../../terminal/progress-bar.ts';
import { formatSecondsUntil, snapshotLines } from '../../terminal/run-snapshot-lines.ts';
import { isTerminal } from '../../terminal/style.ts';

interface WatchFlags {
  readonly timeout?: string;
  readonly json?: boolean;
}

export async function watch(text: string, flags: WatchFlags, io: CommandIo): Promise<void> {
  const timeoutMs =
    flags.timeout === undefined ? undefined : parseDurationOption('--timeout', flags.timeout, { maxMs: 7 * DAY_MS });
  const context = await createContext(io);
  const id = await expandRunId(context, text);
  printRunResult(await followRun(id, context, timeoutMs, io), flags.json ?? false, io);
}

/**
 * Shows the progress of a queued run on stderr until it ends, and returns its final record.
 *
 * Throws `run.not_found`, `redis.unreachable`, and `run.unfinished` if a signal or the timeout comes first.
 *
 * @param timeoutMs undefined: no timeout
 */
export const followRun = (
  id: string,
  context: AppContext,
  timeoutMs: number | undefined,
  io: CommandIo,
): Promise<RunRecord> =>
  withRedis(context, async (redis) => {
    const { clock } = context;
    const stopped = io.signals.stop();
    const timeout = new AbortController();
    if (timeoutMs !== undefined) {
      clock.sleep(timeoutMs, timeout.signal).then(
        () => timeout.abort(new Error(`It timed out after ${timeoutMs / 1000} s.`)),
        () => {},
      );
    }
    const bars = openProgressBars(io);
    try {
      const signal = AbortSignal.any([stopped, timeout.signal]);
      const live = redisLiveProgress(redis, { prefix: DEFAULT_KEY_PREFIX });
      const show = createRunDisplay(bars, () => clock.now());
      let last: RunSnapshot | undefined;
      for await (const snapshot of watchRun(id, signal, { live, clock })) {
        show(last, snapshot);
        last = snapshot;
      }
      if (last === undefined || !TERMINAL_STATES.has(last.record.state))
        throw unfinishedError(id, signal.reason, last?.record);
      return last.record;
    } finally {
      bars.close();
      timeout.abort(null);
    }
  });

/** Prints progress as lines. On a terminal, the calls are a bar instead. */
function createRunDisplay(bars: ProgressBars, now: () => number) {
  let bar: ProgressBar | undefined;
  return (before: RunSnapshot | undefined, snapshot: RunSnapshot): void => {
    for (const { of, text } of snapshotLines(before, snapshot, now()))
      if (of === 'run' || !bars.isVisible) bars.printLine(text);
    if (!bars.isVisible) return;
    const { record, live } = snapshot;
    bar ??= bars.add(`${record.org}/${record.report}`);
    bar.set(live?.done ?? record.calls.made + record.calls.saved, live?.of ?? record.calls.planned, () =>
      formatProgress(snapshot, now()),
    );
  };
}

const STAGE_LABELS = { plan: 'planning', render: 'rendering', deliver: 'delivering' } as const;

function formatProgress({ record, live }: RunSnapshot, now: number): string {
  if (record.state === 'waiting') return `waiting ${formatSecondsUntil(record.until ?? now, now)}`;
  if (live === null) return record.state.replaceAll('_', ' ');
  if (live.stage !== 'fetch') return STAGE_LABELS[live.stage];
  const finish = live.finish === null ? '' : `, finish in ${formatSecondsUntil(live.finish, now)}`;
  const left = live.tokens === null ? '' : `, ${live.tokens} tokens left`;
  const tokens = live.ahead === null ? left : `, no token free (${live.ahead} ahead)`;
  return `${live.done}/${live.of} calls${tokens}${finish}`;
}

const unfinishedError = (id: string, reason: unknown, record: RunRecord | undefined): DocketError =>
  new DocketError(
    'run.unfinished',
    `The run is no longer watched. ${reason instanceof Error ? reason.message : 'It was stopped.'}`,
    {
      expected: 'the run to end before that',
      ...(record === undefined ? {} : { got: `a run in state ${record.state}` }),
      next: `The run continues. \`docket runs watch ${id}\` watches it again, \`docket runs cancel ${id} --reason …\` stops it.`,
    },
  );

/** Prints the result and sets the exit code: 0 done, 1 failed or cancelled, 3 waits for people or partly delivered. */
export function printRunResult(record: RunRecord, json: boolean, io: CommandIo): void {
  const print = createPrinter(io);
  if (json) print.printJson(record);
  else print.printText(formatRunResult(record));
  if (!json) printRunCommands(record, io);
  const { state } = record;
  io.exitCode = state === 'done' ? 0 : WAITING_STATES.has(state) || state === 'partly_delivered' ? 3 : 1;
}

function printRunCommands({ id, state, files }: RunRecord, io: CommandIo): void {
  const print = createPrinter(io);
  // A pipe gets the same line as in earlier versions, with the full id.
  if (!isTerminal(io.stdout, io.env)) {
    print.printLine(`  docket runs show ${id}${files.length === 0 ? '' : `, docket runs get ${id}`}`);
    return;
  }
  const shortId = id.slice(0, 8);
  print.printNext([
    {
      command: `docket runs show ${shortId}`,
      why: state === 'done' ? 'shows what happened, and who got it' : 'shows why, and what to do',
    },
    ...(files.length === 0 ? [] : [{ command: `docket runs get ${shortId}`, why: 'copies its files' }]),
  ]);
}

const formatRunResult = ({ org, report, period, state, calls, files, deliveries, error }: RunRecord): string =>
  [
    `${org}/${report} ${period.label}: ${state.replaceAll('_', ' ')}, ${calls.made} API calls`,
    ...groupFiles(files).map((group) => `  ${formatFileGroup(group)}`),
    ...deliveryLines(deliveries).map((line) => `  ${line}`),
    ...(error === null ? [] : [`  ${error.message} [${error.code}]`]),
  ].join('\n');
