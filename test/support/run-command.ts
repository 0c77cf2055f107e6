import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { WriteStream } from 'node:tty';
import type { Command } from 'commander';
import { inject } from 'vitest';
import { z } from 'zod';
import { DocketError } from '../../src/base/error.ts';
import type { CommandIo } from '../../src/cli/io.ts';
import { createProgram } from '../../src/cli/program.ts';
import { runProgram } from '../../src/cli/run-program.ts';
import { FEATURES } from '../../src/features/index.ts';
import type { CliResult } from './docket.ts';
import { PLANTED_SECRETS } from './secret-scan.ts';

export interface RunOptions {
  /** The complete environment of the command, besides PATH. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** All features by default. */
  readonly features?: CommandIo['features'];
  /** By default the working directory of the test, and paths are printed as given. */
  readonly cwd?: string;
  /** Presses Ctrl-C when this settles. */
  readonly stopAt?: Promise<unknown>;
  /** Called with each piece of stderr. */
  readonly onStderr?: (text: string) => void;
  /** If present, stdin, stdout and stderr are a terminal. */
  readonly terminal?: TerminalOptions;
}

export interface TerminalOptions {
  readonly columns?: number;
  /** Gets everything on the screen so far after each output. Returns keys to press now, or undefined. */
  readonly press?: (screen: string) => string | undefined;
}

export interface CommandResult extends CliResult {
  /** stdout and stderr in the order of output. */
  readonly screen: string;
}

/** All commands, for tests of their names, options and help. */
export const createTestProgram = (): Command => createProgram(createTestIo({}).io);

/** Runs a command in this process with separate streams. The result is like that of `docket()`. */
export async function runCommand(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
  const { io, written, stop } = createTestIo(options);
  void options.stopAt?.finally(stop);
  const code = await runProgram(createProgram(io), args, io);
  // Stored for the search for secrets after all tests.
  await writeFile(join(inject('stderrFolder'), `${randomBytes(8).toString('hex')}.log`), written.stderr);
  return { code, ...written };
}

const logLineSchema = z.looseObject({
  level: z.string(),
  msg: z.string(),
  run: z.string().optional(),
  report: z.string().optional(),
  state: z.string().optional(),
  url: z.string().optional(),
  why: z.string().optional(),
});
export type LogLine = z.infer<typeof logLineSchema>;

/** `docket start` in this process. */
export interface RunningCommand {
  readonly lines: readonly LogLine[];
  /** The first log line that matches, written before or after the call. @param from index of the first line to look at */
  logged(matches: (line: LogLine) => boolean, from?: number): Promise<LogLine>;
  /** Acts like SIGHUP. */
  reload(): void;
  /** Acts like SIGTERM. Resolves with the result when everything is closed. */
  stop(): Promise<CommandResult>;
}

export function startCommand(args: readonly string[], options: Pick<RunOptions, 'env' | 'cwd'>): RunningCommand {
  const lines: LogLine[] = [];
  const onLine = new EventEmitter().setMaxListeners(0);
  let rest = '';
  const { io, written, stop, reload } = createTestIo({
    ...options,
    onStderr: (text) => {
      const parts = `${rest}${text}`.split('\n');
      rest = parts.pop() ?? '';
      for (const part of parts.filter((each) => each.startsWith('{'))) {
        lines.push(logLineSchema.parse(JSON.parse(part)));
        onLine.emit('line');
      }
    },
  });
  const ended = runProgram(createProgram(io), ['start', ...args], io).then(async (code) => {
    onLine.emit('end');
    await writeFile(join(inject('stderrFolder'), `${randomBytes(8).toString('hex')}.log`), written.stderr);
    return { code, ...written };
  });
  return {
    lines,
    logged: (matches, from = 0) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const found = lines.slice(from).find(matches);
          if (found === undefined) return false;
          onLine.off('line', check);
          resolve(found);
          return true;
        };
        if (check()) return;
        onLine.on('line', check);
        onLine.once('end', () => reject(new Error(`docket start ended: ${written.stderr.slice(-2_000)}`)));
      }),
    reload,
    stop: () => {
      stop();
      return ended;
    },
  };
}

function createTestIo({ env = {}, cwd, features = FEATURES, onStderr = () => {}, terminal }: RunOptions) {
  const stdin = Object.assign(new PassThrough(), terminal === undefined ? {} : { isTTY: true, setRawMode: () => {} });
  const { getColorDepth } = WriteStream.prototype;
  const tty = terminal === undefined ? {} : { isTTY: true, columns: terminal.columns ?? 100, rows: 40, getColorDepth };
  const written = { stdout: '', stderr: '', screen: '' };
  const output = (name: 'stdout' | 'stderr') =>
    Object.assign(
      new Writable({
        decodeStrings: false,
        write: (chunk: string | Buffer, _encoding, done) => {
          const text = chunk.toString();
          written[name] += text;
          written.screen += text;
          if (name === 'stderr') onStderr(text);
          const keys = terminal?.press?.(written.screen);
          // Wait until the prompt reads input.
          if (keys !== undefined) setImmediate(() => stdin.write(keys));
          done();
        },
      }),
      tty,
    );
  const [stdout, stderr] = [output('stdout'), output('stderr')];
  const controller = new AbortController();
  const beforeStop = new Set<() => void>();
  const onReload = new Set<() => void>();
  const io: CommandIo = {
    env: { PATH: process.env.PATH, ...PLANTED_SECRETS, ...(terminal && { TERM: 'xterm-256color' }), ...env },
    ...(cwd === undefined ? {} : { cwd }),
    features,
    stdin,
    stdout,
    stderr,
    writeLog: (line) => void stderr.write(line),
    signals: {
      stop: () => controller.signal,
      beforeStop: (listener) => {
        beforeStop.add(listener);
        return () => beforeStop.delete(listener);
      },
      onReload: (listener) => {
        onReload.add(listener);
        return () => onReload.delete(listener);
      },
    },
    onFatalError: () => () => {},
    onWarning: () => () => {},
    exitCode: undefined,
  };
  return {
    io,
    written,
    stop: () => {
      for (const listener of beforeStop) listener();
      io.exitCode = 130;
      controller.abort(new DocketError('run.cancelled', 'Stopped by SIGINT.'));
    },
    reload: () => {
      for (const listener of onReload) listener();
    },
  };
}
