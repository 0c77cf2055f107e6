import exceljs from 'exceljs';

/** Follows its documentation. */
export async function write(path, sheets) {
  const book = new exceljs.Workbook();
  for (const { name, columns, rows } of sheets) {
    const sheet = book.addWorksheet(name, { views: [{ state: 'frozen', ySplit: 1 }] });
    sheet.columns = columns.map(({ header, width, format }) => ({ header, width, style: { numFmt: format } }));
    sheet.getRow(1).font = { name: 'Calibri', bold: true };
    for (const row of rows) sheet.addRow(row);
    sheet.autoFilter = { from: { row: 1, column: 1 }, to: { row: sheet.rowCount, column: columns.length } };
  }
  await book.xlsx.writeFile(path);
}
