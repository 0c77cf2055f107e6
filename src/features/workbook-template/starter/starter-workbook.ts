import type { Worksheet } from 'exceljs';
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { messagesFor, type Words } from '../../../i18n/messages.ts';
import { sheetNames } from '../../../render/formats/xlsx/sheet-names.ts';
import { borderLine, COLOURS, fill, font, STYLES, top } from '../../../render/formats/xlsx/style/styles.ts';
import type { ReportOutline, SectionOutline } from '../binding/bindings.ts';
import { nameKey, readName, sectionsNamed } from '../binding/names.ts';
import { escapeXmlAttribute } from '../package/tokenize-xml.ts';
import { parseCell } from '../workbook/addresses.ts';
import { writeFrontSheet } from './front-sheet.ts';
import { SAMPLE_ROWS, type StarterTexts, sectionColumns } from './section-columns.ts';

export interface StarterOptions {
  /** The title of the report. */
  readonly title: string;
  /** BCP 47. */
  readonly locale: string;
  /** Ids of the metrics with targets. */
  readonly judged: ReadonlySet<string>;
  /** Epoch ms: the time of creation that the file shows. */
  readonly madeAt: number;
}

const HEADER_ROW = 4;
/** Column widths in characters. Headers of figures have several lines, so that many columns fit on a page. */
const WIDTHS = { figure: 13, text: 22, max: 30 } as const;
const HEADER_HEIGHT = 66;

/**
 * Creates a workbook to design a template from: a front sheet with named cells, and a sheet with a table for each
 * section. Everything in it binds to the report. It shows sample figures until it is filled.
 * @returns the bytes of an `.xlsx` file
 */
export async function createStarterWorkbook(outline: ReportOutline, options: StarterOptions): Promise<Uint8Array> {
  const { default: ExcelJS } = await import('exceljs');
  const words = messagesFor(options.locale);
  const texts: StarterTexts = { words, judged: options.judged };
  const book = new ExcelJS.Workbook();
  book.created = new Date(options.madeAt);
  book.modified = book.created;
  book.title = options.title;
  // The types of exceljs lack this property.
  Object.assign(book, { language: options.locale });
  const sections = outline.sections.filter(({ text, columns }) => !text && columns.length > 0);
  const [front = '', ...names] = sheetNames(
    [words.workbook.sheets.summary, ...sections.map(({ title }) => title)],
    words.workbook.sheets.unnamed,
  );
  writeFrontSheet(addSheet(book.addWorksheet(front), words), outline, texts);
  const titles = new Map<string, string>();
  for (const [index, section] of sections.entries()) {
    const table = tableName(section, outline, index);
    if (table.title !== undefined) titles.set(table.name, table.title);
    const sheet = addSheet(book.addWorksheet(names[index] ?? section.id), words);
    writeSectionSheet(sheet, section, table.name, outline, texts);
  }
  const bytes = new Uint8Array(await book.xlsx.writeBuffer());
  return withTableTitles(bytes, titles);
}

/** Adds a sheet in landscape that fits the width of a page. */
function addSheet(sheet: Worksheet, { workbook }: Words): Worksheet {
  Object.assign(sheet.pageSetup, {
    paperSize: 9,
    orientation: 'landscape',
    fitToPage: true,
    fitToWidth: 1,
    fitToHeight: 0,
  });
  sheet.headerFooter.oddFooter = `&L&A&R${workbook.page('&P', '&N')}`;
  sheet.views = [{ showGridLines: false }];
  return sheet;
}

/** Whether Excel would read the name as a cell: `q1`, `fy2026`, `r1c1`, `c`. */
const looksLikeCell = (name: string): boolean =>
  parseCell(name) !== undefined || /^(?:r\d*|c\d*|r\d*c\d*)$/i.test(name);

/** The section's id. If it cannot be the name of a table, another name, with the section in the alternative text. */
function tableName(
  { id }: SectionOutline,
  { sections }: ReportOutline,
  index: number,
): { readonly name: string; readonly title?: string } {
  const name = nameKey(id);
  if (/^[\p{L}_]/u.test(name) && !looksLikeCell(name) && sectionsNamed(sections, name).length === 1) return { name };
  return { name: `section_${index + 1}_${name}`, title: `docket:${id}` };
}

