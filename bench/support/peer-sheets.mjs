// The same figures as sheets for a peer: the cells of Docket's workbook as plain values, with the minimum formatting
// for a readable sheet. Rows are computed while they are written, so that a peer has all the memory; Docket must read
// them from a dataset.
import { LIST_COLUMNS, listValues, SECTION_COLUMNS, sectionValues } from './report-data.mjs';

const FORMATS = {
  day: 'ddd d mmm yyyy',
  instant: 'yyyy-mm-dd hh:mm:ss',
  count: '#,##0',
  ratio: '0.0%',
  seconds: '[h]:mm:ss',
  identifier: '0',
};
const DAY_SECONDS = 86_400;
const LIST_KINDS = { id: 'identifier', created_at: 'instant', score: 'count', reviewed_on: 'day' };

const kindOf = ({ kind, unit, name }) => (kind === 'time' ? 'day' : (unit ?? LIST_KINDS[name] ?? 'text'));

/** Excel counts days from 30 December 1899. */
const serial = (text) => Date.parse(text) / (DAY_SECONDS * 1000) + 25_569;

const READ = { day: serial, instant: serial, seconds: (value) => value / DAY_SECONDS };

const columnOf = (column) => {
  const kind = kindOf(column);
  const labels = new Map(column.values?.map(({ value, label }) => [value, label]));
  const read = READ[kind] ?? (labels.size === 0 ? (value) => value : (value) => labels.get(value));
  return { header: column.label, format: FORMATS[kind], width: 16, read };
};

const sheetOf = (name, columns, count, valuesOf, charted) => ({
  name,
  columns,
  count,
  charted,
  /** Values in the form of the service. */
  plainRows: {
    *[Symbol.iterator]() {
      for (let row = 0; row < count; row += 1) yield valuesOf(row);
    },
  },
  /** Arrays of numbers, texts and booleans, as in a workbook. */
  rows: {
    *[Symbol.iterator]() {
      for (let row = 0; row < count; row += 1) {
        yield valuesOf(row).map((value, index) => (value === null ? '–' : columns[index].read(value)));
      }
    },
  },
});

const sectionColumns = SECTION_COLUMNS.map(columnOf);

export const sectionSheets = (sections, rows) =>
  Array.from({ length: sections }, (_, section) =>
    sheetOf(`Section ${section}`, sectionColumns, rows, (row) => sectionValues(section, row), true),
  );

export const listSheets = (rows) => [sheetOf('List', LIST_COLUMNS.map(columnOf), rows, listValues, false)];
