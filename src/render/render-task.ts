import type { MessagePort } from 'node:worker_threads';
import { type DocketError, type ErrorJson, toDocketError } from '../base/error.ts';
import type { Dataset, Row, Table } from '../fetch/dataset.ts';
import type { Rendered, Renderer, RenderRequest } from './renderer.ts';

/** A table whose in-memory rows follow in chunks. Copying a large table at once would block the sending thread. */
export interface SerializedTable extends Omit<Table, 'rows'> {
  /** Null if the rows follow in chunks. The render thread reads rows in a file itself. */
  readonly rows: Table['rows'] | null;
}

export interface SerializedRequest extends Omit<RenderRequest, 'dataset'> {
  readonly dataset: Omit<Dataset, 'tables'> & { readonly tables: readonly SerializedTable[] };
}

/** Rows of the table at index `table`. `all` marks the end. */
export type RowChunk = { readonly table: number; readonly rows: readonly Row[] } | 'all';

export interface RenderTask {
  readonly request: SerializedRequest;
  /** The task sends `begun` if rows follow, then receives them in chunks. Closing the other end stops the task. */
  readonly port: MessagePort;
  /**
   * One shared number, 0 at first. It is set to 1 by the thread that begins the task, or by the caller that cancels it
   * before.
   */
  readonly claim: Int32Array;
}

/** A `DocketError` as it is sent between threads, where an error loses its class, fields and cause. */
export interface SerializedError {
  readonly json: ErrorJson;
  readonly retryable: boolean;
  readonly transient: boolean | undefined;
  /** For the log. */
  readonly stack: string | undefined;
}

export type RenderTaskResult =
  | { readonly kind: 'done'; readonly rendered: Rendered }
  | { readonly kind: 'failed'; readonly error: SerializedError }
  | { readonly kind: 'stopped' };

const serializeError = (error: DocketError): SerializedError => ({
  json: error.toJSON(),
  retryable: error.retryable,
  transient: error.transient,
  stack: (error.cause instanceof Error ? error.cause : error).stack,
});

/** Resolves when all rows have arrived; rejects when `stop` is aborted. */
async function receiveRows(tables: readonly SerializedTable[], port: MessagePort, stop: AbortSignal): Promise<Table[]> {
  const rows = tables.map((): Row[] => []);
  const complete = new Promise<void>((resolve, reject) => {
    stop.addEventListener('abort', () => reject(stop.reason), { once: true });
    port.on('message', (chunk: RowChunk) => {
      if (chunk === 'all') resolve();
      else for (const row of chunk.rows) rows[chunk.table]?.push(row);
    });
  });
  port.postMessage('begun');
  await complete;
  return tables.map((table, index): Table => ({ ...table, rows: table.rows ?? rows[index] ?? [] }));
}

const hasRows = (table: SerializedTable): table is Table => table.rows !== null;

/** Creates the function that a render thread runs: the counterpart of `renderPool`. */
export const createRenderTask =
  (render: Renderer) =>
  async ({ request, port, claim }: RenderTask): Promise<RenderTaskResult> => {
    if (Atomics.exchange(claim, 0, 1) !== 0) return { kind: 'stopped' };
    const { dataset } = request;
    const stop = new AbortController();
    port.on('close', () => stop.abort(new Error('The task was stopped.')));
    try {
      const { tables } = dataset;
      const complete = tables.every(hasRows) ? tables : await receiveRows(tables, port, stop.signal);
      const rendered = await render({ ...request, dataset: { ...dataset, tables: complete } }, stop.signal);
      return { kind: 'done', rendered };
    } catch (thrown) {
      return stop.signal.aborted
        ? { kind: 'stopped' }
        : { kind: 'failed', error: serializeError(toDocketError(thrown)) };
    } finally {
      port.close();
    }
  };
