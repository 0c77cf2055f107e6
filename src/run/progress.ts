import type { Observe } from './event.ts';

/** How a run looks to somebody who watches it: one line an event, with the tokens left and the expected finish. */
export function progress(report: string, say: (line: string) => void, now: () => number): Observe {
  const line = (text: string) => say(`${report}  ${text}`);
  const inSeconds = (at: number) => `${Math.max(0, Math.ceil((at - now()) / 1000))} s`;
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
          ? 'saved answer, no token'
          : event.tokens === null
            ? 'no token needed'
            : `${event.tokens} tokens left`;
        return line(`call      ${event.done}/${event.of}, ${tokens}, finish in ${inSeconds(event.finish)}`);
      }
      case 'rendered':
        // Each CSV file has one beside it.
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
