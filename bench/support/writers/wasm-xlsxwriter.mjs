import { writeFileSync } from 'node:fs';
import { Chart, ChartRange, ChartSeries, Format, Workbook } from 'wasm-xlsxwriter';

/**
 * Writes a column per call, because each call leaves a wrapper to be collected: a cell per call takes twenty times as
 * long.
 */
export async function write(path, sheets) {
  const book = new Workbook();
  const bold = new Format().setBold();
  for (const { name, columns, rows, charted, count } of sheets) {
    const sheet = book.addWorksheet();
    sheet.setName(name);
    sheet.setFreezePanes(1, 0);
    const values = columns.map(() => []);
    for (const row of rows) for (const [index, value] of row.entries()) values[index].push(value);
    for (const [index, { header, width, format }] of columns.entries()) {
      sheet.setColumnWidth(index, width);
      sheet.writeStringWithFormat(0, index, header, bold);
      if (format === undefined) sheet.writeColumn(1, index, values[index]);
      else sheet.writeColumnWithFormat(1, index, values[index], new Format().setNumFormat(format));
    }
    sheet.autofilter(0, 0, count, columns.length - 1);
    if (charted) drawChart(sheet, name, count, columns.length);
  }
  writeFileSync(path, book.saveToBufferSync());
}

function drawChart(sheet, name, rows, columns) {
  const chart = Chart.newLine();
  const series = new ChartSeries()
    .setCategories(ChartRange.newFromRange(name, 1, 0, rows, 0))
    .setValues(ChartRange.newFromRange(name, 1, 3, rows, 3));
  chart.pushSeries(series);
  sheet.insertChart(1, columns + 1, chart);
}
