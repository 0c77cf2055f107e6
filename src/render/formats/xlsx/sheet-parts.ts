import { createHash } from 'node:crypto';

/** A part of the package that exceljs does not write. */
export interface PackagePart {
  /** Path in the zip, without a leading slash. */
  readonly name: string;
  readonly xml: string | Uint8Array;
  /** Absent for relationships, whose extension has a default content type. */
  readonly contentType?: string;
}

export const XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

/**
 * Text as XML 1.0 and Excel allow it: characters that XML cannot contain become U+FFFD, line ends become LF, and texts
 * that look like an escape of Excel (`_x0041_`) are escaped.
 */
export function toLegalText(text: string): string {
  return (
    text
      .replace(/\r\n?/g, '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]|[\ud800-\udfff]/gu, '\ufffd')
      .replace(/_(?=x[0-9a-fA-F]{4}_)/g, '_x005F_')
  );
}

/** Texts that need no escape: a fast path for most texts of a large table. */
const NOTHING_TO_ESCAPE = /^[\t\n !#-%'-;=?-^`-~\u00a0-\ud7ff\ue000-\ufffd]*$/;

/** Escapes text for an element or an attribute. */
export const escapeXml = (text: string): string =>
  NOTHING_TO_ESCAPE.test(text)
    ? text
    : toLegalText(text)
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;');

/** The range of an Excel table, which starts in the first column. */
export interface TableRange {
  /** The table's name is derived from it. */
  readonly id: string;
  /** Counted from 1. */
  readonly headerRow: number;
  readonly headers: readonly string[];
  /** Rows below the header; at least one. */
  readonly rows: number;
  /** Whether the headers have filter buttons. */
  readonly filter: boolean;
}

/** Excel's limit, in UTF-16 units. */
const MAX_COLUMN_NAME_LENGTH = 255;
const MAX_TABLE_NAME_LENGTH = 200;

/** `A`, `B`, … `AA` of a column counted from 0. */
export const columnLetters = (index: number): string =>
  index < 26 ? String.fromCharCode(65 + index) : columnLetters(Math.floor(index / 26) - 1) + columnLetters(index % 26);

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

/** The conditional format of one column. */
export interface ConditionalFormat {
  /**
   * `bar`: a data bar from zero. `change`: one colour for an increase, one for a decrease. `change_higher`, `change_lower`:
   * one for better, one for worse, where higher or lower is better.
   */
  readonly kind: 'bar' | 'change' | 'change_higher' | 'change_lower';
  /** Counted from 0. */
  readonly column: number;
  /** Counted from 1, both included. */
  readonly rows: { readonly from: number; readonly to: number };
}

/**
 * Blue and dark orange: distinguishable for colour-blind readers, with enough contrast on paper, and neutral about
 * whether more is good. The arrow and the sign in the cell carry the same information.
 */
const INCREASE_COLOUR = 'FF005A9C';
const DECREASE_COLOUR = 'FFB34700';
/** Light enough for the contrast of the figure above it. */
const BAR_COLOUR = 'FFCFE0EC';

/** Of changes that targets judge. Green and dark red differ in brightness, and the arrow stays. */
const BETTER_COLOUR = 'FF0F6B3F';
const WORSE_COLOUR = 'FFA3200F';

const differentialFormats = [INCREASE_COLOUR, DECREASE_COLOUR, BETTER_COLOUR, WORSE_COLOUR].map(
  (colour) => `<dxf><font><color rgb="${colour}"/></font></dxf>`,
);

/** The styles of the changes. Conditional formats refer to them by index: 0 increase, 1 decrease, 2 better, 3 worse. */
export const DIFFERENTIAL_STYLES = `<dxfs count="${differentialFormats.length}">${differentialFormats.join('')}</dxfs>`;

const X14 = 'http://schemas.microsoft.com/office/spreadsheetml/2009/9/main';

/** The id that links the two descriptions of one data bar; derived, so that the same workbook has the same ids. */
function dataBarId(sheet: string, range: string): string {
  const hex = createHash('sha256').update(`${sheet}!${range}`).digest('hex').toUpperCase();
  return `{${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}}`;
}

/** The styles of an increase and of a decrease. */
const CHANGE_STYLES = { change: [0, 1], change_higher: [2, 3], change_lower: [3, 2] } as const;

const rangeAddress = ({ column, rows }: ConditionalFormat): string =>
  `${columnLetters(column)}${rows.from}:${columnLetters(column)}${rows.to}`;

/** Checks for a number first: in Excel a text, such as a dash, is greater than any number. */
const changeRule = (cell: string, sign: '&gt;' | '&lt;', style: number, priority: number): string =>
  `<cfRule type="expression" dxfId="${style}" priority="${priority}"><formula>AND(ISNUMBER(${cell}),${cell}${sign}0)</formula></cfRule>`;

const barRule = (id: string, priority: number): string =>
  `<cfRule type="dataBar" priority="${priority}"><dataBar minLength="0" maxLength="100"><cfvo type="num" val="0"/><cfvo type="max"/><color rgb="${BAR_COLOUR}"/></dataBar>` +
  `<extLst><ext xmlns:x14="${X14}" uri="{B025F937-C7B1-47D3-B67F-A62EFF666E3E}"><x14:id>${id}</x14:id></ext></extLst></cfRule>`;

/** The conditional formats of a sheet (ECMA-376 part 1 §18.3.1.18). */
export function conditionalFormattingXml(sheet: string, formats: readonly ConditionalFormat[]): string {
  let priority = 0;
  const next = (): number => {
    priority += 1;
    return priority;
  };
  return formats
    .map((format) => {
      const range = rangeAddress(format);
      const cell = `${columnLetters(format.column)}${format.rows.from}`;
      const rules =
        format.kind === 'bar'
          ? barRule(dataBarId(sheet, range), next())
          : changeRule(cell, '&gt;', CHANGE_STYLES[format.kind][0], next()) +
            changeRule(cell, '&lt;', CHANGE_STYLES[format.kind][1], next());
      return `<conditionalFormatting sqref="${range}">${rules}</conditionalFormatting>`;
    })
    .join('');
}

/** The extension for Excel 2010 and later: data bars in a solid colour instead of a gradient. */
export function conditionalFormattingExtension(sheet: string, formats: readonly ConditionalFormat[]): string {
  const bars = formats.filter(({ kind }) => kind === 'bar').map((format) => rangeAddress(format));
  if (bars.length === 0) return '';
  const extensions = bars.map(
    (range) =>
      `<x14:conditionalFormatting xmlns:xm="http://schemas.microsoft.com/office/excel/2006/main"><x14:cfRule type="dataBar" id="${dataBarId(sheet, range)}">` +
      '<x14:dataBar minLength="0" maxLength="100" gradient="0"><x14:cfvo type="num"><xm:f>0</xm:f></x14:cfvo><x14:cfvo type="max"/></x14:dataBar></x14:cfRule>' +
      `<xm:sqref>${range}</xm:sqref></x14:conditionalFormatting>`,
  );
  return `<extLst><ext xmlns:x14="${X14}" uri="{78C0D931-6437-407d-A8EE-F0AAD7539E65}"><x14:conditionalFormattings>${extensions.join('')}</x14:conditionalFormattings></ext></extLst>`;
}

/** The printed footer of each page. */
export interface Footer {
  readonly left: string;
  readonly right: string;
  /** The page number in Excel's codes: `Page &P of &N`. */
  readonly pages: string;
  /** Printed in the middle, before the page number. */
  readonly classification?: string | undefined;
}

/** The size comes before the font name: a text that starts with a digit would be read as part of the size. */
const FOOTER_FONT = '&8&"Calibri,Regular"';

/** Excel's limit for the whole footer, codes included. */
const MAX_FOOTER_LENGTH = 255;
const MAX_FOOTER_TEXT_LENGTH = 75;

/** Doubles `&`, which starts a code, and truncates with an ellipsis. */
function escapeFooterText(text: string, maxLength = MAX_FOOTER_TEXT_LENGTH): string {
  let result = '';
  for (const { segment } of new Intl.Segmenter().segment(toLegalText(text).replaceAll('\n', ' '))) {
    const escaped = segment.replaceAll('&', '&&');
    if (result.length + escaped.length > maxLength) return `${result}…`;
    result += escaped;
  }
  return result;
}

/** The footer in Excel's codes. The left text is truncated first, because the cover shows it in full. */
export function footerCodes({ left, right, pages, classification }: Footer): string {
  const label =
    classification === undefined ? '' : `&"Calibri,Bold"${escapeFooterText(classification)}&"Calibri,Regular" · `;
  const rest = `&C${FOOTER_FONT}${label}${pages}&R${FOOTER_FONT}${escapeFooterText(right)}`;
  const available = MAX_FOOTER_LENGTH - rest.length - `&L${FOOTER_FONT}…`.length;
  return `&L${FOOTER_FONT}${escapeFooterText(left, Math.min(available, MAX_FOOTER_TEXT_LENGTH))}${rest}`;
}

export interface SheetLink {
  /** The address of the cell. */
  readonly cell: string;
  /** The name of the sheet that it links to. */
  readonly to: string;
}

const linkXml = ({ cell, to }: SheetLink): string =>
  `<hyperlink ref="${cell}" location="${escapeXml(`'${to}'!A1`)}" display="${escapeXml(to)}"/>`;

/** Links to other sheets; '' for none. */
export const hyperlinksXml = (links: readonly SheetLink[]): string =>
  links.length === 0 ? '' : `<hyperlinks>${links.map(linkXml).join('')}</hyperlinks>`;

/** Merged ranges, e.g. `A1:C1`; '' for none. */
export const mergeCellsXml = (ranges: readonly string[]): string =>
  ranges.length === 0
    ? ''
    : `<mergeCells count="${ranges.length}">${ranges.map((range) => `<mergeCell ref="${range}"/>`).join('')}</mergeCells>`;

const MAX_COLUMN_INDEX = 16_383;

/** Page breaks after these rows; '' for none. */
export const rowBreaksXml = (rows: readonly number[]): string =>
  rows.length === 0
    ? ''
    : `<rowBreaks count="${rows.length}" manualBreakCount="${rows.length}">${rows.map((row) => `<brk id="${row}" max="${MAX_COLUMN_INDEX}" man="1"/>`).join('')}</rowBreaks>`;
