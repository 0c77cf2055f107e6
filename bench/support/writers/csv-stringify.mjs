import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify';

/**
 * The stream of csv-stringify, with the options that give the same output as Docket's: a header, CRLF, and no cell that
 * a spreadsheet would compute.
 */
export async function write(path, sheets) {
  for (const { columns, plainRows } of sheets) {
    const options = { header: true, columns: columns.map(({ header }) => header), record_delimiter: 'windows' };
    const lines = stringify({ ...options, bom: true, escape_formulas: true, cast: { boolean: String } });
    await pipeline(Readable.from(plainRows), lines, createWriteStream(path));
  }
}
