import type { OnRunEvent } from '../../run/run-events.ts';
import type { ProgressBars } from './progress-bar.ts';
import { formatSecondsUntil } from './run-snapshot-lines.ts';

/** Shows a run's progress: one line per event; on a terminal, calls and waits for tokens are a bar. */
export function showRunProgress(report: string, bars: ProgressBars, now: () => number): OnRunEvent {
  const inLines = eventLines(report, bars.printLine, now);
  if (!bars.isVisible) return inLines;
  const inSeconds = (at: number) => formatSecondsUntil(at, now());
  const bar = bars.add(report);
  let [done, total] = [0, 0];
  const show = (label: string | (() => string)) => bar.set(done, total, label);
  show('planning');
  return (event) => {
    switch (event.type) {
      case 'planned':
        total = event.calls;
        show(`0/${total} calls`);
        return inLines(event);
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
        show(event.state.replaceAll('_', ' '));
        return inLines(event);
      default:
        return inLines(event);
    }
  };
}

/** Prints one line per event, with the free tokens and the expected finish. */
function eventLines(report: string, printLine: (line: string) => void, now: () => number): OnRunEvent {
  const line = (text: string) => printLine(`${report}  ${text}`);
  const inSeconds = (at: number) => formatSecondsUntil(at, now());
  return (event) => {
    switch (event.type) {
      case 'planned':
        return line(`plan      ${event.calls} calls for ${event.sections} sections`);
      case 'waiting':
        return line(`wait      no token free (${event.ahead} ahead), expected in ${inSeconds(event.until)}`);
      case 'granted':
      case 'begun':
      case 'timed':
      case 'waited':
        return;
      case 'fetched': {
        const tokens = event.saved
          ? 'cached, no token'
          : event.tokens === null
            ? 'no token needed'
            : `${event.tokens} tokens left`;
        return line(`call      ${event.done}/${event.of}, ${tokens}, finish in ${inSeconds(event.finish)}`);
      }
      case 'rendered':
        // One per CSV file.
        if (event.name.endsWith('.schema.json')) return;
        return line(`render    ${event.name} (${formatBytes(event.bytes)})`);
      case 'delivered':
        return line(
          `deliver   ${event.target} → ${event.recipient}: ${event.state}${event.detail === null ? '' : ` (${event.detail})`}`,
        );
      case 'snoozed':
        return line(`snooze    ${inSeconds(event.until)}: ${event.why}`);
      case 'finished':
        return line(
          `finished  ${event.state}${event.error === undefined ? '' : `: ${event.error.message} [${event.error.code}]`}`,
        );
    }
  };
}

function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)} MB`;
}
