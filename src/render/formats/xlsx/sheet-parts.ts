import { createHash } from 'node:crypto';

/** A part of the package that we write ourselves. */
export interface PackagePart {
  /** Path in the zip, without a slash in front. */
  readonly name: string;
  readonly xml: string | Uint8Array;
  /** Absent for relations, which the package knows by their ending. */
  readonly contentType?: string;
}

/** A cell's place, counted from 0. */
interface CellPosition {
  readonly row: number;
  readonly column: number;
}

interface DrawingLabel {
  /** Its name in Excel's selection pane. */
  readonly name: string;
  /** Read out to those who cannot see it. */
  readonly description: string;
  readonly from: CellPosition;
}

/** A chart and where it stands on its sheet: from `from` up to, and without, `to`, as wide as the columns whatever the font. */
export interface ChartDrawing extends DrawingLabel {
  readonly xml: string;
  readonly to: CellPosition;
}

/** A picture, its left upper corner in that of `from`. */
export interface PictureDrawing extends DrawingLabel {
  readonly bytes: Uint8Array;
  readonly format: 'png' | 'jpeg';
  /** As it is shown, in pixels of 1/96 inch. */
  readonly width: number;
  readonly height: number;
}

export type SheetDrawing = ChartDrawing | PictureDrawing;

const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/package/2006/relationships';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** English Metric Units of a pixel. */
const EMU_PER_PIXEL = 9525;

const cornerXml = (name: 'from' | 'to', at: CellPosition): string =>
  `<xdr:${name}><xdr:col>${at.column}</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>${at.row}</xdr:row><xdr:rowOff>0</xdr:rowOff></xdr:${name}>`;

const propertiesXml = ({ name, description }: DrawingLabel, index: number): string =>
  `<xdr:cNvPr id="${index + 2}" name="${escapeXml(name)}" descr="${escapeXml(description)}"/>`;

const chartAnchor = (chart: ChartDrawing, index: number): string =>
  `<xdr:twoCellAnchor editAs="oneCell">${cornerXml('from', chart.from)}${cornerXml('to', chart.to)}` +
  `<xdr:graphicFrame macro=""><xdr:nvGraphicFramePr>${propertiesXml(chart, index)}<xdr:cNvGraphicFramePr/></xdr:nvGraphicFramePr>` +
  '<xdr:xfrm><a:off x="0" y="0"/><a:ext cx="0" cy="0"/></xdr:xfrm>' +
  `<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/chart"><c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" r:id="rId${index + 1}"/></a:graphicData></a:graphic>` +
  '</xdr:graphicFrame><xdr:clientData/></xdr:twoCellAnchor>';

function pictureAnchor(picture: PictureDrawing, index: number): string {
  const extent = `cx="${Math.round(picture.width * EMU_PER_PIXEL)}" cy="${Math.round(picture.height * EMU_PER_PIXEL)}"`;
  return (
    `<xdr:oneCellAnchor>${cornerXml('from', picture.from)}<xdr:ext ${extent}/>` +
    `<xdr:pic><xdr:nvPicPr>${propertiesXml(picture, index)}<xdr:cNvPicPr><a:picLocks noChangeAspect="1"/></xdr:cNvPicPr></xdr:nvPicPr>` +
    `<xdr:blipFill><a:blip r:embed="rId${index + 1}"/><a:stretch><a:fillRect/></a:stretch></xdr:blipFill>` +
    `<xdr:spPr><a:xfrm><a:off x="0" y="0"/><a:ext ${extent}/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></xdr:spPr></xdr:pic>` +
    '<xdr:clientData/></xdr:oneCellAnchor>'
  );
}

/** What is drawn, as a part of its own. */
const contentPart = (drawn: SheetDrawing, number: number): PackagePart =>
  'xml' in drawn
    ? {
        name: `xl/charts/chart${number}.xml`,
        contentType: 'application/vnd.openxmlformats-officedocument.drawingml.chart+xml',
        xml: drawn.xml,
      }
    : { name: `xl/media/image${number}.${drawn.format}`, contentType: `image/${drawn.format}`, xml: drawn.bytes };

/**
 * The parts of one sheet's drawing (ECMA-376 part 1 §20.5), and what the sheet relates to.
 * @param before how many parts were added before, so that names differ
 */
