import { type ChildProcess, execFile, fork } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DocketError } from '../../../../base/error.ts';
import { MINUTE_MS, SECOND_MS } from '../../../../base/time.ts';
import { type TypstJob, type TypstResult, typstResultSchema } from './typst-job.ts';

/** Limit of processor time. A board pack takes half a second. */
const DEADLINE_MS = 20 * SECOND_MS;
/** Limit of elapsed time. On a busy machine the process spends most of it waiting for its turn. */
const WALL_MS = 5 * MINUTE_MS;
const MAX_MEMORY_MB = 768;
/** Heap limit of the child's JavaScript, which only passes on files. */
const HEAP_MB = 128;
const USAGE_INTERVAL_MS = 50;
/** The most characters of the child's stderr that go into the log. */
const MAX_STDERR_LENGTH = 2000;

const CHILD = fileURLToPath(new URL('./typst-child.mjs', import.meta.url));

/**
 * A host name that is too long, so that the resolver refuses it without a request. An address would not do: how long a
 * system takes to refuse a connection varies.
 */
const NO_PROXY_HOST = `http://${Array.from({ length: 4 }, () => 'x'.repeat(80)).join('.')}`;

/**
 * The child inherits nothing from our environment. Typst looks for packages in the user's folders and on the network:
 * the folders do not exist here, and the proxy is a host that cannot exist.
 */
const ENVIRONMENT = {
  HOME: '/nonexistent',
  XDG_DATA_HOME: '/nonexistent',
  XDG_CACHE_HOME: '/nonexistent',
  HTTP_PROXY: NO_PROXY_HOST,
  HTTPS_PROXY: NO_PROXY_HOST,
  ALL_PROXY: NO_PROXY_HOST,
  RAYON_NUM_THREADS: '2',
} as const;

export interface TypstLimits {
  /** Limit of the process's processor time. */
  readonly deadlineMs?: number;
  /** Limit of the time since its start. */
  readonly wallMs?: number;
  /** Limit of its resident memory. */
  readonly memoryMb?: number;
}

/** Which limit a compilation exceeded: processor time, time since the start, or memory. */
export type TypstLimit = 'deadline' | 'wall' | 'memory';

/** Thrown if a compilation exceeded a limit. */
export class TypstLimitError extends Error {
  readonly limit: TypstLimit;

  constructor(limit: TypstLimit) {
    super(`The compilation exceeded its ${limit} limit.`);
    this.limit = limit;
  }
}

/** Calls `exceeded` once when the child uses more than a limit. */
function watchUsage(
  child: ChildProcess,
  { deadlineMs, memoryMb }: { readonly deadlineMs: number; readonly memoryMb: number },
  exceeded: (limit: TypstLimit) => void,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const look = async () => {
    const used = child.pid === undefined ? undefined : await processUsage(child.pid);
    if (stopped) return;
    if (used !== undefined && used.memoryMb > memoryMb) exceeded('memory');
    else if (used !== undefined && used.cpuMs > deadlineMs) exceeded('deadline');
    else timer = setTimeout(look, USAGE_INTERVAL_MS);
  };
  timer = setTimeout(look, USAGE_INTERVAL_MS);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/**
 * Compiles a document to PDF/UA-1 in its own process, which is killed when it exceeds a limit or `signal` is aborted: a
 * thread that loops in native code cannot be stopped, and V8's limits do not cover native memory. Throws
 * `TypstLimitError`, `render.failed` if the process broke, or the signal's reason.
 */
export async function compileTypst(
  job: TypstJob,
  signal: AbortSignal,
  { deadlineMs = DEADLINE_MS, wallMs = WALL_MS, memoryMb = MAX_MEMORY_MB }: TypstLimits = {},
): Promise<TypstResult> {
  signal.throwIfAborted();
  const child = fork(CHILD, [], {
    env: ENVIRONMENT,
    // With the options of this process, the child can load our modules in the same way.
    execArgv: [...process.execArgv, `--max-old-space-size=${HEAP_MB}`],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = `${stderr}${text}`.slice(-MAX_STDERR_LENGTH);
  });
  return new Promise<TypstResult>((resolve, reject) => {
    let ended = false;
    const end = (settle: () => void) => {
      if (ended) return;
      ended = true;
      clearTimeout(wall);
      stopWatching();
      signal.removeEventListener('abort', abort);
      child.kill('SIGKILL');
      settle();
    };
    const abort = () => end(() => reject(signal.reason));
    const exceeded = (limit: TypstLimit) => end(() => reject(new TypstLimitError(limit)));
    const wall = setTimeout(() => exceeded('wall'), wallMs);
    const stopWatching = watchUsage(child, { deadlineMs, memoryMb }, exceeded);
    signal.addEventListener('abort', abort, { once: true });
    child.once('message', (answer) =>
      end(() => {
        const { success, data, error } = typstResultSchema.safeParse(answer);
        if (success) resolve(data);
        else reject(processFailed('gave an answer that cannot be read', error));
      }),
    );
    child.once('error', (cause) => end(() => reject(processFailed('could not be started', cause))));
    child.once('close', (code, killed) =>
      end(() => reject(processFailed(`ended with ${killed ?? code}`, new Error(stderr.trim())))),
    );
    child.send(job, (error) => {
      if (error !== null) end(() => reject(processFailed('could not be sent the document', error)));
    });
  });
}

const processFailed = (what: string, cause: unknown): DocketError =>
  new DocketError('render.failed', `The process that creates the PDF ${what}.`, {
    next: 'Check that the package @myriaddreamin/typst-ts-node-compiler is installed for this system. If it is, report this as a defect.',
    cause,
  });

const run = promisify(execFile);

/** Length of a clock tick in `/proc/<pid>/stat`: USER_HZ is 100 on every system that Node.js supports. */
const TICK_MS = 10;

interface ProcessUsage {
  /** Processor time of all its threads. */
  readonly cpuMs: number;
  /** Resident memory. */
  readonly memoryMb: number;
}

/** What a process has used so far; undefined if it has ended or the system does not say. */
export async function processUsage(pid: number): Promise<ProcessUsage | undefined> {
  try {
    if (process.platform === 'win32') return undefined;
    return process.platform === 'linux' ? await readProc(pid) : await readPs(pid);
  } catch {
    return undefined;
  }
}

/** See proc(5): the second field is the name in brackets; `utime` and `stime` are fields 14 and 15. */
async function readProc(pid: number): Promise<ProcessUsage | undefined> {
  const [status, stat] = await Promise.all([
    readFile(`/proc/${pid}/status`, 'utf8'),
    readFile(`/proc/${pid}/stat`, 'utf8'),
  ]);
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return kilobytes === undefined
    ? undefined
    : { cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS, memoryMb: Number(kilobytes) / 1024 };
}

/** The time has the form `[[days-]hours:]minutes:seconds`. */
async function readPs(pid: number): Promise<ProcessUsage> {
  const { stdout } = await run('/bin/ps', ['-o', 'rss=,time=', '-p', String(pid)]);
  const [kilobytes, time = ''] = stdout.trim().split(/\s+/);
  const parts = time.split(/[-:]/).map(Number).reverse();
  const seconds = [1, 60, 3600, 86_400].reduce((sum, unit, index) => sum + unit * (parts[index] ?? 0), 0);
  return { cpuMs: seconds * 1000, memoryMb: Number(kilobytes) / 1024 };
}
