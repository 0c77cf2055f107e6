import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/demo/redis.ts';
import { type Way, wayTo } from './way.ts';

export type Env = Readonly<Record<string, string>>;

/** How a member ended: by whose will, and how. */
export interface Ending {
  readonly why: 'killed' | 'asked' | 'itself';
  /** Null where a signal ended it. */
  readonly code: number | null;
  /** What it said last. */
  readonly last: string;
}

/** A `docket start` that somebody looks after: it is started again when it ends. Its clock and its ways are its own. */
export interface Member {
  readonly name: string;
  readonly url: string;
  readonly redis: Way;
  readonly api: Way;
  readonly mail: Way;
  readonly endings: readonly Ending[];
  /** Bytes of memory it had at most, of all its lives. */
  peak(): number;
  /** Lines on its stderr that only a defect writes: of a stack trace, or Node's warning of a leak. */
  readonly strays: readonly string[];
  up(): void;
  /** SIGKILL. Whoever looks after it starts it again after so long, ms. */
  kill(awayMs: number): Promise<void>;
  /** SIGTERM, and it stays down until `up`. */
  stop(): Promise<void>;
  freeze(ms: number): Promise<void>;
  ready(): Promise<boolean>;
  close(): Promise<void>;
  /** For a soak that is broken off: it leaves nobody behind. */
  abandon(): void;
}

export interface MemberOptions {
  readonly name: string;
  readonly role: string;
  /** `dist/main.js` of the build. */
  readonly main: string;
  readonly folder: string;
  readonly env: Env;
  /** The file that libfaketime reads its offset from, and libfaketime itself. */
  readonly clock: { readonly file: string; readonly preload: string };
  readonly redisPort: number;
  readonly apiPort: number;
  readonly mailPort: number;
}

/** Of the mail server: one that the scan for secrets knows, in each form. */
export const SMTP_PASSWORD = 'canary-secret-of-the-soak';

/** How long a process may take to stop when it is asked, ms; the grace it gives its runs is shorter. */
const STOP_MS = 30_000;

const DEFECT = /^\s+at |^Uncaught|^node:internal|MaxListenersExceeded|PromiseRejection/;

export async function member(options: MemberOptions): Promise<Member> {
  const { name, role, main, folder, env, clock } = options;
  const [redis, api, mail] = await Promise.all([
    wayTo(options.redisPort),
    wayTo(options.apiPort),
    wayTo(options.mailPort),
  ]);
  const log = createWriteStream(join(folder, 'log', `${name}.log`), { flags: 'a' });
  const endings: Ending[] = [];
  const strays: string[] = [];
  const adminPort = await freePort();
  let child: ChildProcess | undefined;
  let wanted = false;
  let why: Ending['why'] = 'itself';
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
      // As a supervisor does.
      if (why === 'itself') setTimeout(start, 1_000);
    });
  };

  const remember = setInterval(async () => {
    if (child?.pid === undefined) return;
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    peak = Math.max(peak, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024);
  }, 1_000);

  const end = async (signal: NodeJS.Signals, reason: Ending['why']): Promise<void> => {
    const going = child;
    if (going === undefined) return;
    why = reason;
    const gone = once(going, 'close');
    going.kill(signal);
    const late = AbortSignal.timeout(STOP_MS);
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
    stop: async () => {
      wanted = false;
      await end('SIGTERM', 'asked');
    },
    freeze: async (ms) => {
      const frozen = child;
      frozen?.kill('SIGSTOP');
      await sleep(ms);
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
    abandon: () => void child?.kill('SIGKILL'),
    close: async () => {
      wanted = false;
      clearInterval(remember);
      await end('SIGKILL', 'killed');
      await Promise.all([redis.close(), api.close(), mail.close()]);
      await new Promise((resolve) => log.end(resolve));
    },
  };
}

/** What libfaketime reads: so many seconds from the machine's clock, with a fraction or without. */
export const setClock = (file: string, seconds: number): Promise<void> =>
  writeFile(file, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}`);