export function drawingParts(drawn: readonly SheetDrawing[], before: number): { parts: PackagePart[]; target: string } {
  const drawing = `drawing${before + 1}.xml`;
  const contents = drawn.map((each, index) => contentPart(each, before + index + 1));
  const relations = contents
    .map(({ name }, index) => {
      const type = name.startsWith('xl/charts/') ? 'chart' : 'image';
      return `<Relationship Id="rId${index + 1}" Type="${OFFICE}/${type}" Target="${name.replace(/^xl/, '..')}"/>`;
    })
    .join('');
  const anchors = drawn.map((each, index) => ('xml' in each ? chartAnchor(each, index) : pictureAnchor(each, index)));
  const parts: PackagePart[] = [
    {
      name: `xl/drawings/${drawing}`,
      contentType: 'application/vnd.openxmlformats-officedocument.drawing+xml',
      xml: `${DECLARATION}<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="${OFFICE}">${anchors.join('')}</xdr:wsDr>`,
    },
    {
      name: `xl/drawings/_rels/${drawing}.rels`,
      xml: `${DECLARATION}<Relationships xmlns="${RELATIONSHIPS}">${relations}</Relationships>`,
    },
    ...contents,
  ];
  return { parts, target: `../drawings/${drawing}` };
}

/**
 * Text as XML 1.0 and Excel can hold it: characters that XML has no way to write become U+FFFD, line ends become LF,
 * and what Excel would read as its own escape (`_x0041_`) is escaped.
 */
