import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { isErrno } from '../base/errno.ts';
import { DocketError } from '../base/error.ts';
import { MINUTE_MS, SECOND_MS } from '../base/time.ts';
import type { Dataset, Table } from '../fetch/dataset.ts';
import type { RenderTask, RenderTaskResult, RowChunk, SerializedError, SerializedTable } from './render-task.ts';
import type { Rendered, Renderer } from './renderer.ts';

/** Rows sent per turn of the event loop: a few thousand cells, which take a few milliseconds. */
export const ROWS_PER_CHUNK = 250;

/**
 * Heap limit of a thread. A workbook of two million cells needs a fraction of it; if one needs more, only the thread
 * must die.
 */
const MAX_MEMORY_MB = 1024;
/** An idle thread ends after this time and frees its memory. Starting another takes about a second. */
const IDLE_TIMEOUT_MS = MINUTE_MS;
/** How long a stopped task may clean up before its thread is terminated. */
const STOP_TIMEOUT_MS = 5 * SECOND_MS;

export interface RenderPool {
  readonly render: Renderer;
  /** Starts a thread before the first report is ready to render, so that it loads while the data is fetched. */
  warmUp(): void;
  close(): Promise<void>;
}

export interface RenderPoolOptions {
  readonly threads?: number;
  readonly memoryMb?: number;
  /** The module that a thread runs. Its default export is the result of `createRenderTask`. */
  readonly entry: URL;
}

/**
 * Renders in worker threads, so that the calling thread stays responsive. Threads start on demand. They have no
 * environment variables: secrets reach them only in a request.
 */
export function renderPool({ threads, memoryMb = MAX_MEMORY_MB, entry }: RenderPoolOptions): RenderPool {
  let opened: Piscina<RenderTask, RenderTaskResult> | undefined;
  let closed = false;
  const open = (minThreads = 0) => {
    opened ??= new Piscina<RenderTask, RenderTaskResult>({
      filename: entry.href,
      minThreads,
      maxThreads: threads ?? Math.max(1, Math.min(2, availableParallelism() - 1)),
      idleTimeout: IDLE_TIMEOUT_MS,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
      env: {},
    });
    return opened;
  };
  return {
    render: async (request, signal) => {
      signal.throwIfAborted();
      const { org, report } = request.dataset;
      try {
        return await runTask(open(), request, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (closed)
          throw new DocketError('run.cancelled', 'Rendering was cancelled: Docket is shutting down.', { cause: error });
        throw isErrno(error, 'ERR_WORKER_OUT_OF_MEMORY')
          ? outOfMemoryError(`${org}/${report}`, memoryMb, error)
          : error;
      }
    },
    // If a thread cannot start, the report that needs it will fail with the error.
    warmUp: () => void open(1).on('error', () => {}),
    close: async () => {
      closed = true;
      await opened?.destroy();
    },
  };
}

const outOfMemoryError = (report: string, memoryMb: number, cause: unknown): DocketError =>
  new DocketError('render.failed', `The files of ${report} exceed the memory limit of one report.`, {
    expected: `at most ${memoryMb} MB`,
    next: 'Split the report into several, or narrow its sections.',
    cause,
  });

async function runTask(
  pool: Piscina<RenderTask, RenderTaskResult>,
  { dataset, ...request }: Parameters<Renderer>[0],
  signal: AbortSignal,
): Promise<Rendered> {
  const { port1: port, port2: workerPort } = new MessageChannel();
  const claim = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const termination = new AbortController();
  let stopTimeout: NodeJS.Timeout | undefined;
  // A few rows are sent with the request: separate messages would cost more than rendering them.
  const sent = rowsInMemory(dataset) <= ROWS_PER_CHUNK ? dataset : withoutRows(dataset);
  const begun = sent === dataset ? undefined : once(port, 'message');
  const result = pool.run(
    { request: { ...request, dataset: sent }, port: workerPort, claim },
    { transferList: [workerPort], signal: termination.signal },
  );
  // Nobody awaits a task that is cancelled before it begins, so its rejection must be handled here.
  result.catch(() => {});
  let cancel: (() => void) | undefined;
  const cancelled = new Promise<never>((_, reject) => {
    cancel = () => reject(signal.reason);
  });
  const stop = () => {
    port.close();
    if (Atomics.exchange(claim, 0, 1) === 0) cancel?.();
    else stopTimeout = setTimeout(() => termination.abort(), STOP_TIMEOUT_MS);
  };
  signal.addEventListener('abort', stop, { once: true });
  const ended = Promise.race([result, cancelled]);
  try {
    // A thread that fails to start rejects `result` and sends no message.
    if (begun !== undefined) {
      await Promise.race([begun, ended]);
      await sendRows(dataset.tables, port, signal);
    }
    return unwrapResult(await ended);
  } finally {
    signal.removeEventListener('abort', stop);
    clearTimeout(stopTimeout);
    port.close();
  }
}

const rowsInMemory = ({ tables }: Dataset): number =>
  tables.reduce((sum, { rows }) => sum + ('path' in rows ? 0 : rows.length), 0);

const isInMemory = ({ rows }: Table): boolean => !('path' in rows);

const withoutRows = (dataset: Dataset): RenderTask['request']['dataset'] => ({
  ...dataset,
  tables: dataset.tables.map((table): SerializedTable => (isInMemory(table) ? { ...table, rows: null } : table)),
});

async function sendRows(tables: readonly Table[], port: MessagePort, signal: AbortSignal): Promise<void> {
  const send = (chunk: RowChunk) => port.postMessage(chunk);
  for (const [table, { rows }] of tables.entries()) {
    if ('path' in rows) continue;
    for (let at = 0; at < rows.length && !signal.aborted; at += ROWS_PER_CHUNK) {
      send({ table, rows: rows.slice(at, at + ROWS_PER_CHUNK) });
      await setImmediate();
    }
  }
  if (!signal.aborted) send('all');
}

function unwrapResult(result: RenderTaskResult): Rendered {
  if (result.kind === 'done') return result.rendered;
  throw result.kind === 'failed'
    ? deserializeError(result.error)
    : new DocketError('run.cancelled', 'Rendering was cancelled.');
}

/** The error that was thrown in the thread. Its cause has the thread's stack. */
function deserializeError({ json, retryable, transient, stack }: SerializedError): DocketError {
  const { code, message, correlation_id: correlationId, ...detail } = json;
  const cause = new Error(message);
  if (stack !== undefined) cause.stack = stack;
  return new DocketError(code, message, {
    ...detail,
    ...(correlationId === undefined ? {} : { correlationId }),
    retryable,
    ...(transient === undefined ? {} : { transient }),
    cause,
  });
}
