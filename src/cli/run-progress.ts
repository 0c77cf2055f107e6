import type { Observe } from '../run/event.ts';
import { progress } from '../run/progress.ts';
import type { Bars } from './progress-bar.ts';

/**
 * How a run looks while it goes on. Where nobody looks, a line an event; on a terminal, calls and waits for tokens are one bar
 * that moves, and the rest stays lines.
 */
export function watchRun(report: string, bars: Bars, now: () => number): Observe {
  const inLines = progress(report, bars.say, now);
  if (!bars.drawn) return inLines;
  const inSeconds = (at: number) => `${Math.max(0, Math.ceil((at - now()) / 1000))} s`;
  const bar = bars.add(report);
  let [done, of] = [0, 0];
  const show = (what: string | (() => string)) => bar.set(done, of, what);
  show('planning');
  return (event) => {
    switch (event.type) {
      case 'planned':
        of = event.calls;
        show(`0/${of} calls`);
        return inLines(event);
      case 'waiting':
        return show(
          () => `${done}/${of} calls, no token free (${event.ahead} ahead), expected in ${inSeconds(event.until)}`,
        );
      case 'fetched': {
        ({ done, of } = event);
        const tokens = event.tokens === null ? '' : `, ${event.tokens} tokens left`;
        return show(
          done === of ? 'making the files' : () => `${done}/${of} calls${tokens}, finish in ${inSeconds(event.finish)}`,
        );
      }
      case 'snoozed':
        return show(() => `sleeps ${inSeconds(event.until)}: ${event.why}`);
      case 'finished':
        show(event.state.replaceAll('_', ' '));
        return inLines(event);
      default:
        return inLines(event);
    }
  };
}
