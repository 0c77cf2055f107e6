import progress from 'cli-progress';
import type { CommandIo } from '../io.ts';
import { isTerminal, terminalWidth } from './style.ts';
import { cutEnd, cutReport } from './table/cell-width.ts';
import { wrapText } from './wrap.ts';

export interface ProgressBar {
  /**
   * @param total 0 while it is unknown
   * @param label after the bar; a function is called at each redraw, for countdowns
   */
  set(done: number, total: number, label: string | (() => string)): void;
}

/** Progress bars at the bottom of a terminal. */
export interface ProgressBars {
  /** False if stderr is not a terminal. Bars then draw nothing, and progress must be printed as lines. */
  readonly isVisible: boolean;
  add(name: string): ProgressBar;
  /** Prints a line above the bars. */
  printLine(line: string): void;
  /** Clears the bars and shows the cursor. Later changes are not drawn. */
  close(): void;
}

const BAR_WIDTH = 24;
/** Minimum width in cells. A third of the line if that is more. */
const MIN_NAME_WIDTH = 16;
const FILLED_CELL = '█';
const EMPTY_CELL = '░';
const CLEAR_RIGHT = '\u001B[K';

interface BarPayload {
  readonly name: string;
  readonly label: string | (() => string);
}

/**
 * Draws bars on stderr. In a pipe, a file or a `dumb` terminal it draws nothing, and `printLine` writes plain lines. On
 * SIGINT and SIGTERM, clears the bars before the command stops.
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
    // Never use `ESC[?7l`: a killed process would leave behind a terminal that truncates long lines.
    linewrap: true,
    emptyOnZero: true,
    // A printed line scrolls the bars away, so unchanged bars must be redrawn too.
    forceRedraw: true,
  });
  let open = true;
  const wrapped = (line: string) => wrapText(line, terminalWidth(stream, env));
  const close = () => {
    open = false;
    removeListener();
    if (!bars.isActive) return;
    // Pending lines are written at the next redraw, which is this one.
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
      // The library only clears one line before it writes, and others may contain the rest of a bar.
      if (bars.isActive) bars.log(`${wrapped(line).replaceAll('\n', `${CLEAR_RIGHT}\n`)}${CLEAR_RIGHT}\n`);
      else printLine(wrapped(line));
    },
    close,
  };
}

/** Leaves one column free, because a terminal wraps when its last column is written. */
const formatBar = (ratio: number, width: number, { name, label }: BarPayload): string => {
  const filled = Math.round(ratio * BAR_WIDTH);
  const text = typeof label === 'string' ? label : label();
  const shortName = cutReport(name, Math.max(MIN_NAME_WIDTH, Math.floor(width / 3)));
  const bar = `${FILLED_CELL.repeat(filled)}${EMPTY_CELL.repeat(BAR_WIDTH - filled)}`;
  return cutEnd(`${shortName}  ${bar}  ${text}`, width - 1);
};
