import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { type NetworkProxy, startProxy } from './network-proxy.ts';

export type Env = Readonly<Record<string, string>>;

/** How a process ended. */
export interface ProcessExit {
  readonly why: 'killed' | 'asked' | 'itself';
  /** Null after a signal. */
  readonly code: number | null;
  /** Its last line on stderr. */
  readonly last: string;
}

/** A supervised `docket start`: restarted when it exits. It has its own clock and network proxies. */
export interface DocketProcess {
  readonly name: string;
  readonly url: string;
  readonly redis: NetworkProxy;
  readonly api: NetworkProxy;
  readonly mail: NetworkProxy;
  readonly endings: readonly ProcessExit[];
  /** Peak memory over all restarts, bytes. */
  peak(): number;
  /** Lines on stderr that show a defect: stack traces, and Node's leak warnings. */
  readonly strays: readonly string[];
  up(): void;
  /** SIGKILL, then a restart after `awayMs`. */
  kill(awayMs: number): Promise<void>;
  /** Stays down until `up`. Default: SIGTERM. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** SIGSTOP for `ms`, or until the signal. */
  freeze(ms: number, until?: AbortSignal): Promise<void>;
  ready(): Promise<boolean>;
  close(): Promise<void>;
  /** SIGKILL without waiting, for an aborted soak. */
  killNow(): void;
}

export interface DocketProcessOptions {
  readonly name: string;
  readonly role: string;
  /** `dist/main.js` of the build. */
  readonly main: string;
  readonly folder: string;
  readonly env: Env;
  /** File with the clock's offset for libfaketime, and the path of libfaketime. */
  readonly clock: { readonly file: string; readonly preload: string };
  readonly redisPort: number;
  readonly apiPort: number;
  readonly mailPort: number;
}

/** Password for the mail server; the secret scan searches for it in all forms. */
export const SMTP_PASSWORD = 'canary-secret-of-the-soak';

/** Limit for a stop after SIGTERM, ms; longer than the grace period of runs. */
const STOP_TIMEOUT_MS = 30_000;

const DEFECT = /^\s+at |^Uncaught|^node:internal|MaxListenersExceeded|PromiseRejection/;

export async function member(options: DocketProcessOptions): Promise<DocketProcess> {
  const { name, role, main, folder, env, clock } = options;
  const [redis, api, mail] = await Promise.all([
    startProxy(options.redisPort),
    startProxy(options.apiPort),
    startProxy(options.mailPort),
  ]);
  const log = createWriteStream(join(folder, 'log', `${name}.log`), { flags: 'a' });
  const endings: ProcessExit[] = [];
  const strays: string[] = [];
  const adminPort = await freePort();
  let child: ChildProcess | undefined;
  let wanted = false;
  let why: ProcessExit['why'] = 'itself';
  let peak = 0;

  const start = () => {
    if (!wanted || child !== undefined) return;
    const started = spawn(process.execPath, [main, 'start', '--role', role, '--grace', '5s'], {
      cwd: folder,
      env: {
        PATH: process.env.PATH ?? '',
        LD_PRELOAD: clock.preload,
        FAKETIME_TIMESTAMP_FILE: clock.file,
        FAKETIME_CACHE_DURATION: '1',
        DONT_FAKE_MONOTONIC: '1',
        REDIS_URL: `redis://127.0.0.1:${redis.port}`,
        COMPLIANCE_API_URL: `http://127.0.0.1:${api.port}`,
        SMTP_URL: `smtp://docket:${SMTP_PASSWORD}@127.0.0.1:${mail.port}?tls=off`,
        DOCKET_ADMIN_PORT: String(adminPort),
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child = started;
    why = 'itself';
    let last = '';
    createInterface({ input: started.stderr }).on('line', (line) => {
      log.write(`${line}\n`);
      last = line;
      if (DEFECT.test(line)) strays.push(line);
    });
    started.once('close', (code) => {
      child = undefined;
      endings.push({ why, code, last });

      if (why === 'itself') setTimeout(start, 1_000);
    });
  };

  const remember = setInterval(async () => {
    if (child?.pid === undefined) return;
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    peak = Math.max(peak, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024);
  }, 1_000);

  const end = async (signal: NodeJS.Signals, reason: ProcessExit['why']): Promise<void> => {
    const going = child;
    if (going === undefined) return;
    why = reason;
    const gone = once(going, 'close');
    going.kill(signal);
    const late = AbortSignal.timeout(STOP_TIMEOUT_MS);
    late.addEventListener('abort', () => going.kill('SIGKILL'));
    await gone;
  };

  return {
    name,
    url: `http://127.0.0.1:${adminPort}`,
    redis,
    api,
    mail,
    endings,
    strays,
    peak: () => peak,
    up: () => {
      wanted = true;
      start();
    },
    kill: async (awayMs) => {
      await end('SIGKILL', 'killed');
      await sleep(awayMs);
      start();
    },
    stop: async (signal = 'SIGTERM') => {
      wanted = false;
      await end(signal, 'asked');
    },
    freeze: async (ms, until) => {
      const frozen = child;
      frozen?.kill('SIGSTOP');
      await sleep(ms, undefined, { signal: until }).catch(() => {});
      frozen?.kill('SIGCONT');
    },
    ready: async () =>
      fetch(`http://127.0.0.1:${adminPort}/readyz`, { signal: AbortSignal.timeout(3_000) }).then(
        async (response) => {
          await response.arrayBuffer();
          return response.status === 200;
        },
        () => false,
      ),
    killNow: () => void child?.kill('SIGKILL'),
    close: async () => {
      wanted = false;
      clearInterval(remember);
      await end('SIGKILL', 'killed');
      await Promise.all([redis.close(), api.close(), mail.close()]);
      await new Promise((resolve) => log.end(resolve));
    },
  };
}

/** Sets the offset from the machine's clock, in seconds, for libfaketime. */
export const setClock = (file: string, seconds: number): Promise<void> =>
  writeFile(file, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}`);
