import { columnLetters, escapeXml, type PackagePart, toLegalText, XML_DECLARATION } from './xml-text.ts';

/** The range of an Excel table, which starts in the first column. */
export interface TableRange {
  /** Used for the table's name. */
  readonly id: string;
  /** Counted from 1. */
  readonly headerRow: number;
  readonly headers: readonly string[];
  /** The number of rows below the header; at least one. */
  readonly rows: number;
  /** Which headers have a filter button. If none has, the table has no filter. */
  readonly filters: readonly boolean[];
}

/** Excel's limit, in UTF-16 units. */
const MAX_COLUMN_NAME_LENGTH = 255;
const MAX_TABLE_NAME_LENGTH = 200;

/** Whether a range can be an Excel table: it has a row and a column, and its headers are unique, ignoring case. */
export function canBeTable({ rows, headers }: Pick<TableRange, 'rows' | 'headers'>): boolean {
  const names = new Set(headers.map((header) => toLegalText(header).toLowerCase()));
  const unique = names.size > 0 && names.size === headers.length;
  return rows > 0 && unique && headers.every((header) => isColumnName(header));
}

const isColumnName = (header: string): boolean => header !== '' && toLegalText(header).length <= MAX_COLUMN_NAME_LENGTH;

/**
 * A name such as `table_onboarding`. It is never a cell address (`q1`) or a reserved name, and is unique, ignoring
 * case.
 */
function uniqueTableName(id: string, taken: Set<string>): string {
  const stem = `table_${id.replace(/[^A-Za-z0-9_]/g, '_')}`.slice(0, MAX_TABLE_NAME_LENGTH);
  let name = stem;
  for (let count = 2; taken.has(name.toLowerCase()); count += 1) name = `${stem}_${count}`;
  taken.add(name.toLowerCase());
  return name;
}

/** A header's text as an attribute, in which XML readers would turn a plain line break into a space. */
const headerAttribute = (header: string): string =>
  escapeXml(header).replaceAll('\n', '_x000a_').replaceAll('\t', '_x0009_');

/** The filter of a range. Hidden buttons can be shown in Excel. */
function filterXml(range: string, filters: readonly boolean[]): string {
  if (!filters.includes(true)) return '';
  const hidden = filters.map((has, index) => (has ? '' : `<filterColumn colId="${index}" hiddenButton="1"/>`)).join('');
  return hidden === '' ? `<autoFilter ref="${range}"/>` : `<autoFilter ref="${range}">${hidden}</autoFilter>`;
}

/**
 * The part of a table (ECMA-376 part 1 §18.5). It has no totals row: Excel would compute it, but totals must be the
 * service's.
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