function writeSectionSheet(
  sheet: Worksheet,
  section: SectionOutline,
  table: string,
  outline: ReportOutline,
  texts: StarterTexts,
): void {
  const columns = sectionColumns(section, texts);
  sheet.getCell('A1').value = section.title;
  sheet.getCell('A1').style = STYLES.title;
  sheet.getRow(1).height = 26;
  writeComment(sheet, section, outline, columns.length);
  const single = section.granularity === null && section.columns.every(({ kind }) => kind === 'metric');
  const rows = Array.from({ length: single ? 1 : SAMPLE_ROWS }, (_, row) =>
    columns.map(({ samples }) => samples[row] ?? samples[0] ?? null),
  );
  sheet.addTable({
    name: table,
    ref: `A${HEADER_ROW}`,
    headerRow: true,
    style: { theme: 'TableStyleLight1', showRowStripes: true },
    columns: columns.map(({ header }) => ({ name: header, filterButton: false })),
    rows,
  });
  sheet.getRow(HEADER_ROW).height = HEADER_HEIGHT;
  for (const [index, { header, format, samples }] of columns.entries()) {
    const isFigure = typeof samples[0] === 'number';
    const horizontal = isFigure ? 'right' : 'left';
    sheet.getColumn(index + 1).width = columnWidth(header, isFigure ? WIDTHS.figure : WIDTHS.text);
    sheet.getCell(HEADER_ROW, index + 1).style = {
      font: font({ bold: true, color: { argb: COLOURS.ink } }),
      fill: fill(COLOURS.band),
      alignment: { vertical: 'middle', horizontal, wrapText: true },
      border: borderLine('bottom', 'thin', COLOURS.ink),
    };
    for (const row of rows.keys()) {
      sheet.getCell(HEADER_ROW + 1 + row, index + 1).style = {
        numFmt: format,
        font: font(),
        alignment: { ...top, horizontal },
        border: borderLine('bottom', 'hair', COLOURS.rule),
      };
    }
  }
  sheet.views = [{ state: 'frozen', ySplit: HEADER_ROW, showGridLines: false }];
  sheet.pageSetup.printTitlesRow = `${HEADER_ROW}:${HEADER_ROW}`;
}

/** Ids have no spaces at which they could break, so they need the width. */
const columnWidth = (header: string, least: number): number =>
  Math.min(WIDTHS.max, Math.max(least, ...header.split(/\s+/).map((word) => word.length + 2)));

/** Adds the place for the section's comment, if people can write one. */
function writeComment(sheet: Worksheet, { id }: SectionOutline, outline: ReportOutline, columns: number): void {
  const name = `docket.comment.${nameKey(id)}`;
  if (!outline.commented.includes(id) || readName(name, outline).kind !== 'bound') return;
  sheet.mergeCells(2, 1, 2, Math.max(2, columns));
  const cell = sheet.getCell(2, 1);
  cell.value = name;
  cell.name = name;
  cell.style = STYLES.comment;
  sheet.getRow(2).height = 60;
}

/** The date of all parts of a starter template, so that the same report gives the same bytes. */
const WRITTEN = new Date(2020, 0, 1);

const TABLE_PART = /^xl\/tables\/[^/]+\.xml$/;
const URI = '{504A1905-F514-4f6f-8877-14C23A59335A}';
const NAMESPACE = 'http://schemas.microsoft.com/office/spreadsheetml/2009/9/main';

/**
 * Adds alternative-text titles to the tables of a workbook, which exceljs cannot write.
 * @param titles by the name of the table
 */
function withTableTitles(workbook: Uint8Array, titles: ReadonlyMap<string, string>): Uint8Array {
  const parts = Object.entries(unzipSync(workbook)).map(([name, bytes]) => {
    if (!TABLE_PART.test(name)) return [name, bytes] as const;
    const text = strFromU8(bytes);
    const title = titles.get(/ displayName="([^"]*)"/.exec(text)?.[1] ?? '');
    if (title === undefined) return [name, bytes] as const;
    const extension = `<extLst><ext uri="${URI}" xmlns:x14="${NAMESPACE}"><x14:table altText="${escapeXmlAttribute(title)}"/></ext></extLst>`;
    return [name, strToU8(text.replace('</table>', `${extension}</table>`))] as const;
  });
  return zipSync(Object.fromEntries(parts), { mtime: WRITTEN });
}
