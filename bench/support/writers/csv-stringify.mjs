import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify';

/** Its stream, and of its options those that make what ours is: a head, CRLF, no cell that a spreadsheet would compute. */
export async function write(path, sheets) {
  for (const { columns, plainRows } of sheets) {
    const options = { header: true, columns: columns.map(({ header }) => header), record_delimiter: 'windows' };
    const lines = stringify({ ...options, bom: true, escape_formulas: true, cast: { boolean: String } });
    await pipeline(Readable.from(plainRows), lines, createWriteStream(path));
  }
}
