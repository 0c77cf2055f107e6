import progress from 'cli-progress';
import type { CommandIo } from '../io.ts';
import { isTerminal, terminalWidth } from './style.ts';
import { cutEnd, cutReport } from './table/cell-width.ts';
import { wrapText } from './wrap.ts';

export interface ProgressBar {
  /**
   * @param total 0 while it is not known
   * @param label behind the bar; a function is called at each redraw, for countdowns
   */
  set(done: number, total: number, label: string | (() => string)): void;
}

/** Progress bars at the bottom of a terminal. */
export interface ProgressBars {
  /** False when stderr is not a terminal: bars draw nothing, and progress has to be printed as lines. */
  readonly isVisible: boolean;
  add(name: string): ProgressBar;
  /** Prints a line above the bars. */
  printLine(line: string): void;
  /** Clears the bars and shows the cursor. Later changes are not drawn. */
  close(): void;
}

const BAR_WIDTH = 24;
/** Cells; a third of the line if that is more. */
const MIN_NAME_WIDTH = 16;
const FILLED_CELL = '█';
const EMPTY_CELL = '░';
const CLEAR_RIGHT = '\u001B[K';

interface BarPayload {
  readonly name: string;
  readonly label: string | (() => string);
}

/**
 * Bars on stderr. In a pipe, a file and on a `dumb` terminal nothing is drawn, and `printLine` writes plain lines. On SIGINT
 * and SIGTERM the bars are cleared before the command stops.
 */
export function openProgressBars({
  stderr: stream,
  env,
  signals,
}: Pick<CommandIo, 'stderr' | 'env' | 'signals'>): ProgressBars {
  const printLine = (line: string) => void stream.write(`${line}\n`);
  if (!isTerminal(stream, env)) return { isVisible: false, add: () => ({ set: () => {} }), printLine, close: () => {} };

  const bars = new progress.MultiBar({
    stream,
    format: (_, { progress: ratio, maxWidth }, payload: BarPayload) => formatBar(ratio, maxWidth, payload),
    fps: 5,
    clearOnComplete: true,
    hideCursor: true,
    // Never `ESC[?7l`: a process that is killed would leave a terminal that truncates long lines.
    linewrap: true,
    emptyOnZero: true,
    // A printed line scrolls the bars away; unchanged bars must be drawn again as well.
    forceRedraw: true,
  });
  let open = true;
  const wrapped = (line: string) => wrapText(line, terminalWidth(stream, env));
  const close = () => {
    open = false;
    removeListener();
    if (!bars.isActive) return;
    // Pending lines are written with the next redraw, which is this one.
    bars.update();
    bars.stop();
  };
  const removeListener = signals.beforeStop(close);
  return {
    isVisible: true,
    add: (name) => {
      if (!open) return { set: () => {} };
      const bar = bars.create(0, 0, { name, label: '' } satisfies BarPayload);
      return {
        set: (done, total, label) => {
          bar.setTotal(total);
          bar.update(done, { name, label } satisfies BarPayload);
        },
      };
    },
    printLine: (line) => {
      // The library clears one line before it writes; the rest of another bar may be on it.
      if (bars.isActive) bars.log(`${wrapped(line).replaceAll('\n', `${CLEAR_RIGHT}\n`)}${CLEAR_RIGHT}\n`);
      else printLine(wrapped(line));
    },
    close,
  };
}

/** One column stays free: a terminal wraps when its last column is written. */
const formatBar = (ratio: number, width: number, { name, label }: BarPayload): string => {
  const filled = Math.round(ratio * BAR_WIDTH);
  const text = typeof label === 'string' ? label : label();
  const shortName = cutReport(name, Math.max(MIN_NAME_WIDTH, Math.floor(width / 3)));
  const bar = `${FILLED_CELL.repeat(filled)}${EMPTY_CELL.repeat(BAR_WIDTH - filled)}`;
  return cutEnd(`${shortName}  ${bar}  ${text}`, width - 1);
};
