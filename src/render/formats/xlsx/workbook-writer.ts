import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { DocketError } from '../../../base/error.ts';
import type { Words } from '../../../i18n/messages.ts';
import { drawingParts, type SheetDrawing } from './drawing-parts.ts';
import {
  addSheetRelationship,
  insertXml,
  openPackage,
  openSheetData,
  type WorkbookPackage,
  type Worksheet,
} from './exceljs-patches.ts';
import {
  type ConditionalFormat,
  columnLetters,
  conditionalFormattingExtension,
  conditionalFormattingXml,
  type Footer,
  footerCodes,
  hyperlinksXml,
  mergeCellsXml,
  type PackagePart,
  rowBreaksXml,
  type SheetLink,
  type TableRange,
  tablePart,
  toLegalText,
} from './sheet-parts.ts';
import { type Cell, createLongTextStore, createRowSerializer, type LongText, type RowContext } from './sheet-rows.ts';

/** Excel's limit. */
const MAX_ROWS = 1_048_576;
/** Characters of rows written at once; between two chunks the event loop runs. */
const CHUNK_LENGTH = 64 * 1024;
/** On a sheet of figures, 5 takes a quarter less time than 6 for 1 % more bytes; 4 would save little more. */
const COMPRESSION_LEVEL = 5;

export interface SheetOptions {
  /** Column widths in characters. */
  readonly widths: readonly number[];
  /** Number of frozen rows and columns. */
  readonly freeze?: { readonly rows: number; readonly columns: number };
  /** The row that is repeated on each printed page and has the filter, counted from 1. */
  readonly headerRow?: number;
  readonly landscape: boolean;
  readonly footer: Footer;
  /** ARGB. */
  readonly tab?: string;
  /**
   * True: texts go into the shared string table, which stays in memory until the workbook is closed. False: inline, for
   * long sheets. (LibreOffice drops the line breaks of inline texts.)
   */
  readonly sharedStrings: boolean;
  /** Position in the workbook, counted from 0; after the sheets written before when absent. */
  readonly position?: number;
}

export interface SheetWriter {
  /** Rows written so far. */
  readonly rowCount: number;
  /** `height` in points; Excel's default when absent. A missing cell is left empty. Throws `render.failed` over Excel's limit. */
  addRow(cells: readonly (Cell | undefined)[], height?: number): Promise<void>;
  /** Adds a page break after the last row. */
  addPageBreak(): void;
  /** Adds filter buttons to a range, counted from 1, both ends included. */
  addFilter(from: { row: number; column: number }, to: { row: number; column: number }): void;
  /** Makes a table of a written range. Requires `canBeTable`, and no filter on the sheet. */
  addTable(range: TableRange): void;
  /** Call at most once. */
  addConditionalFormats(formats: readonly ConditionalFormat[]): void;
  /** Call at most once. */
  addDrawings(drawings: readonly SheetDrawing[]): void;
  close(): Promise<void>;
}

export interface WorkbookFile {
  /** The texts so far that exceed a cell. */
  readonly longTexts: readonly LongText[];
  addSheet(name: string, options: SheetOptions): SheetWriter;
  /** Resolves when the file is complete on disk. */
  close(): Promise<void>;
  /** Closes the file after a failure. */
  abort(): Promise<void>;
}

export interface WorkbookProperties {
  readonly title: string;
  readonly subject: string;
  readonly madeAt: Date;
  /** The name of the sheet for texts that exceed a cell. */
  readonly longTexts: string;
  readonly words: Words['workbook']['longTexts'];
}

/** State that the sheets of one workbook share. */
interface WorkbookState extends Omit<RowContext, 'sheet'> {
  readonly addedParts: PackagePart[];
  readonly tableNames: Set<string>;
  readonly movedSheets: { readonly sheet: Worksheet; readonly position: number }[];
  readonly signal: AbortSignal;
  /** Rejects when writing the file fails. */
  readonly writeError: Promise<never>;
}

function addWorksheet(book: WorkbookPackage, name: string, options: SheetOptions): Worksheet {
  const { freeze, headerRow } = options;
  const sheet = book.addWorksheet(name, {
    views: [
      {
        showGridLines: false,
        ...(freeze === undefined ? {} : { state: 'frozen' as const, ySplit: freeze.rows, xSplit: freeze.columns }),
      },
    ],
    pageSetup: {
      paperSize: 9,
      orientation: options.landscape ? 'landscape' : 'portrait',
      fitToPage: true,
      fitToWidth: 1,
      fitToHeight: 0,
      margins: { left: 0.5, right: 0.5, top: 0.6, bottom: 0.7, header: 0.3, footer: 0.3 },
      ...(headerRow === undefined ? {} : { printTitlesRow: `${headerRow}:${headerRow}` }),
    },
    headerFooter: { oddFooter: footerCodes(options.footer) },
    ...(options.tab === undefined ? {} : { properties: { tabColor: { argb: options.tab } } }),
  });
  sheet.columns = options.widths.map((width) => ({ width }));
  return sheet;
}

