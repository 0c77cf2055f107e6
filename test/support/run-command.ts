import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { WriteStream } from 'node:tty';
import { inject } from 'vitest';
import { DocketError } from '../../src/base/error.ts';
import type { CommandIo } from '../../src/cli/io.ts';
import { createProgram } from '../../src/cli/program.ts';
import { runProgram } from '../../src/cli/run-program.ts';
import type { CliResult } from './docket.ts';
import { PLANTED_SECRETS } from './secret-scan.ts';

export interface RunOptions {
  /** The whole environment of the command, besides PATH. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Absent: the working directory of the test, and paths are printed as they were given. */
  readonly cwd?: string;
  /** Ctrl-C is pressed when this settles. */
  readonly stopAt?: Promise<unknown>;
  /** Called with each piece of stderr as it is written. */
  readonly onStderr?: (text: string) => void;
  /** Present: stdin, stdout and stderr are a terminal. */
  readonly terminal?: TerminalOptions;
}

export interface TerminalOptions {
  readonly columns?: number;
  /** Called with everything on the screen so far after each output: keys to press now, or undefined. */
  readonly press?: (screen: string) => string | undefined;
}

export interface CommandResult extends CliResult {
  /** stdout and stderr in the order of their output. */
  readonly screen: string;
}

/** Runs a command in this process, with an io of its own; the same result as `docket()`. */
export async function runCommand(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
  const { env = {}, cwd, stopAt, onStderr = () => {}, terminal } = options;
  const stdin = Object.assign(new PassThrough(), terminal === undefined ? {} : { isTTY: true, setRawMode: () => {} });
  let screen = '';
  const output = (onText: (text: string) => void) => {
    let text = '';
    const stream = new Writable({
      decodeStrings: false,
      write: (chunk: string | Buffer, _encoding, done) => {
        const piece = chunk.toString();
        text += piece;
        screen += piece;
        onText(piece);
        const keys = terminal?.press?.(screen);
        if (keys !== undefined) stdin.write(keys);
        done();
      },
    });
    const { getColorDepth } = WriteStream.prototype;
    const tty = { isTTY: true, columns: terminal?.columns ?? 100, rows: 40, getColorDepth };
    return { stream: terminal === undefined ? stream : Object.assign(stream, tty), read: () => text };
  };
  const stdout = output(() => {});
  const stderr = output(onStderr);
  const stop = new AbortController();
  const beforeStop = new Set<() => void>();
  const io: CommandIo = {
    env: {
      PATH: process.env.PATH,
      ...PLANTED_SECRETS,
      ...(terminal === undefined ? {} : { TERM: 'xterm-256color' }),
      ...env,
    },
    ...(cwd === undefined ? {} : { cwd }),
    stdin,
    stdout: stdout.stream,
    stderr: stderr.stream,
    writeLog: (line) => void stderr.stream.write(line),
    signals: {
      stop: () => stop.signal,
      beforeStop: (listener) => {
        beforeStop.add(listener);
        return () => beforeStop.delete(listener);
      },
      onReload: () => () => {},
    },
    onFatalError: () => () => {},
    exitCode: undefined,
  };
  void stopAt?.finally(() => {
    for (const listener of beforeStop) listener();
    io.exitCode = 130;
    stop.abort(new DocketError('run.cancelled', 'Stopped by SIGINT.'));
  });
  const code = await runProgram(createProgram(io), args, io);
  // Searched for secrets after all tests.
  await writeFile(join(inject('stderrFolder'), `${randomBytes(8).toString('hex')}.log`), stderr.read());
  return { code, stdout: stdout.read(), stderr: stderr.read(), screen };
}
