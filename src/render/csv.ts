import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { stringify } from 'csv-stringify/sync';
import type { Row, Table, Value } from '../fetch/dataset.ts';
import { rowsIn } from '../fetch/rows.ts';
import { type ViewColumn, viewColumns } from './columns.ts';

const BOM = '\ufeff';
/** Large enough to be quick, small enough that a long list never stands in memory as one string. */
const ROWS_A_CHUNK = 1000;

/** What a spreadsheet would take for a formula, blanks in front or full-width signs included. */
const FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/;

/** Text that a spreadsheet would run as a formula gets an apostrophe in front. Numbers are never touched. */
export const neutral = (value: Value): Value =>
  typeof value === 'string' && FORMULA.test(value) ? `'${value}` : value;

const line = (records: readonly (readonly Value[])[]): string =>
  stringify(
    records.map((record) => record.map(neutral)),
    {
      record_delimiter: 'windows',
      // It would quote a CR with its LF only; readers take either alone for the end of a record.
      quoted_match: /[\r\n]/,
      cast: { boolean: (value) => String(value), number: (value) => String(value) },
    },
  );

interface CsvColumn {
  readonly header: string;
  readonly read: (row: Row) => Value;
}

/** Changes are left out: they follow from the two values beside them, and an analyst computes from those. */
const dataColumns = (table: Table): CsvColumn[] => {
  const columns: CsvColumn[] = viewColumns(table)
    .filter((column) => column.role !== 'change' && column.role !== 'week')
    .map((column) => ({ header: column.rawHeader, read: column.read }));
  // Always there beside a time column, so that the file's shape does not depend on the day it was made.
  if (table.granularity !== null) columns.push({ header: 'Still running', read: (row) => row.partial });
  return columns;
};

async function write(path: string, chunks: Iterable<string>, signal: AbortSignal): Promise<void> {
  const file = createWriteStream(path, { encoding: 'utf8', flags: 'wx' });
  const closed = finished(file);
  // The failure is read from `closed`; without this a broken disk would also count as an unhandled rejection.
  closed.catch(() => {});
  try {
    for (const chunk of chunks) {
      signal.throwIfAborted();
      if (!file.write(chunk)) await Promise.race([once(file, 'drain'), closed]);
    }
    file.end();
  } catch (error) {
    file.destroy();
    throw error;
  }
  await closed;
}

function* dataChunks(table: Table): Iterable<string> {
  const columns = dataColumns(table);
  yield BOM + line([columns.map((column) => column.header)]);
  let chunk: Value[][] = [];
  for (const row of rowsIn(table.rows)) {
    chunk.push(columns.map((column) => column.read(row)));
    if (chunk.length < ROWS_A_CHUNK) continue;
    yield line(chunk);
    chunk = [];
  }
  if (chunk.length > 0) yield line(chunk);
}

/**
 * One section as CSV: UTF-8 with a byte order mark (Excel needs it), CRLF (RFC 4180), a header of label and unit, raw
 * values (ratio 0–1, seconds, ISO dates), enum values by label, nothing where a figure is undefined.
 * `path` must not exist. The totals are not in it: a sum over a column would count them twice. See `writeTotalsCsv`.
 */
export function writeCsv(path: string, table: Table, signal: AbortSignal): Promise<void> {
  return write(path, dataChunks(table), signal);
}

const isMetric = (column: ViewColumn): boolean => column.role === 'value' || column.role === 'previous';

/** The service's own totals of a section: one row, its metric columns as in the section's own file. */
export function writeTotalsCsv(path: string, table: Table, signal: AbortSignal): Promise<void> {
  const columns = viewColumns(table).filter(isMetric);
  const chunks = [
    BOM + line([columns.map((column) => column.rawHeader), columns.map((column) => column.total ?? null)]),
  ];
  return write(path, chunks, signal);
}
