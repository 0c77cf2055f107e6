import type { OnRunEvent } from '../../run/run-events.ts';
import type { ProgressBars } from './progress-bar.ts';
import { eventLines } from './run-event-lines.ts';
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
