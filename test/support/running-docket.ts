import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { builtMain } from './built-main.ts';
import { captureStderr } from './capture-stderr.ts';
import { PLANTED_SECRETS } from './secret-scan.ts';

const lineSchema = z.looseObject({
  msg: z.string(),
  level: z.string().optional(),
  why: z.string().optional(),
  run: z.string().optional(),
  state: z.string().optional(),
  url: z.string().optional(),
});
export type LoggedLine = z.infer<typeof lineSchema>;

/** `docket start` as users run it, in a separate process. */
export interface RunningProcess {
  readonly lines: readonly LoggedLine[];
  /** The first matching line of its log, past or future. */
  logged(wanted: (line: LoggedLine) => boolean): Promise<LoggedLine>;
  /** Sends SIGHUP. */
  reload(): void;
  signal(name: NodeJS.Signals): void;
  /** Resolves with the exit code and the signal that ended it. */
  readonly exited: Promise<readonly unknown[]>;
  /** Sends SIGTERM. Resolves with the exit code and the signal that ended it. */
  stop(): Promise<readonly unknown[]>;
  kill(): Promise<void>;
  /** Keeps its connections and does nothing until it is thawed. */
  freeze(): void;
  thaw(): void;
}

export interface DocketProcess {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** The command to start; by default the program of this version. */
  readonly program?: readonly string[];
  /** Ignores lines that are not JSON, which version 0.2.0 prints. */
  readonly printsText?: boolean;
}

/** @param listen called with each line */
export function startDocket(
  args: readonly string[],
  { env, cwd, program = [process.execPath, builtMain()], printsText = false }: DocketProcess,
  listen: (line: LoggedLine) => void = () => {},
): RunningProcess {
  const [command = '', ...before] = program;
  const child: ChildProcess = spawn(command, [...before, 'start', ...args], {
    env: { PATH: process.env.PATH ?? '', ...PLANTED_SECRETS, ...env },
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  const lines: LoggedLine[] = [];
  const waiting: {
    readonly wanted: (line: LoggedLine) => boolean;
    readonly resolve: (line: LoggedLine) => void;
    readonly reject: (reason: Error) => void;
  }[] = [];
  if (child.stderr === null) throw new Error('no stderr');
  createInterface({ input: captureStderr(child.stderr) }).on('line', (text) => {
    if (printsText && !text.startsWith('{')) return;
    if (!text.startsWith('{')) throw new Error(`Not a line of a log: ${text}`);
    const line = lineSchema.parse(JSON.parse(text));
    lines.push(line);
    for (const waiter of waiting) if (waiter.wanted(line)) waiter.resolve(line);
    listen(line);
  });
  void exited.then(() => {
    const last = JSON.stringify(lines.slice(-3));
    for (const { reject } of waiting) reject(new Error(`It ended without a word of it; its last: ${last}`));
  });
  const end = async (signal: NodeJS.Signals): Promise<unknown[]> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return exited;
  };
  return {
    lines,
    logged: (wanted) =>
      new Promise((resolve, reject) => {
        const found = lines.find(wanted);
        if (found === undefined) waiting.push({ wanted, resolve, reject });
        else resolve(found);
      }),
    reload: () => void child.kill('SIGHUP'),
    signal: (name) => void child.kill(name),
    exited,
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
  };
}
