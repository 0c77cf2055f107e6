import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { DocketError } from '../../../../base/error.ts';
import type { Paper } from '../../../pack/paper.ts';
import {
  type ConditionalFormat,
  conditionalFormattingExtension,
  conditionalFormattingXml,
} from './conditional-formatting.ts';
import { drawingParts, type SheetDrawing } from './drawing-parts.ts';
import {
  addSheetRelationship,
  insertXml,
  openSheetData,
  type WorkbookPackage,
  type Worksheet,
} from './exceljs-patches.ts';
import { type Footer, footerCodes, headerCodes } from './page-footer.ts';
import type { CellRange, PrintedSheet, PrintTitles } from './print-names.ts';
import { type Cell, createRowSerializer, type RowContext } from './sheet-rows.ts';
import { type Sparkline, sparklinesExtension } from './sparkline-groups.ts';
import { type TableRange, tablePart } from './table-part.ts';
import { columnLetters, escapeXml, type PackagePart } from './xml-text.ts';

/** Excel's limit. */
const MAX_ROWS = 1_048_576;
/**
 * How many characters of rows are written at once, which takes a few milliseconds. The event loop runs between two
 * chunks.
 */
const CHUNK_LENGTH = 256 * 1024;

export interface SheetOptions {
  /** Column widths in characters. */
  readonly widths: readonly number[];
  /** The number of frozen rows and columns. */
  readonly freeze?: { readonly rows: number; readonly columns: number };
  /** The row of the table's header, counted from 1. */
  readonly headerRow?: number;
  readonly paper: Paper;
  /** The scale of the printed sheet, in per cent. Default: 100. */
  readonly scale?: number;
  readonly printTitles?: PrintTitles;
  /** False: the sheet is not printed, and its print areas are ignored. */
  readonly printed: boolean;
  readonly footer: Footer;
  /** Printed above each page but the first. */
  readonly title?: string;
  /** ARGB. */
  readonly tab?: string;
  /**
   * True: texts go into the shared string table, which stays in memory until the workbook is closed. False: texts are
   * inline, for long sheets. (LibreOffice drops the line breaks of inline texts.)
   */
  readonly sharedStrings: boolean;
  /** Position in the workbook, counted from 0. Default: after the sheets written before. */
  readonly position?: number;
}

export type SheetWriter = ReturnType<typeof createSheetWriter>;

/** State that the sheets of one workbook share. */
export interface WorkbookState extends Omit<RowContext, 'sheet'> {
  readonly addedParts: PackagePart[];
  readonly tableNames: Set<string>;
  readonly printed: PrintedSheet[];
  readonly movedSheets: { readonly sheet: Worksheet; readonly position: number }[];
  readonly signal: AbortSignal;
  /** Rejects when writing the file fails. */
  readonly writeError: Promise<never>;
}

/** A4 and Letter in the codes of the format. */
const PAPER_SIZES = { a4: 9, letter: 1 } as const;

function headerAndFooter({ footer, title }: SheetOptions, scale: number) {
  const oddFooter = footerCodes(footer, scale);
  return title === undefined
    ? { oddFooter }
    : { oddFooter, differentFirst: true, oddHeader: headerCodes(title, scale), firstFooter: oddFooter };
}

function addWorksheet(book: WorkbookPackage, name: string, options: SheetOptions): Worksheet {
  const { freeze, widths, printed, paper, scale = 100 } = options;
  const sheet = book.addWorksheet(name, {
    views: [
      {
        showGridLines: false,
        ...(freeze === undefined ? {} : { state: 'frozen' as const, ySplit: freeze.rows, xSplit: freeze.columns }),
      },
    ],
    pageSetup: {
      orientation: 'landscape',
      // The scale is fixed, because "fit to page" would print small text.
      fitToPage: false,
      scale,
      margins: { left: 0.5, right: 0.5, top: 0.6, bottom: 0.7, header: 0.3, footer: 0.3 },
    },
    headerFooter: headerAndFooter(options, scale),
    ...(options.tab === undefined ? {} : { properties: { tabColor: { argb: options.tab } } }),
  });
  // The types lack Letter.
  Object.assign(sheet.pageSetup, { paperSize: PAPER_SIZES[paper] });
  sheet.columns = [...widths.map((width) => ({ width })), ...(printed ? [] : [{ width: 1, hidden: true }])];
  return sheet;
}

/**
 * The print area of a sheet that is not printed: no program has a setting for that, but a single hidden cell gives no
 * page. A hidden sheet would not be printed either, but nobody would find it.
 */
const hiddenArea = ({ widths }: SheetOptions): CellRange => ({
  rows: { from: 1, to: 1 },
  columns: { from: widths.length, to: widths.length },
});

/** A sheet has a single list of extensions. */
const extensionsXml = (entries: string): string => (entries === '' ? '' : `<extLst>${entries}</extLst>`);

