import progress from 'cli-progress';
import { clip, isTerminal, type Shown } from './terminal.ts';

/** How far one thing has come. */
export interface Bar {
  /**
   * @param of 0 while nobody knows how much there is
   * @param what said behind the bar; a function is asked at each redraw, for what counts down
   */
  set(done: number, of: number, what: string | (() => string)): void;
}

/** Bars at the bottom of a terminal, one for each thing that goes on. */
export interface Bars {
  /** False where nobody looks: bars then draw nothing, and what they would show is to be said in lines. */
  readonly drawn: boolean;
  add(name: string): Bar;
  /** A line that stays, above the bars. */
  say(line: string): void;
  /** Wipes the bars and gives the cursor back. What comes later is not drawn. */
  close(): void;
}

const LENGTH = 24;
const FULL = '█';
const EMPTY = '░';
const CLEAR_RIGHT = '\u001B[K';

interface Shows {
  readonly name: string;
  readonly what: string | (() => string);
}

/**
 * On a pipe, in a file and on a `dumb` terminal nothing is drawn, and `say` writes its line as it is. On SIGINT and SIGTERM the bars go
 * first; what stops the work besides is left to the command, and where it has nothing the process ends as it would have.
 */
export function openBars(stream: Shown = process.stderr): Bars {
  const say = (line: string) => void stream.write(`${line}\n`);
  if (!isTerminal(stream)) return { drawn: false, add: () => ({ set: () => {} }), say, close: () => {} };

  const bars = new progress.MultiBar({
    stream,
    format: (_, { progress: share, maxWidth }, shows: Shows) => lineOf(share, maxWidth, shows),
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
    drawn: true,
    add: (name) => {
      if (!open) return { set: () => {} };
      const bar = bars.create(0, 0, { name, what: '' } satisfies Shows);
      return {
        set: (done, of, what) => {
          bar.setTotal(of);
          bar.update(done, { name, what } satisfies Shows);
        },
      };
    },
    say: (line) => {
      // The library wipes one line before what is said; the line may stand where another bar was.
      if (bars.isActive) bars.log(`${line}${CLEAR_RIGHT}\n`);
      else say(line);
    },
    close,
  };
}

/** One column is left free: a terminal that is written full moves on to the next line. */
const lineOf = (share: number, width: number, { name, what }: Shows): string => {
  const full = Math.round(share * LENGTH);
  const text = typeof what === 'string' ? what : what();
  return clip(`${name}  ${FULL.repeat(full)}${EMPTY.repeat(LENGTH - full)}  ${text}`, width - 1);
};
