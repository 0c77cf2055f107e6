import type { Part } from './drawing.ts';
import { legalText, xmlText } from './text.ts';

/** A range of a sheet that Excel knows as a table: it sorts, filters and grows, and formulas may name its columns. */
export interface TableRange {
  /** What it is named after; what Excel allows of it is kept. */
  readonly id: string;
  /** The row of the headers, counted from 1. It begins in the first column. */
  readonly headerRow: number;
  /** The texts of the header's cells, in order. */
  readonly headers: readonly string[];
  /** Rows below the header; at least one. */
  readonly rows: number;
  /** Whether the headers have buttons to filter and sort. */
  readonly filter: boolean;
}

/** Excel's limit, in UTF-16 units. */
const MAX_COLUMN_NAME = 255;
const MAX_NAME = 200;

/** `A`, `B`, … `AA` of a column counted from 0. */
export const columnName = (index: number): string =>
  index < 26 ? String.fromCharCode(65 + index) : columnName(Math.floor(index / 26) - 1) + columnName(index % 26);

/**
 * Whether Excel would take it as a table: there is a row and a column, and every header is a name of its own, whatever its case.
 * What is none keeps its header, its filter and its figures; only the table's name is missing.
 */
export function canBeTable({ rows, headers }: Pick<TableRange, 'rows' | 'headers'>): boolean {
  const names = new Set(headers.map((header) => legalText(header).toLowerCase()));
  const unique = names.size > 0 && names.size === headers.length;
  return rows > 0 && unique && headers.every((header) => isColumnName(header));
}

const isColumnName = (header: string): boolean => header !== '' && legalText(header).length <= MAX_COLUMN_NAME;

/** `table_onboarding`: never a cell's address (`q1`) nor one of Excel's own names, and taken once, whatever its case. */
function nameOf(id: string, taken: Set<string>): string {
  const stem = `table_${id.replace(/[^A-Za-z0-9_]/g, '_')}`.slice(0, MAX_NAME);
  let name = stem;
  for (let count = 2; taken.has(name.toLowerCase()); count += 1) name = `${stem}_${count}`;
  taken.add(name.toLowerCase());
  return name;
}

/** A header's text as the table repeats it: a line break inside an attribute would be read as a space. */
const attribute = (header: string): string => xmlText(header).replaceAll('\n', '_x000a_').replaceAll('\t', '_x0009_');

/**
 * The part of a table (ECMA-376 part 1 §18.5). Its totals are none of its rows: a totals row of Excel adds up, and ours
 * are the service's.
 * @param taken names of the tables before it in the workbook, lower-case; the new one is added
 */
export function tablePart(table: TableRange, taken: Set<string>): { part: Part; target: string } {
  const name = nameOf(table.id, taken);
  const file = `table${taken.size}.xml`;
  const last = columnName(table.headers.length - 1);
  const range = `A${table.headerRow}:${last}${table.headerRow + table.rows}`;
  const columns = table.headers
    .map((header, index) => `<tableColumn id="${index + 1}" name="${attribute(header)}"/>`)
    .join('');
  const xml =
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n' +
    `<table xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" id="${taken.size}" name="${name}" displayName="${name}" ref="${range}" totalsRowShown="0">` +
    `${table.filter ? `<autoFilter ref="${range}"/>` : ''}<tableColumns count="${table.headers.length}">${columns}</tableColumns>` +
    '<tableStyleInfo showFirstColumn="0" showLastColumn="0" showRowStripes="0" showColumnStripes="0"/></table>';
  return {
    part: {
      name: `xl/tables/${file}`,
      contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.table+xml',
      xml,
    },
    target: `../tables/${file}`,
  };
}
