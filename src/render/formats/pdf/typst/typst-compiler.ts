import { type ChildProcess, execFile, fork } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DocketError } from '../../../../base/error.ts';
import { SECOND_MS } from '../../../../base/time.ts';
import { type TypstJob, type TypstResult, typstResultSchema } from './typst-job.ts';

/** A board pack takes half a second; this is for a busy machine. */
const DEADLINE_MS = 20 * SECOND_MS;
const MAX_MEMORY_MB = 768;
/** Of the JavaScript in the child, which only hands over the files. */
const HEAP_MB = 128;
const MEMORY_INTERVAL_MS = 50;
/** Of what the child wrote to stderr, for the log. */
const MAX_STDERR_LENGTH = 2000;

const CHILD = fileURLToPath(new URL('./typst-child.mjs', import.meta.url));

/**
 * Nothing of our environment. Typst looks for packages in the user's folders and on the network: there are no such folders
 * here, and nothing listens on port 0.
 */
const ENVIRONMENT = {
  HOME: '/nonexistent',
  XDG_DATA_HOME: '/nonexistent',
  XDG_CACHE_HOME: '/nonexistent',
  HTTP_PROXY: 'http://127.0.0.1:0',
  HTTPS_PROXY: 'http://127.0.0.1:0',
  ALL_PROXY: 'http://127.0.0.1:0',
  RAYON_NUM_THREADS: '2',
} as const;

export interface TypstLimits {
  readonly deadlineMs?: number;
  /** Resident memory of the process. */
  readonly memoryMb?: number;
}

/** Why a compilation was stopped. */
export type TypstLimit = 'deadline' | 'memory';

/** A compilation that exceeded a limit. */
export class TypstLimitError extends Error {
  readonly limit: TypstLimit;

  constructor(limit: TypstLimit) {
    super(`The compilation exceeded its ${limit} limit.`);
    this.limit = limit;
  }
}

const run = promisify(execFile);

/** Resident memory of a process in MB; undefined when it has ended or the system does not tell. */
async function residentMb(pid: number): Promise<number | undefined> {
  try {
    if (process.platform === 'linux') {
      const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
      return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
    }
    if (process.platform === 'win32') return undefined;
    const { stdout } = await run('/bin/ps', ['-o', 'rss=', '-p', String(pid)]);
    return Number(stdout) / 1024;
  } catch {
    return undefined;
  }
}

/** Calls `exceeded` once when the child has more memory than this. */
function watchMemory(child: ChildProcess, memoryMb: number, exceeded: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const look = async () => {
    const used = child.pid === undefined ? undefined : await residentMb(child.pid);
    if (stopped) return;
    if (used !== undefined && used > memoryMb) exceeded();
    else timer = setTimeout(look, MEMORY_INTERVAL_MS);
  };
  timer = setTimeout(look, MEMORY_INTERVAL_MS);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/**
 * Compiles a document to PDF/UA-1 in a process of its own, which is killed when it exceeds a limit or `signal` is aborted: a
 * thread that loops in native code cannot be stopped, and V8's limits do not bound native memory.
 * Throws `TypstLimitError`, `render.failed` for a process that broke, or the signal's reason.
 */
export async function compileTypst(
  job: TypstJob,
  signal: AbortSignal,
  { deadlineMs = DEADLINE_MS, memoryMb = MAX_MEMORY_MB }: TypstLimits = {},
): Promise<TypstResult> {
  signal.throwIfAborted();
  const child = fork(CHILD, [], {
    env: ENVIRONMENT,
    // Those of this process let it load our modules where it does.
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
      clearTimeout(deadline);
      stopWatching();
      signal.removeEventListener('abort', abort);
      child.kill('SIGKILL');
      settle();
    };
    const abort = () => end(() => reject(signal.reason));
    const deadline = setTimeout(() => end(() => reject(new TypstLimitError('deadline'))), deadlineMs);
    const stopWatching = watchMemory(child, memoryMb, () => end(() => reject(new TypstLimitError('memory'))));
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
  new DocketError('render.failed', `The process that makes the PDF ${what}.`, {
    next: 'Check that the package @myriaddreamin/typst-ts-node-compiler is installed for this system; if it is, report this as a defect.',
    cause,
  });
