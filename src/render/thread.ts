import type { MessagePort } from 'node:worker_threads';
import { type DocketError, type ErrorJson, toDocketError } from '../base/error.ts';
import type { Dataset, Row, Table } from '../fetch/dataset.ts';
import { type Rendered, type RenderRequest, renderHere } from './renderer.ts';

/** Rows that stand in memory follow a piece at a time: to copy a large table at once would hold up whoever sends it. */
export interface SentTable extends Omit<Table, 'rows'> {
  /** Null: they follow. Rows in a file are read here. */
  readonly rows: Table['rows'] | null;
}

export interface SentRequest extends Omit<RenderRequest, 'dataset'> {
  readonly dataset: Omit<Dataset, 'tables'> & { readonly tables: readonly SentTable[] };
}

/** Into the thread: rows of the table at `table`, then the end of all rows. */
export type Piece = { readonly table: number; readonly rows: readonly Row[] } | 'all';

export interface ThreadTask {
  readonly request: SentRequest;
  /** Says one word when the task begins, then takes pieces. Whoever closes its other end stops the task. */
  readonly port: MessagePort;
}

/** A `DocketError` as it travels: of an error's class, fields and causes a message between threads keeps nothing. */
export interface SentError {
  readonly json: ErrorJson;
  readonly retryable: boolean;
  /** For the log. */
  readonly stack: string | undefined;
}

export type ThreadAnswer =
  | { readonly kind: 'done'; readonly rendered: Rendered }
  | { readonly kind: 'failed'; readonly error: SentError }
  | { readonly kind: 'stopped' };

const sent = (error: DocketError): SentError => ({
  json: error.toJSON(),
  retryable: error.retryable,
  stack: (error.cause instanceof Error ? error.cause : error).stack,
});

/** Everything has come, or the signal is aborted. */
async function whole({ dataset, ...request }: SentRequest, port: MessagePort, stop: AbortSignal) {
  const pieces = dataset.tables.map((): Row[] => []);
  const complete = new Promise<void>((resolve, reject) => {
    stop.addEventListener('abort', () => reject(stop.reason), { once: true });
    port.on('message', (piece: Piece) => {
      if (piece === 'all') resolve();
      else for (const row of piece.rows) pieces[piece.table]?.push(row);
    });
  });
  port.postMessage('begun');
  await complete;
  const tables = dataset.tables.map((table, index): Table => ({ ...table, rows: table.rows ?? pieces[index] ?? [] }));
  return { ...request, dataset: { ...dataset, tables } };
}

/** What runs in the thread: see `renderPool`, whose other half this is. */
export default async function renderTask({ request, port }: ThreadTask): Promise<ThreadAnswer> {
  const stop = new AbortController();
  port.on('close', () => stop.abort(new Error('The task was stopped.')));
  try {
    const received = await whole(request, port, stop.signal);
    return { kind: 'done', rendered: await renderHere(received, stop.signal) };
  } catch (thrown) {
    return stop.signal.aborted ? { kind: 'stopped' } : { kind: 'failed', error: sent(toDocketError(thrown)) };
  } finally {
    port.close();
  }
}
