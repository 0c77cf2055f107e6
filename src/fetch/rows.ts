import { closeSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import { setImmediate } from 'node:timers/promises';
import type { Row, RowFile, Rows, Table, Value, WrongFigure } from './dataset.ts';

const READ_CHUNK_BYTES = 256 * 1024;

/** The rows in order; can be iterated repeatedly. A file is read synchronously, in chunks. */
export const iterateRows = (rows: Rows): Iterable<Row> =>
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

/** Whether any row matches. */
export function someRow(rows: Rows, predicate: (row: Row) => boolean): boolean {
  for (const row of iterateRows(rows)) if (predicate(row)) return true;
  return false;
}

/** Rows between two yields to the event loop: a few thousand cells, so a few milliseconds. */
const BATCH_SIZE = 250;

/** Yields to the event loop; a rejection ends the iteration. */
export type YieldToEventLoop = () => Promise<unknown>;

/** The rows in order, in batches, with a yield to the event loop after each. For tables of any length. */
export async function* rowBatches(
  rows: Rows,
  yieldToEventLoop: YieldToEventLoop = setImmediate,
): AsyncGenerator<readonly Row[]> {
  let batch: Row[] = [];
  for (const row of iterateRows(rows)) {
    batch.push(row);
    if (batch.length < BATCH_SIZE) continue;
    yield batch;
    batch = [];
    await yieldToEventLoop();
  }
  if (batch.length === 0) return;
  yield batch;
  await yieldToEventLoop();
}

function* rowsOfFile({ path, columns }: RowFile): Generator<Row> {
  for (const line of readLines(path)) {
    const record: Readonly<Record<string, Value>> = JSON.parse(line);
    yield { values: hasExactly(record, columns) ? record : pickColumns(record, columns), partial: false };
  }
}

/** Saves most records a copy, which would take as long as reading them. */
function hasExactly(record: object, columns: readonly string[]): boolean {
  const names = Object.keys(record);
  return names.length === columns.length && names.every((name, index) => name === columns[index]);
}

const pickColumns = (record: Readonly<Record<string, Value>>, columns: readonly string[]) =>
  Object.fromEntries(columns.map((name) => [name, record[name] ?? null]));

function* readLines(path: string): Generator<string> {
  const file = openSync(path, 'r');
  try {
    const chunk = Buffer.allocUnsafe(READ_CHUNK_BYTES);
    // A character may be split across two chunks.
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
  /** Closes the file and returns it as rows of these columns. */
  end(columns: readonly string[]): Promise<RowFile>;
  /** Closes the file without deleting it. Idempotent. */
  close(): Promise<void>;
}

/** Writes rows to a file. A file from an earlier attempt is replaced. */
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

/** Looks up whether a figure of a table cannot be right: one of its totals, or of a row. */
export type WrongFigures = ReturnType<typeof wrongFigures>;

export function wrongFigures({ columns, wrong = [] }: Pick<Table, 'columns' | 'wrong'>) {
  const keyOf = ({ metric, at }: WrongFigure): string =>
    JSON.stringify(typeof at === 'string' ? [metric, at] : [metric, at.bucket, ...at.group]);
  const keys = new Set(wrong.map(keyOf));
  const dimensions = columns.filter(({ kind }) => kind === 'dimension').map(({ name }) => name);
  const text = (value: Value | undefined): string | null => (typeof value === 'string' ? value : null);
  const has = (figure: WrongFigure): boolean => keys.size > 0 && keys.has(keyOf(figure));
  const inColumn = (metric: string): boolean => has({ metric, at: 'column' });
  return {
    inTotals: (metric: string): boolean => inColumn(metric) || has({ metric, at: 'totals' }),
    inRow: (metric: string, values: Row['values']): boolean =>
      inColumn(metric) ||
      has({ metric, at: { bucket: text(values.bucket), group: dimensions.map((name) => text(values[name])) } }),
  };
}
