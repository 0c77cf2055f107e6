// A template with typical content: a table that other cells depend on, a line chart over it, a note, and the author's
// own columns. Made with wasm-xlsxwriter, which supports tables and charts.
import { readFileSync, writeFileSync } from 'node:fs';
import { strFromU8, unzipSync } from 'fflate';
import {
  Chart,
  ChartRange,
  ChartSeries,
  Format,
  Formula,
  Note,
  Table,
  TableColumn,
  TableFunction,
  Workbook,
} from 'wasm-xlsxwriter';
import { LIST_COLUMNS, listValues } from './report-data.mjs';

/** Rows of sample data. In the template of xlsx-template, one row of placeholders replaces them. */
const SAMPLE = 3;
/** The row of the headers, counted from 0. */
const HEADER = 4;
/** Rows of `List` above the first row of data. */
export const ROWS_ABOVE = HEADER + 1;
const HEADERS = LIST_COLUMNS.map(({ name }) => name);
const SCORE = HEADERS.indexOf('score');

/** @param {(row: number, column: string) => string | number | boolean} cellOf */
function writeTemplate(path, rows, cellOf) {
  const book = new Workbook();
  const sheet = book.addWorksheet();
  sheet.setName('List');
  sheet.writeStringWithFormat(0, 0, 'Everybody', new Format().setBold().setFontSize(18));
  sheet.writeFormula(1, 1, new Formula('=SUM(list[score])'));
  sheet.insertNote(1, 1, new Note('Who is above 9,000 is looked at.'));
  sheet.setFreezePanes(ROWS_ABOVE, 0);
  const number = new Format().setNumFormat('#,##0.0').setItalic();
  const columns = HEADERS.map((header, index) => {
    const column = new TableColumn().setHeader(header);
    return index === SCORE ? column.setFormat(number).setTotalFunction(TableFunction.sum()) : column;
  });
  columns.push(new TableColumn().setHeader('Half').setFormula(new Formula('=[@score]/2')));
  const table = new Table().setName('list').setColumns(columns).setTotalRow(true);
  sheet.addTable(HEADER, 0, HEADER + rows + 1, columns.length - 1, table);
  for (let row = 0; row < rows; row += 1) {
    for (const [column, header] of HEADERS.entries()) sheet.write(ROWS_ABOVE + row, column, cellOf(row, header));
  }
  const chart = Chart.newLine();
  chart.pushSeries(
    new ChartSeries()
      .setCategories(ChartRange.newFromRange('List', ROWS_ABOVE, 0, HEADER + rows, 0))
      .setValues(ChartRange.newFromRange('List', ROWS_ABOVE, SCORE, HEADER + rows, SCORE)),
  );
  sheet.insertChart(1, columns.length + 1, chart);
  writeFileSync(path, book.saveToBufferSync());
}

/** The template for Docket and exceljs. */
export function writeSampleTemplate(path) {
  const sample = Array.from({ length: SAMPLE }, (_, row) => listValues(row));
  writeTemplate(path, SAMPLE, (row, column) => sample[row][HEADERS.indexOf(column)] ?? '');
}

/** The template for xlsx-template, with one row that it repeats. */
export const writePlaceholderTemplate = (path) => writeTemplate(path, 1, (_, column) => `\${table:people.${column}}`);

const rowsOf = (range) => {
  const [from, to] = (range?.match(/\d+(?=\D*$|:)/g) ?? []).map(Number);
  return from === undefined ? 0 : (to ?? from) - from + 1;
};

/** The number of rows that the chart and the table of a filled workbook cover; 0 if it is gone. */
export function inspectFilled(path) {
  const parts = unzipSync(readFileSync(path), {
    filter: ({ name }) => /^xl\/(charts\/chart|tables\/table)\d+\.xml$/.test(name),
  });
  const textOf = (pattern) => {
    const name = Object.keys(parts).find((each) => pattern.test(each));
    return name === undefined ? '' : strFromU8(parts[name]);
  };
  const [, values] = /<c:val>[\s\S]*?<c:f>([^<]*)</.exec(textOf(/chart/)) ?? [];
  const [, range] = /<table [^>]*\bref="([^"]*)"/.exec(textOf(/table\d/)) ?? [];
  return { chart_rows: rowsOf(values), table_rows: Math.max(0, rowsOf(range) - 2) };
}
