import { writeFileSync } from 'node:fs';
import { write as toBytes, utils } from '@e965/xlsx';

/** Its free edition has no bold header and no frozen row. */
export async function write(path, sheets) {
  const book = utils.book_new();
  for (const { name, columns, rows } of sheets) {
    const lines = [columns.map(({ header }) => header)];
    for (const row of rows) {
      lines.push(row.map((v, index) => (typeof v === 'number' ? { t: 'n', v, z: columns[index].format } : v)));
    }
    const sheet = utils.aoa_to_sheet(lines, { dense: true });
    sheet['!cols'] = columns.map(({ width }) => ({ wch: width }));
    sheet['!autofilter'] = { ref: sheet['!ref'] };
    utils.book_append_sheet(book, sheet, name);
  }
  writeFileSync(path, toBytes(book, { type: 'buffer', bookType: 'xlsx', compression: true }));
}
