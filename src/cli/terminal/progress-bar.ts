import progress from 'cli-progress';
import { isTerminal, type OutputStream, truncateToWidth } from './style.ts';

/** How far one thing has come. */
export interface ProgressBar {
  /**
   * @param of 0 while nobody knows how much there is
   * @param what said behind the bar; a function is asked at each redraw, for what counts down
   */
  set(done: number, of: number, what: string | (() => string)): void;
}

/** Bars at the bottom of a terminal, one for each thing that goes on. */
export interface ProgressBars {
  /** False where nobody looks: bars then draw nothing, and what they would show is to be said in lines. */
  readonly isVisible: boolean;
  add(name: string): ProgressBar;
  /** A line that stays, above the bars. */
  printLine(line: string): void;
  /** Wipes the bars and gives the cursor back. What comes later is not drawn. */
  close(): void;
}

const BAR_WIDTH = 24;
const FILLED_CELL = '█';
const EMPTY_CELL = '░';
const CLEAR_RIGHT = '\u001B[K';

interface BarPayload {
  readonly name: string;
  readonly label: string | (() => string);
}

/**
 * On a pipe, in a file and on a `dumb` terminal nothing is drawn, and `say` writes its line as it is. On SIGINT and SIGTERM the bars go
 * first; what stops the work besides is left to the command, and where it has nothing the process ends as it would have.
 */
export function openProgressBars(stream: OutputStream = process.stderr): ProgressBars {
  const printLine = (line: string) => void stream.write(`${line}\n`);
  if (!isTerminal(stream)) return { isVisible: false, add: () => ({ set: () => {} }), printLine, close: () => {} };

  const bars = new progress.MultiBar({
    stream,
    format: (_, { progress: share, maxWidth }, shows: BarPayload) => formatBar(share, maxWidth, shows),
    fps: 5,
    clearOnComplete: true,
    hideCursor: true,
    // Never `ESC[?7l`: a process that is killed would leave a terminal that cuts long lines.
    linewrap: true,
    emptyOnZero: true,
    // A line that is said scrolls the bars away; one that has not changed must be drawn again as well.
    forceRedraw: true,
  });
  let open = true;
  const close = () => {
    open = false;
    for (const [name, listener] of listeners) process.off(name, listener);
    if (!bars.isActive) return;
    // What is still to be said is written with the next redraw, which is this one.
    bars.update();
    bars.stop();
  };
  const listeners = (['SIGINT', 'SIGTERM'] as const).map((name) => {
    const listener = () => {
      close();
      if (process.listenerCount(name) === 0) process.kill(process.pid, name);
    };
    // Before those of the command: until they have run, they count as somebody who stops the work.
    process.prependListener(name, listener);
    return [name, listener] as const;
  });
  return {
    isVisible: true,
    add: (name) => {
      if (!open) return { set: () => {} };
      const bar = bars.create(0, 0, { name, label: '' } satisfies BarPayload);
      return {
        set: (done, of, label) => {
          bar.setTotal(of);
          bar.update(done, { name, label } satisfies BarPayload);
        },
      };
    },
    printLine: (line) => {
      // The library wipes one line before what is said; the line may stand where another bar was.
      if (bars.isActive) bars.log(`${line}${CLEAR_RIGHT}\n`);
      else printLine(line);
    },
    close,
  };
}

/** One column is left free: a terminal that is written full moves on to the next line. */
const formatBar = (share: number, width: number, { name, label }: BarPayload): string => {
  const full = Math.round(share * BAR_WIDTH);
  const text = typeof label === 'string' ? label : label();
  return truncateToWidth(
    `${name}  ${FILLED_CELL.repeat(full)}${EMPTY_CELL.repeat(BAR_WIDTH - full)}  ${text}`,
    width - 1,
  );
};
