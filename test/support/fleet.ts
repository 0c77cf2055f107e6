import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { silentLog } from '../../src/base/log.ts';
import { createMailCatcher, type MailCatcher } from '../../src/demo/mail-catcher.ts';
import { redisRunStore } from '../../src/queue/runs/run-store.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { DEFAULT_KEY_PREFIX } from '../../src/redis/keys.ts';
import type { RunRecord } from '../../src/run/run-record.ts';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { builtMain } from './built-main.ts';
import { captureStderr } from './capture-stderr.ts';
import { freePort } from './free-port.ts';
import { libfaketime } from './libfaketime.ts';
import { type RestartableRedis, restartableRedis } from './restartable-redis.ts';
import { PLANTED_SECRETS } from './secret-scan.ts';
import { waitFor } from './wait-for.ts';

const lineSchema = z.looseObject({ msg: z.string(), run: z.string().optional(), state: z.string().optional() });
export type MemberLine = z.infer<typeof lineSchema>;

/** A `docket start` with its own process and clock. */
export interface Member {
  readonly process: ChildProcess;
  readonly lines: readonly MemberLine[];
  /** Resolves with the first matching line of the log, past or future. Rejects if the process exits first. */
  logged(wanted: (line: MemberLine) => boolean): Promise<MemberLine>;
  /** Sets the offset of its clock, such as `-3d`, `+90` (seconds) or `+0`. */
  setClock(offset: string): Promise<void>;
  /** Resolves when `/readyz` says that every role works. */
  ready(): Promise<void>;
  /** Sends the signal and waits for the end. Returns the exit code, or null for a killed process. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** A message of a run, as the mail server received it. */
export interface Mail {
  readonly run: string;
  readonly to: readonly string[];
}

/** Processes as an operator runs them, with a separate Redis, API and mail server. */
export interface Fleet {
  readonly redis: RestartableRedis;
  readonly mail: MailCatcher;
  readonly folder: string;
  start(options?: { readonly args?: readonly string[]; readonly clock?: string; readonly env?: Env }): Promise<Member>;
  /** Writes files into the shared jobs folder. */
  write(files: Readonly<Record<string, string>>): Promise<void>;
  /** All recorded runs, newest first. */
  runs(): Promise<readonly RunRecord[]>;
  /** Polls the runs until they match. */
  until(wanted: (runs: readonly RunRecord[]) => boolean): Promise<readonly RunRecord[]>;
  mails(): Promise<readonly Mail[]>;
  close(): Promise<void>;
}
type Env = Readonly<Record<string, string>>;

/** End-to-end tests have their own time limits. */
const POLL = { timeoutMs: 600_000, intervalMs: 100 };

/** @param files the jobs folder as path → content; the key is in `ACME_KEY` */
export async function fleet(files: Readonly<Record<string, string>>, service: SandboxOptions = {}): Promise<Fleet> {
  const main = builtMain();
  const folder = await mkdtemp(join(tmpdir(), 'docket-fleet-'));
  const preload = await libfaketime();
  const redis = await restartableRedis();
  const sandbox = await startSandbox(service);
  const mail = await createMailCatcher(join(folder, 'mailbox'));
  const client = await openRedis(redis.url, 'worker', silentLog);
  const store = redisRunStore(client, { prefix: DEFAULT_KEY_PREFIX, keepDays: 90 });
  const members = new Set<Member>();

  const write: Fleet['write'] = async (some) => {
    for (const [name, content] of Object.entries(some)) {
      await mkdir(dirname(join(folder, 'jobs', name)), { recursive: true });
      await writeFile(join(folder, 'jobs', name), content);
    }
  };
  const runs = () => store.list({ limit: 10_000 });
  await write(files);

  return {
    redis,
    mail,
    folder,
    write,
    runs,
    start: async ({ args = [], clock = '+0', env = {} } = {}) => {
      const port = await freePort();
      const time = join(folder, `clock-${port}`);
      await writeFile(time, clock);
      const child = spawn(process.execPath, [main, 'start', ...args], {
        cwd: folder,
        env: {
          PATH: process.env.PATH ?? '',
          ...PLANTED_SECRETS,
          LD_PRELOAD: preload,
          FAKETIME_TIMESTAMP_FILE: time,
          FAKETIME_NO_CACHE: '1',
          DONT_FAKE_MONOTONIC: '1',
          COMPLIANCE_API_URL: sandbox.url,
          ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
          REDIS_URL: redis.url,
          SMTP_URL: mail.url,
          MAIL_FROM: 'reports@acme.example',
          DOCKET_JOBS: join(folder, 'jobs'),
          DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
          DOCKET_ADMIN_PORT: String(port),
          ...env,
        },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      const member = memberOf(child, `http://127.0.0.1:${port}`, time);
      members.add(member);
      await member.logged(({ msg }) => msg === 'Docket runs');
      return member;
    },
    until: async (wanted) => {
      const found = await waitFor(
        'the runs to be as wanted',
        async () => {
          const all = await runs();
          return wanted(all) ? all : undefined;
        },
        POLL,
      );
      return found;
    },
    mails: () =>
      Promise.all(
        mail.messages().map(async ({ path, to }) => {
          const run = /^x-docket-run: (\S+)/im.exec(await readFile(path, 'latin1'))?.[1] ?? '';
          return { run, to };
        }),
      ),
    close: async () => {
      for (const { process: child, end } of members) {
        child.kill('SIGCONT');
        if (child.exitCode === null && child.signalCode === null) await end('SIGKILL');
      }
      client.disconnect();
      await mail.close();
      await sandbox.close();
      await redis.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function memberOf(child: ChildProcess, url: string, time: string): Member {
  const lines: MemberLine[] = [];
  const looks = new Set<() => void>();
  const gone = once(child, 'exit');
  if (child.stderr !== null) {
    createInterface({ input: captureStderr(child.stderr) }).on('line', (text) => {
      // Node may print lines of its own.
      const line = text.startsWith('{') ? lineSchema.safeParse(JSON.parse(text)).data : undefined;
      lines.push(line ?? { msg: text });
      for (const look of looks) look();
    });
  }
  return {
    process: child,
    lines,
    logged: (wanted) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = lines.find(wanted);
          if (found === undefined) return;
          looks.delete(look);
          resolve(found);
        };
        looks.add(look);
        look();
        gone.then(() => reject(new Error(`it has exited:\n${lines.map(({ msg }) => msg).join('\n')}`)));
      }),
    setClock: (offset) => writeFile(time, offset),
    ready: async () => {
      await waitFor(
        `${url} to be ready`,
        async () => (await fetch(`${url}/readyz`).catch(() => ({ status: 0 }))).status === 200,
        POLL,
      );
    },
    end: async (signal) => {
      child.kill(signal);
      await gone;
      return child.exitCode;
    },
  };
}
