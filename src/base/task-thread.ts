import { parentPort, Worker } from 'node:worker_threads';
import type { Clock } from './clock.ts';
import { isErrno } from './errno.ts';
import { DocketError } from './error.ts';
import { MINUTE_MS, SECOND_MS } from './time.ts';

/**
 * Result of a task. `exceeded`: it used too much time or memory. `timeout`: no result within `responseTimeoutMs`.
 * `queue_full`: too many tasks are waiting.
 */
export type TaskOutcome<Answer> =
  | { readonly kind: 'done'; readonly answer: Answer }
  | { readonly kind: 'exceeded'; readonly limit: 'time' | 'memory' }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'queue_full' };

export interface TaskThread<Task, Answer> {
  /**
   * Runs a task in the thread; owners take turns. Rejects with the task's error, or with `definition.busy` if the
   * thread is not ready in time.
   * @param deadlineMs time limit, from the start of the task
   */
  run(owner: string, task: Task, deadlineMs: number): Promise<TaskOutcome<Answer>>;
  /** Terminates the thread. Unfinished tasks reject. */
  close(): Promise<void>;
}

export interface TaskThreadOptions {
  /** The thread's module, which calls `serveTasks`. */
  readonly entry: URL;
  /** The thread's `workerData`. */
  readonly data?: string;
  readonly memoryMb: number;
  readonly clock: Clock;
  /** Most waiting tasks, of one owner and in total. Default: unlimited. */
  readonly maxWaiting?: { readonly owner: number; readonly all: number };
  /** Limit from the call of `run` to its result, including the wait. Default: unlimited. */
  readonly responseTimeoutMs?: number;
}

/** Messages from the thread: `ready`, then one for each task. */
export type ThreadMessage =
  | 'ready'
  | { readonly answer: unknown }
  | { readonly failed: string; readonly exhausted: boolean };

interface QueuedTask<Task, Answer> {
  readonly task: Task;
  readonly deadlineMs: number;
  readonly isSettled: () => boolean;
  readonly resolve: (outcome: TaskOutcome<Answer>) => void;
  readonly reject: (error: unknown) => void;
}

interface Thread {
  readonly worker: Worker;
  readonly ready: Promise<void>;
}

/** How long a task waits for its thread to become ready. */
const READY_TIMEOUT_MS = 15 * SECOND_MS;
/** A thread without tasks is terminated after this time, to free its memory. */
const IDLE_TIMEOUT_MS = MINUTE_MS;
const UNLIMITED = { owner: Number.POSITIVE_INFINITY, all: Number.POSITIVE_INFINITY };

/**
 * Creates a thread for tasks that may use too much time or memory. Such a task is terminated together with its thread,
 * which is replaced. The thread is started on demand, with an empty environment.
 */
