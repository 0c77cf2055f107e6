import exceljs from 'exceljs';

/** Follows its documentation. */
export async function write(path, sheets) {
  const book = new exceljs.stream.xlsx.WorkbookWriter({ filename: path, useStyles: true });
  for (const { name, columns, rows, count } of sheets) {
    const sheet = book.addWorksheet(name, { views: [{ state: 'frozen', ySplit: 1 }] });
    sheet.columns = columns.map(({ header, width, format }) => ({ header, width, style: { numFmt: format } }));
    sheet.getRow(1).font = { name: 'Calibri', bold: true };
    for (const row of rows) sheet.addRow(row).commit();
    sheet.autoFilter = { from: { row: 1, column: 1 }, to: { row: count + 1, column: columns.length } };
    sheet.commit();
  }
  await book.commit();
}
