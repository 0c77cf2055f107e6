import exceljs from 'exceljs';
import { inspectFilled, ROWS_ABOVE, writeSampleTemplate } from '../template-book.mjs';

export const prepare = writeSampleTemplate;
export const inspect = inspectFilled;

/** Loads, writes the cells, saves: it has no access to the rows of loaded tables. */
export async function write(path, [{ plainRows }], template) {
  const book = new exceljs.Workbook();
  await book.xlsx.readFile(template);
  const sheet = book.getWorksheet('List');
  let number = ROWS_ABOVE;
  for (const values of plainRows) {
    number += 1;
    sheet.getRow(number).values = values;
  }
  await book.xlsx.writeFile(path);
}
