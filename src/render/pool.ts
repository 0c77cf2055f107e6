import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { DocketError } from '../base/error.ts';
import type { Dataset, Table } from '../fetch/dataset.ts';
import type { Rendered, Renderer } from './renderer.ts';
import type { Piece, SentError, SentTable, ThreadAnswer, ThreadTask } from './thread.ts';

/** Rows that are copied between two turns of the event loop: some thousand cells, a few milliseconds. */
export const ROWS_A_PIECE = 250;

/** Of a thread. A workbook of two million cells needs a fraction; what needs more must not take the process with it. */
const MEMORY_MB = 1024;
/** A thread without work goes after this, with the memory of its last report; the next takes about a second to start. */
const IDLE_MS = 60_000;
/** A stopped task cleans up after itself; one that does not answer by then is ended with its thread. */
const GRACE_MS = 5_000;

/** The thread's code, as it is built: beside `src/` and `dist/` alike. */
const ENTRY = new URL('../../dist/render/thread.js', import.meta.url).href;

export interface RenderPool {
  readonly render: Renderer;
  close(): Promise<void>;
}

export interface PoolSettings {
  readonly threads?: number;
  readonly memoryMb?: number;
}

/**
 * Renders in threads of its own, so that the thread that calls it keeps answering. No thread is there before it is
 * needed. They see nothing of the environment: whatever is secret reaches them with the request or not at all.
 */
export function renderPool({ threads, memoryMb = MEMORY_MB }: PoolSettings = {}): RenderPool {
  let opened: Piscina<ThreadTask, ThreadAnswer> | undefined;
  let closed = false;
  const open = () => {
    opened ??= new Piscina<ThreadTask, ThreadAnswer>({
      filename: ENTRY,
      minThreads: 0,
      maxThreads: threads ?? Math.max(1, Math.min(2, availableParallelism() - 1)),
      idleTimeout: IDLE_MS,
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
        return await handOver(open(), request, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (closed)
          throw new DocketError('run.cancelled', 'The report was stopped: Docket is closing.', { cause: error });
        throw isCode(error, 'ERR_WORKER_OUT_OF_MEMORY') ? tooLarge(`${org}/${report}`, memoryMb, error) : error;
      }
    },
    close: async () => {
      closed = true;
      await opened?.destroy();
    },
  };
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

const tooLarge = (report: string, memoryMb: number, cause: unknown): DocketError =>
  new DocketError('render.failed', `The files of ${report} need more memory than a report may take.`, {
    expected: `at most ${memoryMb} MB`,
    next: 'Split the report into several, or narrow its sections.',
    cause,
  });

async function handOver(
  pool: Piscina<ThreadTask, ThreadAnswer>,
  { dataset, ...request }: Parameters<Renderer>[0],
  signal: AbortSignal,
): Promise<Rendered> {
  const { port1: port, port2: theirs } = new MessageChannel();
  const kill = new AbortController();
  let grace: NodeJS.Timeout | undefined;
  const stop = () => {
    port.close();
    grace = setTimeout(() => kill.abort(), GRACE_MS);
  };
  const begun = once(port, 'message', { signal });
  const answer = pool.run(
    { request: { ...request, dataset: withoutRows(dataset) }, port: theirs },
    { transferList: [theirs], signal: kill.signal },
  );
  // Where the task is given up before it began, nobody waits for its answer.
  answer.catch(() => {});
  signal.addEventListener('abort', stop, { once: true });
  try {
    // A thread that cannot start answers with its failure and never begins.
    await Promise.race([begun, answer]);
    await sendRows(dataset.tables, port, signal);
    return renderedOf(await answer);
  } finally {
    signal.removeEventListener('abort', stop);
    clearTimeout(grace);
    port.close();
  }
}

const isPlain = ({ rows }: Table): boolean => !('path' in rows);

const withoutRows = (dataset: Dataset): ThreadTask['request']['dataset'] => ({
  ...dataset,
  tables: dataset.tables.map((table): SentTable => (isPlain(table) ? { ...table, rows: null } : table)),
});

async function sendRows(tables: readonly Table[], port: MessagePort, signal: AbortSignal): Promise<void> {
  const send = (piece: Piece) => port.postMessage(piece);
  for (const [table, { rows }] of tables.entries()) {
    if ('path' in rows) continue;
    for (let at = 0; at < rows.length && !signal.aborted; at += ROWS_A_PIECE) {
      send({ table, rows: rows.slice(at, at + ROWS_A_PIECE) });
      await setImmediate();
    }
  }
  if (!signal.aborted) send('all');
}

function renderedOf(answer: ThreadAnswer): Rendered {
  if (answer.kind === 'done') return answer.rendered;
  throw answer.kind === 'failed' ? received(answer.error) : new DocketError('run.cancelled', 'The report was stopped.');
}

/** The error as it was thrown in the thread; its cause is the stack of there. */
function received({ json, retryable, stack }: SentError): DocketError {
  const { code, message, correlation_id: correlationId, ...detail } = json;
  const cause = new Error(message);
  if (stack !== undefined) cause.stack = stack;
  return new DocketError(code, message, {
    ...detail,
    ...(correlationId === undefined ? {} : { correlationId }),
    retryable,
    cause,
  });
}
