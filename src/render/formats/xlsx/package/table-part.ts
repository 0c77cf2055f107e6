import { columnLetters, escapeXml, type PackagePart, toLegalText, XML_DECLARATION } from './xml-text.ts';

/** The range of an Excel table, which starts in the first column. */
export interface TableRange {
  /** The table's name is derived from it. */
  readonly id: string;
  /** Counted from 1. */
  readonly headerRow: number;
  readonly headers: readonly string[];
  /** Rows below the header; at least one. */
  readonly rows: number;
  /** Which headers have a filter button. None: the table has no filter. */
  readonly filters: readonly boolean[];
}

/** Excel's limit, in UTF-16 units. */
const MAX_COLUMN_NAME_LENGTH = 255;
const MAX_TABLE_NAME_LENGTH = 200;

/** Whether the range can be an Excel table: it has a row and a column, and its headers are unique regardless of case. */
export function canBeTable({ rows, headers }: Pick<TableRange, 'rows' | 'headers'>): boolean {
  const names = new Set(headers.map((header) => toLegalText(header).toLowerCase()));
  const unique = names.size > 0 && names.size === headers.length;
  return rows > 0 && unique && headers.every((header) => isColumnName(header));
}

const isColumnName = (header: string): boolean => header !== '' && toLegalText(header).length <= MAX_COLUMN_NAME_LENGTH;

/** E.g. `table_onboarding`: never a cell address (`q1`) or a reserved name, and unique regardless of case. */
function uniqueTableName(id: string, taken: Set<string>): string {
  const stem = `table_${id.replace(/[^A-Za-z0-9_]/g, '_')}`.slice(0, MAX_TABLE_NAME_LENGTH);
  let name = stem;
  for (let count = 2; taken.has(name.toLowerCase()); count += 1) name = `${stem}_${count}`;
  taken.add(name.toLowerCase());
  return name;
}

/** A header's text as an attribute, where XML readers turn a plain line break into a space. */
const headerAttribute = (header: string): string =>
  escapeXml(header).replaceAll('\n', '_x000a_').replaceAll('\t', '_x0009_');

/** The filter of a range, in which a program can show the buttons that are hidden. */
function filterXml(range: string, filters: readonly boolean[]): string {
  if (!filters.includes(true)) return '';
  const hidden = filters.map((has, index) => (has ? '' : `<filterColumn colId="${index}" hiddenButton="1"/>`)).join('');
  return hidden === '' ? `<autoFilter ref="${range}"/>` : `<autoFilter ref="${range}">${hidden}</autoFilter>`;
}

/**
 * The part of a table (ECMA-376 part 1 §18.5), without a totals row: Excel would compute it, and totals are the service's.
 * @param taken names of the workbook's earlier tables in lower case; the new one is added
 */
export function tablePart(table: TableRange, taken: Set<string>): { part: PackagePart; target: string } {
  const name = uniqueTableName(table.id, taken);
  const file = `table${taken.size}.xml`;
  const last = columnLetters(table.headers.length - 1);
  const range = `A${table.headerRow}:${last}${table.headerRow + table.rows}`;
  const columns = table.headers
    .map((header, index) => `<tableColumn id="${index + 1}" name="${headerAttribute(header)}"/>`)
    .join('');
  const xml =
    XML_DECLARATION +
    `<table xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" id="${taken.size}" name="${name}" displayName="${name}" ref="${range}" totalsRowShown="0">` +
    `${filterXml(range, table.filters)}<tableColumns count="${table.headers.length}">${columns}</tableColumns>` +
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