/** Creates a sheet and the writer of its rows. */
export function createSheetWriter(
  book: WorkbookPackage,
  name: string,
  options: SheetOptions,
  { addedParts, tableNames, movedSheets, printed, signal, writeError, ...rowContext }: WorkbookState,
) {
  const { headerRow, position } = options;
  const sheet = addWorksheet(book, name, options);
  if (position !== undefined) movedSheets.push({ sheet, position });
  const links: SheetLink[] = [];
  const merges: string[] = [];
  const breaks: number[] = [];
  const areas: CellRange[] = options.printed ? [] : [hiddenArea(options)];
  printed.push({ sheet: name, areas, titles: options.printTitles ?? {} });
  // The format requires this order.
  const drawings: SheetDrawing[] = [];
  const formats: ConditionalFormat[] = [];
  const end = { tables: '', sparklines: '' };
  insertXml(sheet, 'hyperlinks', () => hyperlinksXml(links));
  insertXml(
    sheet,
    'end',
    () => end.tables + extensionsXml(conditionalFormattingExtension(name, formats) + end.sparklines),
  );
  insertXml(sheet, 'mergeCells', () => mergeCellsXml(merges));
  insertXml(sheet, 'conditionalFormats', () => conditionalFormattingXml(name, formats));
  insertXml(sheet, 'rowBreaks', () => rowBreaksXml(breaks));
  const rowXml = createRowSerializer({ sheet: name, ...rowContext });
  const stream = openSheetData(sheet);
  let rows = 0;
  let chunk = '';

  const recordLinkAndSpan = ({ link, span }: Cell, index: number): void => {
    const address = `${columnLetters(index)}${rows}`;
    if (link !== undefined) links.push({ cell: address, to: link });
    if (span !== undefined && span > 1) merges.push(`${address}:${columnLetters(index + span - 1)}${rows}`);
  };

  const appendRow = (cells: readonly (Cell | undefined)[], height: number | undefined): void => {
    rows += 1;
    if (rows > MAX_ROWS) {
      throw new DocketError('render.failed', `The sheet "${name}" has too many rows for Excel.`, {
        expected: `at most ${MAX_ROWS.toLocaleString('en')} rows`,
        next: 'Write this section as CSV instead, or narrow it.',
      });
    }
    // The headers of a table must be shared strings.
    const shared = options.sharedStrings || rows <= (headerRow ?? 0);
    chunk += rowXml(rows, cells, shared, height);
    for (let index = 0; index < cells.length; index += 1) {
      const cell = cells[index];
      if (cell !== undefined && (cell.link !== undefined || cell.span !== undefined)) recordLinkAndSpan(cell, index);
    }
  };

  /** Waits until the zip accepts more, and at least one turn of the event loop. */
  const flush = async (): Promise<void> => {
    const writable = stream.write(chunk);
    chunk = '';
    await (writable ? setImmediate() : Promise.race([once(stream, 'drain', { signal }), writeError]));
    signal.throwIfAborted();
  };

  return {
    /** The number of rows written so far. */
    get rowCount() {
      return rows;
    },
    /**
     * Adds a row. `height` is in points; default: Excel's. A missing cell stays empty. Throws `render.failed` above
     * Excel's limit.
     */
    addRow: async (cells: readonly (Cell | undefined)[], height?: number): Promise<void> => {
      appendRow(cells, height);
      if (chunk.length >= CHUNK_LENGTH) await flush();
    },
    /** Adds a page break after the last row. */
    addPageBreak: (): void => {
      breaks.push(rows);
    },
    /** Adds cells that are printed on pages of their own. Without any, the whole sheet is printed. */
    addPrintArea: (area: CellRange): void => {
      if (options.printed) areas.push(area);
    },
    /** Adds filter buttons to a range, counted from 1, both ends included. */
    addFilter: (from: { row: number; column: number }, to: { row: number; column: number }): void => {
      sheet.autoFilter = { from, to };
    },
    /** Turns a written range into a table. Requires `canBeTable`, and no filter on the sheet. */
    addTable: (range: TableRange): void => {
      const { part, target } = tablePart(range, tableNames);
      addedParts.push(part);
      const relationship = addSheetRelationship(sheet, 'table', target);
      end.tables = `<tableParts count="1"><tablePart r:id="${relationship}"/></tableParts>`;
    },
    addConditionalFormats: (more: readonly ConditionalFormat[]): void => {
      formats.push(...more);
    },
    /** Call at most once. */
    addSparklines: (sparklines: readonly Sparkline[]): void => {
      end.sparklines = sparklinesExtension(sparklines);
    },
    addDrawings: (more: readonly SheetDrawing[]): void => {
      drawings.push(...more);
    },
    close: async (): Promise<void> => {
      if (drawings.length > 0) {
        const { parts, target } = drawingParts(drawings, addedParts.length);
        addedParts.push(...parts);
        const relationship = addSheetRelationship(sheet, 'drawing', target);
        insertXml(sheet, 'drawing', () => `<drawing r:id="${relationship}"/>`);
      }
      stream.write(chunk);
      sheet.commit();
      await setImmediate();
    },
  };
}

interface SheetLink {
  /** The address of the cell. */
  readonly cell: string;
  /** The name of the sheet that it links to. */
  readonly to: string;
}

const linkXml = ({ cell, to }: SheetLink): string =>
  `<hyperlink ref="${cell}" location="${escapeXml(`'${to}'!A1`)}" display="${escapeXml(to)}"/>`;

/** The links to other sheets; '' if there are none. */
const hyperlinksXml = (links: readonly SheetLink[]): string =>
  links.length === 0 ? '' : `<hyperlinks>${links.map(linkXml).join('')}</hyperlinks>`;

/** Merged ranges, e.g. `A1:C1`; '' if there are none. */
const mergeCellsXml = (ranges: readonly string[]): string =>
  ranges.length === 0
    ? ''
    : `<mergeCells count="${ranges.length}">${ranges.map((range) => `<mergeCell ref="${range}"/>`).join('')}</mergeCells>`;

const MAX_COLUMN_INDEX = 16_383;

/** Page breaks after these rows; '' if there are none. */
const rowBreaksXml = (rows: readonly number[]): string =>
  rows.length === 0
    ? ''
    : `<rowBreaks count="${rows.length}" manualBreakCount="${rows.length}">${rows.map((row) => `<brk id="${row}" max="${MAX_COLUMN_INDEX}" man="1"/>`).join('')}</rowBreaks>`;