export function taskThread<Task, Answer>(settings: TaskThreadOptions): TaskThread<Task, Answer> {
  const { entry, data, memoryMb, clock, maxWaiting = UNLIMITED, responseTimeoutMs } = settings;
  // The waiting tasks of each owner. The owners are in the order of their turns.
  const waiting = new Map<string, QueuedTask<Task, Answer>[]>();
  let count = 0;
  let thread: Thread | undefined;
  let busy = false;
  let closed = false;
  let idle = new AbortController();

  /** Calls `act` after `ms`, unless the signal aborts earlier. */
  const after = (ms: number, signal: AbortSignal, act: () => unknown): void => {
    clock.sleep(ms, signal).then(act, () => {});
  };

  const start = (): Thread => {
    const worker = new Worker(entry, {
      env: {},
      workerData: data,
      // A small young generation: a large one would keep memory after the start, without saving processor time.
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: Math.ceil(memoryMb / 16) },
    });
    const ready = new Promise<void>((resolve, reject) => {
      worker.once('message', () => resolve());
      worker.once('error', reject);
      worker.once('exit', () => reject(new Error(`The thread ${entry.pathname} ended before it was ready.`)));
    });
    // The rejection is handled by callers that wait for it.
    ready.catch(() => {});
    // An error between tasks: the next task fails, or starts a new thread.
    worker.on('error', () => {});
    const started = { worker, ready };
    worker.on('exit', () => {
      if (thread === started) thread = undefined;
    });
    return started;
  };

  const terminate = async ({ replace = false } = {}): Promise<void> => {
    const terminated = thread;
    thread = replace ? start() : undefined;
    await terminated?.worker.terminate();
  };

  /** Throws `definition.busy`. The thread may become ready later: the next task waits for the same thread. */
  const waitUntilReady = async (ready: Promise<void>): Promise<void> => {
    const settled = new AbortController();
    const tooLate = new Promise<never>((_, reject) =>
      after(READY_TIMEOUT_MS, settled.signal, () => reject(notReadyError())),
    );
    await Promise.race([ready, tooLate]).finally(() => settled.abort());
  };

  const execute = (worker: Worker, { task, deadlineMs }: QueuedTask<Task, Answer>): Promise<TaskOutcome<Answer>> =>
    new Promise((resolve, reject) => {
      const settled = new AbortController();
      const settle = (act: () => void) => {
        settled.abort();
        worker.off('message', onMessage);
        worker.off('error', onError);
        worker.off('exit', onExit);
        act();
      };
      const onMessage = (message: Exclude<ThreadMessage, 'ready'>) =>
        settle(() => {
          // The result of the function that was passed to `serveTasks`.
          if ('answer' in message) resolve({ kind: 'done', answer: message.answer as Answer });
          else if (message.exhausted) resolve({ kind: 'exceeded', limit: 'memory' });
          else reject(new Error(message.failed));
        });
      const onError = (error: Error) =>
        settle(() =>
          isErrno(error, 'ERR_WORKER_OUT_OF_MEMORY') ? resolve({ kind: 'exceeded', limit: 'memory' }) : reject(error),
        );
      const onExit = () => settle(() => reject(new Error(`The thread ${entry.pathname} ended.`)));
      worker.on('message', onMessage);
      worker.on('error', onError);
      worker.on('exit', onExit);
      after(deadlineMs, settled.signal, () => settle(() => resolve({ kind: 'exceeded', limit: 'time' })));
      worker.postMessage(task);
    });

  const runTask = async (job: QueuedTask<Task, Answer>): Promise<void> => {
    try {
      thread ??= start();
      const { worker, ready } = thread;
      await waitUntilReady(ready);
      if (job.isSettled()) return;
      const outcome = await execute(worker, job);
      job.resolve(outcome);
      if (outcome.kind !== 'exceeded') return;
      // The replacement starts while this thread ends.
      await terminate({ replace: !closed });
    } catch (error) {
      job.reject(error);
      if (!(error instanceof DocketError)) await terminate();
    }
  };

  const next = (): QueuedTask<Task, Answer> | undefined => {
    const [first] = waiting;
    if (first === undefined) return undefined;
    const [owner, jobs] = first;
    const [job, ...others] = jobs;
    waiting.delete(owner);
    if (others.length > 0) waiting.set(owner, others);
    count -= 1;
    return job;
  };

  const withdraw = (owner: string, job: QueuedTask<Task, Answer>): void => {
    const jobs = waiting.get(owner) ?? [];
    const others = jobs.filter((other) => other !== job);
    count -= jobs.length - others.length;
    if (others.length > 0) waiting.set(owner, others);
    else waiting.delete(owner);
  };

  const work = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    idle.abort();
    for (let job = next(); job !== undefined; job = next()) await runTask(job);
    busy = false;
    idle = new AbortController();
    after(IDLE_TIMEOUT_MS, idle.signal, () => (busy ? undefined : terminate()));
  };

  return {
    run: (owner, task, deadlineMs) =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new Error('The thread is closed.'));
        const own = waiting.get(owner) ?? [];
        if (own.length >= maxWaiting.owner || count >= maxWaiting.all) return resolve({ kind: 'queue_full' });
        const answered = new AbortController();
        const job: QueuedTask<Task, Answer> = {
          task,
          deadlineMs,
          isSettled: () => answered.signal.aborted,
          resolve: (outcome) => {
            answered.abort();
            resolve(outcome);
          },
          reject: (error) => {
            answered.abort();
            reject(error);
          },
        };
        waiting.set(owner, [...own, job]);
        count += 1;
        if (responseTimeoutMs !== undefined) {
          after(responseTimeoutMs, answered.signal, () => {
            withdraw(owner, job);
            // A running task continues until its deadline, so that the thread need not be terminated.
            job.resolve({ kind: 'timeout' });
          });
        }
        void work();
      }),
    close: async () => {
      closed = true;
      for (const job of [...waiting.values()].flat()) job.reject(new Error('The thread is closed.'));
      waiting.clear();
      count = 0;
      await terminate();
      idle.abort();
    },
  };
}

const notReadyError = (): DocketError =>
  new DocketError(
    'definition.busy',
    'The thread that reads definitions has not started yet: the machine is too busy.',
    {
      expected: `a thread that is ready within ${READY_TIMEOUT_MS / SECOND_MS} s`,
      next: 'Try again. If it happens often, give Docket more processor time.',
    },
  );

/** The thread's side of `taskThread`: processes one task at a time. */
export function serveTasks<Task, Answer>(answer: (task: Task) => Answer | Promise<Answer>): void {
  const port = parentPort;
  if (port === null) throw new Error('serveTasks runs in a worker thread only.');
  const post = (message: ThreadMessage) => port.postMessage(message);
  const work = async (task: Task): Promise<void> => {
    try {
      post({ answer: await answer(task) });
    } catch (thrown) {
      // A RangeError means that the stack or an array exceeded the memory.
      const exhausted = thrown instanceof RangeError;
      post({ failed: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown), exhausted });
    }
  };
  port.on('message', (task: Task) => void work(task));
  post('ready');
}
