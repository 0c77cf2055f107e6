import type { OnRunEvent } from '../../run/run-events.ts';
import { formatSecondsUntil } from './run-snapshot-lines.ts';

/** Prints one line per event, with the free tokens and the expected finish. */
export function eventLines(report: string, printLine: (line: string) => void, now: () => number): OnRunEvent {
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

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)} MB`;
}