function createSheetWriter(
  book: WorkbookPackage,
  name: string,
  options: SheetOptions,
  { addedParts, tableNames, movedSheets, signal, writeError, ...rowContext }: WorkbookState,
): SheetWriter {
  const { headerRow, position } = options;
  const sheet = addWorksheet(book, name, options);
  if (position !== undefined) movedSheets.push({ sheet, position });
  const links: SheetLink[] = [];
  const merges: string[] = [];
  const breaks: number[] = [];
  // The format requires this order.
  const end = { tables: '', extension: '' };
  insertXml(sheet, 'hyperlinks', () => hyperlinksXml(links));
  insertXml(sheet, 'end', () => end.tables + end.extension);
  insertXml(sheet, 'mergeCells', () => mergeCellsXml(merges));
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

  /** Waits until the zip can take more, and at least one turn of the event loop. */
  const flush = async (): Promise<void> => {
    const writable = stream.write(chunk);
    chunk = '';
    await (writable ? setImmediate() : Promise.race([once(stream, 'drain', { signal }), writeError]));
    signal.throwIfAborted();
  };

  return {
    get rowCount() {
      return rows;
    },
    addRow: async (cells, height) => {
      appendRow(cells, height);
      if (chunk.length >= CHUNK_LENGTH) await flush();
    },
    addPageBreak: () => {
      breaks.push(rows);
    },
    addFilter: (from, to) => {
      sheet.autoFilter = { from, to };
    },
    addTable: (range) => {
      const { part, target } = tablePart(range, tableNames);
      addedParts.push(part);
      const relationship = addSheetRelationship(sheet, 'table', target);
      end.tables = `<tableParts count="1"><tablePart r:id="${relationship}"/></tableParts>`;
    },
    addConditionalFormats: (formats) => {
      insertXml(sheet, 'conditionalFormats', () => conditionalFormattingXml(name, formats));
      end.extension = conditionalFormattingExtension(name, formats);
    },
    addDrawings: (drawings) => {
      const { parts, target } = drawingParts(drawings, addedParts.length);
      addedParts.push(...parts);
      const relationship = addSheetRelationship(sheet, 'drawing', target);
      insertXml(sheet, 'drawing', () => `<drawing r:id="${relationship}"/>`);
    },
    close: async () => {
      stream.write(chunk);
      sheet.commit();
      await setImmediate();
    },
  };
}

/** Adds texts to the shared string table, each once. The add function of exceljs would count and hash every use. */
function sharedStringIds(table: unknown[]): (text: string) => number {
  const ids = new Map<string, number>();
  return (text) => {
    const known = ids.get(text);
    if (known !== undefined) return known;
    const id = table.push(toLegalText(text)) - 1;
    ids.set(text, id);
    return id;
  };
}

/**
 * Creates a workbook that is streamed to disk, with flat memory use. Write one sheet after the other, in their order in
 * the workbook except for those with a `position`. `path` must not exist.
 */
export function createWorkbookFile(path: string, properties: WorkbookProperties, signal: AbortSignal): WorkbookFile {
  const file = createWriteStream(path, { flags: 'wx' });
  // exceljs listens for errors only at the end; an earlier one without a listener would end the process.
  const writeError = new Promise<never>((_, reject) => file.on('error', reject));
  writeError.catch(() => {});
  const book = openPackage(file, {
    title: toLegalText(properties.title),
    subject: toLegalText(properties.subject),
    date: properties.madeAt,
    compressionLevel: COMPRESSION_LEVEL,
  });
  const longTexts = createLongTextStore(properties.longTexts, properties.words);
  const state: WorkbookState = {
    addedParts: [],
    tableNames: new Set<string>(),
    movedSheets: [],
    signal,
    writeError,
    styleId: (style) => book.styleIndex(style),
    textId: sharedStringIds(book.sharedStrings),
    longTexts,
  };
  return {
    longTexts: longTexts.texts,
    addSheet: (name, options) => createSheetWriter(book, name, options, state),
    close: () => Promise.race([book.close(state.addedParts, state.movedSheets), writeError]),
    abort: async () => {
      if (file.closed) return;
      // Not `once`, which rejects on the error of a zip that still writes into the destroyed file.
      const closed = new Promise<void>((resolve) => file.once('close', resolve));
      file.destroy();
      await closed;
    },
  };
}