export function toLegalText(text: string): string {
  return (
    text
      .replace(/\r\n?/g, '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]|[\ud800-\udfff]/gu, '\ufffd')
      .replace(/_(?=x[0-9a-fA-F]{4}_)/g, '_x005F_')
  );
}

/** Nothing of what `legalText` or XML would change; most texts of a large table are like this. */
const NOTHING_TO_ESCAPE = /^[\t\n !#-%'-;=?-^`-~\u00a0-\ud7ff\ue000-\ufffd]*$/;

/** Text inside an element or an attribute of a part that we write ourselves. */
export const escapeXml = (text: string): string =>
  NOTHING_TO_ESCAPE.test(text)
    ? text
    : toLegalText(text)
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;');

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
const MAX_COLUMN_NAME_LENGTH = 255;
const MAX_TABLE_NAME_LENGTH = 200;

/** `A`, `B`, … `AA` of a column counted from 0. */
export const columnLetters = (index: number): string =>
  index < 26 ? String.fromCharCode(65 + index) : columnLetters(Math.floor(index / 26) - 1) + columnLetters(index % 26);

/**
 * Whether Excel would take it as a table: there is a row and a column, and every header is a name of its own, whatever its case.
 * What is none keeps its header, its filter and its figures; only the table's name is missing.
 */
export function canBeTable({ rows, headers }: Pick<TableRange, 'rows' | 'headers'>): boolean {
  const names = new Set(headers.map((header) => toLegalText(header).toLowerCase()));
  const unique = names.size > 0 && names.size === headers.length;
  return rows > 0 && unique && headers.every((header) => isColumnName(header));
}

const isColumnName = (header: string): boolean => header !== '' && toLegalText(header).length <= MAX_COLUMN_NAME_LENGTH;

/** `table_onboarding`: never a cell's address (`q1`) nor one of Excel's own names, and taken once, whatever its case. */
function uniqueTableName(id: string, taken: Set<string>): string {
  const stem = `table_${id.replace(/[^A-Za-z0-9_]/g, '_')}`.slice(0, MAX_TABLE_NAME_LENGTH);
  let name = stem;
  for (let count = 2; taken.has(name.toLowerCase()); count += 1) name = `${stem}_${count}`;
  taken.add(name.toLowerCase());
  return name;
}

/** A header's text as the table repeats it: a line break inside an attribute would be read as a space. */
const headerAttribute = (header: string): string =>
  escapeXml(header).replaceAll('\n', '_x000a_').replaceAll('\t', '_x0009_');

/**
 * The part of a table (ECMA-376 part 1 §18.5). Its totals are none of its rows: a totals row of Excel adds up, and ours
 * are the service's.
 * @param taken names of the tables before it in the workbook, lower-case; the new one is added
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

/** What the cells of one column tell beside their figures. */
export interface ConditionalFormat {
  /** `bar`: as long as the figure is large, from nothing on. `change`: one colour for more, one for less. */
  readonly kind: 'bar' | 'change';
  /** Counted from 0. */
  readonly column: number;
  /** Counted from 1, both included. */
  readonly rows: { readonly from: number; readonly to: number };
}

/**
 * Blue and a dark orange: told apart by colour-blind readers, dark enough to read on white and on paper, and neither
 * says whether more is good. The arrow and the sign in the cell say the same without any colour.
 */
const INCREASE_COLOUR = 'FF005A9C';
const DECREASE_COLOUR = 'FFB34700';
/** Light enough that the figure over it keeps its contrast. */
const BAR_COLOUR = 'FFCFE0EC';

const differentialFormats = [INCREASE_COLOUR, DECREASE_COLOUR].map(
  (colour) => `<dxf><font><color rgb="${colour}"/></font></dxf>`,
);

/** The formats that the marks refer to by their place. */
export const DIFFERENTIAL_STYLES = `<dxfs count="${differentialFormats.length}">${differentialFormats.join('')}</dxfs>`;

const X14 = 'http://schemas.microsoft.com/office/spreadsheetml/2009/9/main';

/** Two descriptions of one bar find each other by an id; the same workbook has the same ids. */
function dataBarId(sheet: string, range: string): string {
  const hex = createHash('sha256').update(`${sheet}!${range}`).digest('hex').toUpperCase();
  return `{${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}}`;
}

const rangeAddress = ({ column, rows }: ConditionalFormat): string =>
  `${columnLetters(column)}${rows.from}:${columnLetters(column)}${rows.to}`;

/** A text is more than any number to Excel, and a dash is a text. */
const changeRule = (cell: string, sign: '&gt;' | '&lt;', style: number, priority: number): string =>
  `<cfRule type="expression" dxfId="${style}" priority="${priority}"><formula>AND(ISNUMBER(${cell}),${cell}${sign}0)</formula></cfRule>`;

const barRule = (id: string, priority: number): string =>
  `<cfRule type="dataBar" priority="${priority}"><dataBar minLength="0" maxLength="100"><cfvo type="num" val="0"/><cfvo type="max"/><color rgb="${BAR_COLOUR}"/></dataBar>` +
  `<extLst><ext xmlns:x14="${X14}" uri="{B025F937-C7B1-47D3-B67F-A62EFF666E3E}"><x14:id>${id}</x14:id></ext></extLst></cfRule>`;

/** The marks as a sheet holds them (ECMA-376 part 1 §18.3.1.18). */
export function conditionalFormattingXml(sheet: string, marks: readonly ConditionalFormat[]): string {
  let priority = 0;
  const next = (): number => {
    priority += 1;
    return priority;
  };
  return marks
    .map((mark) => {
      const range = rangeAddress(mark);
      const cell = `${columnLetters(mark.column)}${mark.rows.from}`;
      const rules =
        mark.kind === 'bar'
          ? barRule(dataBarId(sheet, range), next())
          : changeRule(cell, '&gt;', 0, next()) + changeRule(cell, '&lt;', 1, next());
      return `<conditionalFormatting sqref="${range}">${rules}</conditionalFormatting>`;
    })
    .join('');
}

/** What Excel 2010 and later read in addition: bars of one plain colour, which do not fade out where they end. */
export function conditionalFormattingExtension(sheet: string, marks: readonly ConditionalFormat[]): string {
  const bars = marks.filter(({ kind }) => kind === 'bar').map((mark) => rangeAddress(mark));
  if (bars.length === 0) return '';
  const formats = bars.map(
    (range) =>
      `<x14:conditionalFormatting xmlns:xm="http://schemas.microsoft.com/office/excel/2006/main"><x14:cfRule type="dataBar" id="${dataBarId(sheet, range)}">` +
      '<x14:dataBar minLength="0" maxLength="100" gradient="0"><x14:cfvo type="num"><xm:f>0</xm:f></x14:cfvo><x14:cfvo type="max"/></x14:dataBar></x14:cfRule>' +
      `<xm:sqref>${range}</xm:sqref></x14:conditionalFormatting>`,
  );
  return `<extLst><ext xmlns:x14="${X14}" uri="{78C0D931-6437-407d-A8EE-F0AAD7539E65}"><x14:conditionalFormattings>${formats.join('')}</x14:conditionalFormattings></ext></extLst>`;
}
