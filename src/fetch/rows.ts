import { closeSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import { setImmediate } from 'node:timers/promises';
import type { Row, Value } from './dataset.ts';

/** Rows in a file, one JSON object a line, keyed by column name: a list may be longer than memory. */
export interface RowFile {
  readonly path: string;
  /** How many rows there are. */
  readonly length: number;
  readonly columns: readonly string[];
}

/** Rows of a table, in memory or in a file; either way they travel between threads. Read them with `rowsIn`. */
export type Rows = readonly Row[] | RowFile;

const CHUNK_BYTES = 256 * 1024;

/** The rows in their order, as often as asked for. Those of a file are read a piece at a time, and synchronously. */
export const rowsIn = (rows: Rows): Iterable<Row> =>
  'path' in rows ? { [Symbol.iterator]: () => rowsOfFile(rows) } : rows;

/** The first rows, at most `count`. */
export function firstRows(rows: Rows, count: number): readonly Row[] {
  if (!('path' in rows)) return rows.slice(0, count);
  const first: Row[] = [];
  for (const row of rowsOfFile(rows)) {
    if (first.length >= count) break;
    first.push(row);
  }
  return first;
}

/** Whether any row is like this. */
export function someRow(rows: Rows, like: (row: Row) => boolean): boolean {
  for (const row of rowsIn(rows)) if (like(row)) return true;
  return false;
}

/** Rows between two turns of the event loop: some thousand cells, a few milliseconds. */
const BATCH_SIZE = 250;

/** Gives the event loop a turn; a rejection ends the reading. */
export type Turn = () => Promise<unknown>;

/** The rows in their order, some at a time, with a turn of the event loop after each batch: for tables of any length. */
export async function* rowBatches(rows: Rows, turn: Turn = setImmediate): AsyncGenerator<readonly Row[]> {
  let batch: Row[] = [];
  for (const row of rowsIn(rows)) {
    batch.push(row);
    if (batch.length < BATCH_SIZE) continue;
    yield batch;
    batch = [];
    await turn();
  }
  if (batch.length === 0) return;
  yield batch;
  await turn();
}

function* rowsOfFile({ path, columns }: RowFile): Generator<Row> {
  for (const line of linesOf(path)) {
    const record: Readonly<Record<string, Value>> = JSON.parse(line);
    yield { values: hasJust(record, columns) ? record : onlyColumns(record, columns), partial: false };
  }
}

/** Most records have just these fields in this order, and to copy one takes as long as to read it. */
function hasJust(record: object, columns: readonly string[]): boolean {
  const names = Object.keys(record);
  return names.length === columns.length && names.every((name, index) => name === columns[index]);
}

const onlyColumns = (record: Readonly<Record<string, Value>>, columns: readonly string[]) =>
  Object.fromEntries(columns.map((name) => [name, record[name] ?? null]));

function* linesOf(path: string): Generator<string> {
  const file = openSync(path, 'r');
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    // A character may begin in one piece and end in the next.
    const decoder = new StringDecoder('utf8');
    let rest = '';
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      const lines = (rest + decoder.write(chunk.subarray(0, read))).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } finally {
    closeSync(file);
  }
}

export interface RowWriter {
  append(records: readonly Readonly<Record<string, Value>>[]): Promise<void>;
  /** The file as rows of these columns. */
  end(columns: readonly string[]): Promise<RowFile>;
  /** Lets go of the file, which stays where it is; harmless after `end`. */
  close(): Promise<void>;
}

/** Writes rows to a new file, or over one that an earlier try left. */
export async function writeRows(path: string): Promise<RowWriter> {
  const file = await open(path, 'w', 0o600);
  let length = 0;
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= file.close();
    return closed;
  };
  return {
    append: async (records) => {
      length += records.length;
      await file.appendFile(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    },
    end: async (columns) => {
      await close();
      return { path, length, columns };
    },
    close,
  };
}
