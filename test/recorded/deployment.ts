import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { z } from 'zod';
import { freePort } from '../support/free-port.ts';
import { libfaketime } from '../support/libfaketime.ts';
import { PLANTED_SECRETS } from '../support/secret-scan.ts';
import { SIGNING_KEY, TOKENS } from './recording.ts';

export type Env = Readonly<Record<string, string>>;

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const POLL_INTERVAL_MS = 100;

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `docket start` in a process of its own. */
export interface RunningDocket {
  readonly url: string;
  /** A request to its admin route with the operator's token, unless other headers are given. */
  request(path: string, init?: { readonly body?: unknown; readonly headers?: Env }): Promise<Response>;
  /** SIGTERM; the exit code. */
  stop(): Promise<number | null>;
  kill(): Promise<void>;
}

/** A folder with definitions, archive and tokens, and the processes and commands of the build that use it. */
export interface Deployment {
  /** The clock of all processes from now on: seconds from the machine's. */
  setClock(seconds: number): Promise<void>;
  /** Resolves when `/readyz` answers 200. */
  start(env?: Env, ...args: string[]): Promise<RunningDocket>;
  /** A command of the command line. */
  run(args: readonly string[], env?: Env): Promise<CommandResult>;
  /** The same with `--json`, which must end with 0: what it printed. */
  json<T>(schema: z.ZodType<T>, ...args: string[]): Promise<T>;
  /** Ends processes that still run. */
  close(): Promise<void>;
}

export interface DeploymentOptions {
  /** Holds `jobs`, `archive`, `out`, the tokens and the signing key; every path in the definitions is relative to it. */
  readonly folder: string;
  readonly env: Env;
  /** Sent as a bearer token. */
  readonly token: () => string;
  /** `main.js` of another version; default: this build. */
  readonly main?: string;
  /** Given the stderr of each process. */
  readonly onStderr?: (stderr: Readable) => void;
}

export async function deployment({
  folder,
  env,
  token,
  main = MAIN,
  onStderr,
}: DeploymentOptions): Promise<Deployment> {
  const clock = join(folder, 'clock');
  const setClock = (seconds: number): Promise<void> => writeFile(clock, `${seconds < 0 ? '' : '+'}${seconds}`);
  await setClock(0);
  const common: Env = {
    PATH: process.env.PATH ?? '',
    ...PLANTED_SECRETS,
    LD_PRELOAD: await libfaketime(),
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: '1',
    DONT_FAKE_MONOTONIC: '1',
    DOCKET_JOBS: 'jobs',
    DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
    DOCKET_ADMIN_TOKENS: TOKENS,
    DOCKET_SIGNING_KEY: `file:${join(folder, SIGNING_KEY)}`,
    DOCKET_ADMIN_RATE: '100000',
    ...env,
  };
  const running = new Set<ChildProcess>();

  const start = async (more: Env = {}, ...args: string[]): Promise<RunningDocket> => {
    const port = await freePort();
    const child = spawn(process.execPath, [main, 'start', ...args], {
      cwd: folder,
      env: { ...common, DOCKET_ADMIN_PORT: String(port), ...more },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    running.add(child);
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    onStderr?.(child.stderr);
    const exited = once(child, 'exit').then(() => running.delete(child));
    const end = async (signal: NodeJS.Signals): Promise<number | null> => {
      child.kill(signal);
      await exited;
      return child.exitCode;
    };
    const url = `http://127.0.0.1:${port}`;
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`docket start ended with ${child.exitCode}:\n${stderr}`);
      const { status } = await fetch(`${url}/readyz`).catch(() => ({ status: 0 }));
      return status === 200;
    });
    return {
      url,
      request: (path, { body, headers } = {}) =>
        fetch(`${url}${path}`, {
          headers: { authorization: `Bearer ${token()}`, 'content-type': 'application/json', ...headers },
          redirect: 'manual',
          ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
        }),
      stop: () => end('SIGTERM'),
      kill: async () => void (await end('SIGKILL')),
    };
  };

  const run = async (args: readonly string[], more: Env = {}): Promise<CommandResult> => {
    const child = spawn(process.execPath, [main, ...args], {
      cwd: folder,
      env: { ...common, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    onStderr?.(child.stderr);
    await once(child, 'close');
    return { code: child.exitCode, stdout, stderr };
  };

  return {
    setClock,
    start,
    run,
    json: async (schema, ...args) => {
      const { code, stdout, stderr } = await run([...args, '--json']);
      if (code !== 0) throw new Error(`docket ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
      return schema.parse(JSON.parse(stdout));
    },
    close: async () => {
      await Promise.all(
        [...running].map(async (child) => {
          const exited = once(child, 'exit');
          child.kill('SIGKILL');
          await exited;
        }),
      );
    },
  };
}

/** Looks again and again until it is true. */
export async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await sleep(POLL_INTERVAL_MS);
}
