import { formatByteCount, formatCounted, formatElapsed } from '../../admin/page/components/format-numbers.ts';
import { NOTICE_TARGET } from '../../deliver/ledger/ledger.ts';
import type { OnRunEvent, RunEvent } from '../../run/run-events.ts';
import { groupFiles } from './output-groups.ts';
import type { ProgressBars } from './progress-bar.ts';
import { formatSecondsUntil } from './run-snapshot-lines.ts';

/** @param options.ending whether the end of the run is also a line; false if its result follows */
export interface RunProgressOptions {
  readonly ending?: boolean;
}

/** Shows a run's progress with one line per stage. On a terminal, calls and waits for tokens are a bar. */
export function showRunProgress(
  report: string,
  bars: ProgressBars,
  now: () => number,
  options: RunProgressOptions = {},
): OnRunEvent {
  const inLines = stageLines(report, bars, now, options);
  if (!bars.isVisible) return inLines;
  const inSeconds = (at: number) => formatSecondsUntil(at, now());
  const bar = bars.add(report);
  let [done, total] = [0, 0];
  const show = (label: string | (() => string)) => bar.set(done, total, label);
  show('planning');
  return (event) => {
    inLines(event);
    switch (event.type) {
      case 'planned':
        total = event.calls;
        return show(`0/${total} calls`);
      case 'waiting':
        return show(
          () => `${done}/${total} calls, no token free (${event.ahead} ahead), expected in ${inSeconds(event.until)}`,
        );
      case 'fetched': {
        ({ done, of: total } = event);
        const tokens = event.tokens === null ? '' : `, ${event.tokens} tokens left`;
        return show(
          done === total ? 'rendering' : () => `${done}/${total} calls${tokens}, finish in ${inSeconds(event.finish)}`,
        );
      }
      case 'snoozed':
        return show(() => `waiting ${inSeconds(event.until)}: ${event.why}`);
      case 'finished':
        return show(event.state.replaceAll('_', ' '));
      default:
        return;
    }
  };
}

/** Minimum ms between two lines about calls that wait for tokens. A bar shows each wait. */
const WAIT_LINE_INTERVAL_MS = 30_000;

/** Prints a line at the end of each stage, with what it did. */
function stageLines(
  report: string,
  { isVisible, printLine }: ProgressBars,
  now: () => number,
  { ending = true }: RunProgressOptions,
): OnRunEvent {
  const line = (label: string, text: string) => printLine(`${report}  ${label.padEnd(9)} ${text}`);
  const inSeconds = (at: number) => formatSecondsUntil(at, now());
  const calls = { done: 0, of: 0, cached: 0 };
  const files: { readonly name: string; readonly bytes: number }[] = [];
  const delivered: DeliveredEvent[] = [];
  let renderMs = 0;
  let lastWaitAt = Number.NEGATIVE_INFINITY;
  return (event) => {
    switch (event.type) {
      case 'planned':
        calls.of = event.calls;
        return line('plan', `${formatCounted(event.calls, 'call')} for ${formatCounted(event.sections, 'section')}`);
      case 'waiting':
        if (isVisible || now() - lastWaitAt < WAIT_LINE_INTERVAL_MS) return;
        lastWaitAt = now();
        return line(
          'wait',
          `${calls.done}/${calls.of} calls, no token free (${event.ahead} ahead), expected in ${inSeconds(event.until)}`,
        );
      case 'fetched':
        calls.done = event.done;
        calls.of = event.of;
        if (event.saved) calls.cached += 1;
        return;
      case 'rendered':
        // Files are reported all at once after archiving, so one line describes them when the last one is known.
        if (files.length === 0)
          queueMicrotask(() => line('render', `${formatFiles(files)}, ${formatElapsed(renderMs)}`));
        files.push(event);
        return;
      case 'delivered':
        // Notices are not deliveries of the report.
        if (event.target !== NOTICE_TARGET) delivered.push(event);
        return;
      case 'snoozed':
        return line('snooze', `${inSeconds(event.until)}: ${event.why}`);
      case 'timed': {
        const took = formatElapsed(event.ms);
        if (event.stage === 'fetch') line('fetch', `${formatCalls(calls)}, ${took}`);
        if (event.stage === 'render') renderMs = event.ms;
        if (event.stage === 'deliver' && delivered.length > 0) line('deliver', `${countStates(delivered)}, ${took}`);
        return;
      }
      case 'finished':
        if (!ending) return;
        return line(
          'finished',
          `${event.state.replaceAll('_', ' ')}${event.error === undefined ? '' : `: ${event.error.message} [${event.error.code}]`}`,
        );
      default:
        return;
    }
  };
}

type DeliveredEvent = Extract<RunEvent, { type: 'delivered' }>;

const formatCalls = ({ done, of, cached }: { readonly done: number; readonly of: number; readonly cached: number }) =>
  `${done === of ? formatCounted(of, 'call') : `${done} of ${formatCounted(of, 'call')}`}${cached === 0 ? '' : `, ${cached} cached`}`;

/** `1 XLSX file, 14 CSV files (112 KB)`. */
const formatFiles = (files: readonly { readonly name: string; readonly bytes: number }[]): string => {
  const groups = groupFiles(files).map(({ kind, files: own }) => formatCounted(own.length, `${kind} file`));
  return `${groups.join(', ')} (${formatByteCount(files.reduce((sum, { bytes }) => sum + bytes, 0))})`;
};

/** `38 sent, 2 unknown`, from the last state of each recipient. */
function countStates(events: readonly DeliveredEvent[]): string {
  const last = new Map(events.map(({ target, recipient, state }) => [`${target} ${recipient}`, state]));
  const counts = new Map<string, number>();
  for (const state of last.values()) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(', ');
}
