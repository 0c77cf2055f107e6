import { rm } from 'node:fs/promises';
import { csvColumns, csvSettings, writeCsv } from '../../../dist-modules/render/formats/csv/section-csv.js';

/** @type {(path: string, dataset: import('../../../dist-modules/fetch/dataset.js').Dataset) => Promise<void>} */
export async function write(path, { tables }) {
  for (const table of tables) {
    // writeCsv never overwrites a file.
    await rm(path, { force: true });
    const settings = csvSettings();
    await writeCsv(path, table, csvColumns(table, settings), settings, new AbortController().signal);
  }
}
