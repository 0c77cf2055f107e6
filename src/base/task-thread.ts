import { Worker } from 'node:worker_threads';
import type { Clock } from './clock.ts';

/** What became of a task. `over`: it took more time or memory than it may. `late`: it was not answered in time, for want of a turn or of a thread. `full`: too many are waiting already. */
export type TaskOutcome<Answer> =
  | { readonly kind: 'done'; readonly answer: Answer }
  | { readonly kind: 'over'; readonly of: 'time' | 'memory' }
  | { readonly kind: 'late' }
  | { readonly kind: 'full' };

export interface TaskThread<Task, Answer> {
  /**
   * Runs a task in the thread. Owners take turns, a task each. Rejects with what the task throws.
   * @param deadlineMs counted from the task's turn
   */
  run(owner: string, task: Task, deadlineMs: number): Promise<TaskOutcome<Answer>>;
  /** Ends the thread; tasks that are not done reject. */
  close(): Promise<void>;
}

export interface TaskThreadSettings {
  /** The thread's module; it calls `serveTasks`. */
  readonly entry: URL;
  readonly memoryMb: number;
  readonly clock: Clock;
  /** Tasks that may wait: of one owner, and of all. */
  readonly maxWaiting?: { readonly owner: number; readonly all: number };
  /** From `run` until whoever called it is answered, whatever the task waited for. Without it there is no such limit. */
  readonly answerMs?: number;
}

/** What the thread says: first that it is ready, then an answer for each task. */
export type ThreadMessage =
  | 'ready'
  | { readonly answer: unknown }
  | { readonly failed: string; readonly exhausted: boolean };

interface Job<Task, Answer> {
  readonly task: Task;
  readonly deadlineMs: number;
  readonly isAnswered: () => boolean;
  readonly resolve: (outcome: TaskOutcome<Answer>) => void;
  readonly reject: (error: unknown) => void;
}

interface Thread {
  readonly worker: Worker;
  readonly ready: Promise<void>;
}

/** Until a thread is ready, on a busy machine too. */
const READY_MS = 15_000;
/** A thread without work ends after this, with its memory. */
const IDLE_MS = 60_000;
const UNLIMITED = { owner: Number.POSITIVE_INFINITY, all: Number.POSITIVE_INFINITY };

/**
 * One thread for tasks that may take too long or too much memory. A task that does is given up with the thread, and
 * another thread takes its place. No thread is there before it is needed, and it sees nothing of the environment.
 */
export function taskThread<Task, Answer>(settings: TaskThreadSettings): TaskThread<Task, Answer> {
  const { entry, memoryMb, clock, maxWaiting = UNLIMITED, answerMs } = settings;
  // In the order of the owners' turns.
  const waiting = new Map<string, Job<Task, Answer>[]>();
  let count = 0;
  let thread: Thread | undefined;
  let busy = false;
  let closed = false;
  let idle = new AbortController();

  const start = (): Thread => {
    const worker = new Worker(entry, {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: Math.ceil(memoryMb / 4) },
    });
    const settled = new AbortController();
    const ready = new Promise<void>((resolve, reject) => {
      worker.once('message', () => resolve());
      worker.once('error', reject);
      worker.once('exit', () => reject(new Error(`The thread ${entry.pathname} ended before it was ready.`)));
      clock.sleep(READY_MS, settled.signal).then(
        () => reject(new Error(`The thread ${entry.pathname} was not ready within ${READY_MS / 1000} s.`)),
        () => {},
      );
    });
    // Whoever waits for it hears of it.
    ready.catch(() => {}).finally(() => settled.abort());
    // It may fail while nobody listens: the next task finds out.
    worker.on('error', () => {});
    const started = { worker, ready };
    worker.on('exit', () => {
      if (thread === started) thread = undefined;
    });
    return started;
  };

  const drop = async ({ replace = false } = {}): Promise<void> => {
    const dropped = thread;
    thread = replace ? start() : undefined;
    await dropped?.worker.terminate();
  };

  const ask = (worker: Worker, { task, deadlineMs }: Job<Task, Answer>): Promise<TaskOutcome<Answer>> =>
    new Promise((resolve, reject) => {
      const settled = new AbortController();
      const settle = (act: () => void) => {
        settled.abort();
        worker.off('message', hear);
        worker.off('error', fail);
        worker.off('exit', end);
        act();
      };
      const hear = (message: Exclude<ThreadMessage, 'ready'>) =>
        settle(() => {
          // What the thread answers is what `serveTasks` was given for this task.
          if ('answer' in message) resolve({ kind: 'done', answer: message.answer as Answer });
          else if (message.exhausted) resolve({ kind: 'over', of: 'memory' });
          else reject(new Error(message.failed));
        });
      const fail = (error: Error) =>
        settle(() => (isOutOfMemory(error) ? resolve({ kind: 'over', of: 'memory' }) : reject(error)));
      const end = () => settle(() => reject(new Error(`The thread ${entry.pathname} ended.`)));
      worker.on('message', hear);
      worker.on('error', fail);
      worker.on('exit', end);
      clock.sleep(deadlineMs, settled.signal).then(
        () => settle(() => resolve({ kind: 'over', of: 'time' })),
        () => {},
      );
      worker.postMessage(task);
    });

  const serve = async (job: Job<Task, Answer>): Promise<void> => {
    try {
      thread ??= start();
      const { worker, ready } = thread;
      await ready;
      if (job.isAnswered()) return;
      const outcome = await ask(worker, job);
      job.resolve(outcome);
      if (outcome.kind !== 'over') return;
      // The next one starts while this one ends.
      await drop({ replace: !closed });
    } catch (error) {
      job.reject(error);
      await drop();
    }
  };

  const next = (): Job<Task, Answer> | undefined => {
    const [first] = waiting;
    if (first === undefined) return undefined;
    const [owner, jobs] = first;
    const [job, ...others] = jobs;
    waiting.delete(owner);
    if (others.length > 0) waiting.set(owner, others);
    count -= 1;
    return job;
  };

  const withdraw = (owner: string, job: Job<Task, Answer>): void => {
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
    for (let job = next(); job !== undefined; job = next()) await serve(job);
    busy = false;
    idle = new AbortController();
    clock.sleep(IDLE_MS, idle.signal).then(
      () => (busy ? undefined : drop()),
      () => {},
    );
  };

  return {
    run: (owner, task, deadlineMs) =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new Error('The thread is closed.'));
        const own = waiting.get(owner) ?? [];
        if (own.length >= maxWaiting.owner || count >= maxWaiting.all) return resolve({ kind: 'full' });
        const answered = new AbortController();
        const job: Job<Task, Answer> = {
          task,
          deadlineMs,
          isAnswered: () => answered.signal.aborted,
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
        if (answerMs !== undefined) {
          clock.sleep(answerMs, answered.signal).then(
            () => {
              withdraw(owner, job);
              // Its turn may have come: then it goes on until its deadline, and the thread is not lost for the next one.
              job.resolve({ kind: 'late' });
            },
            () => {},
          );
        }
        void work();
      }),
    close: async () => {
      closed = true;
      for (const job of [...waiting.values()].flat()) job.reject(new Error('The thread is closed.'));
      waiting.clear();
      count = 0;
      await drop();
      idle.abort();
    },
  };
}

const isOutOfMemory = (error: Error): boolean => 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
