import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { setImmediate as pause } from 'node:timers/promises';
import type exceljs from 'exceljs';
import { DocketError } from '../../base/error.ts';
import type { Words } from '../../words/words.ts';
import { conditionalExtension, conditionalFormats, type Mark } from './conditional.ts';
import {
  beginRows,
  correctParts,
  insertBefore,
  LateWriter,
  placeSheet,
  relate,
  sharedTexts,
  styleIds,
} from './corrections.ts';
import { type Drawn, drawingParts, type Part } from './drawing.ts';
import { createLongTexts, type LongText } from './long-texts.ts';
import { type Cell, createRowXml, type RowContext } from './sheet-data.ts';
import { columnName, type TableRange, tablePart } from './table.ts';
import { legalText, xmlText } from './text.ts';

export type { Cell };

/** Excel's own limit. */
const MAX_ROWS = 1_048_576;
/** Characters of rows that are handed over at once, and between which the process answers. */
const CHUNK = 64 * 1024;
/** Of 1 to 9. On a sheet of figures 5 takes a quarter less time than 6 for 1 % more bytes; 4 would save little more. */
const ZIP_LEVEL = 5;
/** Where a page break ends, counted from 0. */
const LAST_COLUMN = 16_383;

/** What is printed below each page, beside its number. */
export interface Footer {
  readonly left: string;
  readonly right: string;
  /** The page's number, in Excel's codes: `Page &P of &N`. */
  readonly pages: string;
  /** Who may read it; in the middle, before the number. */
  readonly classification?: string | undefined;
}

export interface SheetOptions {
  /** In characters, one a column. */
  readonly widths: readonly number[];
  /** Rows (and columns) that stay in sight; the rows are also repeated at the top of each printed page from `headerRow` on. */
  readonly freeze?: { readonly rows: number; readonly columns: number };
  /** The row repeated on each printed page and carrying the filter. */
  readonly headerRow?: number;
  readonly landscape: boolean;
  readonly footer: Footer;
  readonly tab?: string;
  /**
   * Texts in one table for the whole workbook, as Excel itself keeps them; it stands in memory until the end. False
   * writes them in place: for the sheets that are too long for that. (LibreOffice then shows line breaks as nothing.)
   */
  readonly sharedStrings: boolean;
  /** Where it stands in the workbook, counted from 0; after those written before it when absent. */
  readonly place?: number;
}

export interface Sheet {
  readonly name: string;
  /** Rows so far; the next one is this + 1. */
  readonly rows: number;
  /** `height` in points; Excel's own when absent. A missing cell is left empty. */
  row(cells: readonly (Cell | undefined)[], height?: number): Promise<void>;
  /** The printed page ends after the last row. */
  endPage(): void;
  /** Puts filter buttons on the cells of a range, counted from 1, both ends included. */
  filter(from: { row: number; column: number }, to: { row: number; column: number }): void;
  /** Makes a table of a range that was written; `canBeTable` holds, and no filter is on the sheet. */
  table(range: TableRange): void;
  /** Marks the figures of a column, e.g. by bars; once for all columns, before it is closed. */
  mark(marks: readonly Mark[]): void;
  /** Puts native charts and pictures on the sheet; at most once, before it is closed. */
  draw(drawn: readonly Drawn[]): void;
  close(): Promise<void>;
}

export interface Book {
  /** Texts of the sheets so far that no cell can hold. */
  readonly longTexts: readonly LongText[];
  sheet(name: string, options: SheetOptions): Sheet;
  /** Resolves when the file is complete on disk. */
  close(): Promise<void>;
  /** Lets go of the file after a failure. */
  abandon(): Promise<void>;
}

export interface BookProperties {
  readonly title: string;
  readonly subject: string;
  readonly madeAt: Date;
  /** The name of the sheet that will hold the texts which no cell can hold. */
  readonly longTexts: string;
  /** What a cut text says of where it goes on. */
  readonly words: Words['workbook']['longTexts'];
}

/** The font's name stands after its size, because a text that begins with a digit would be read as part of the size. */
const FOOTER_FONT = '&8&"Calibri,Regular"';

/** Excel takes so many characters for the whole footer, our codes included. */
const MAX_FOOTER = 255;
const MAX_FOOTER_TEXT = 75;

/** `&` starts a code in a footer, and is written by doubling it. What is cut ends in an ellipsis. */
function footerText(text: string, most = MAX_FOOTER_TEXT): string {
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(legalText(text).replaceAll('\n', ' '))) {
    const escaped = segment.replaceAll('&', '&&');
    if (kept.length + escaped.length > most) return `${kept}…`;
    kept += escaped;
  }
  return kept;
}

/** What stands at the left is on the cover in full, so it gives way to the rest. */
function footerCodes({ left, right, pages, classification }: Footer): string {
  const marked =
    classification === undefined ? '' : `&"Calibri,Bold"${footerText(classification)}&"Calibri,Regular" · `;
  const rest = `&C${FOOTER_FONT}${marked}${pages}&R${FOOTER_FONT}${footerText(right)}`;
  const room = MAX_FOOTER - rest.length - `&L${FOOTER_FONT}…`.length;
  return `&L${FOOTER_FONT}${footerText(left, Math.min(room, MAX_FOOTER_TEXT))}${rest}`;
}

/** What the sheets of one workbook have in common. */
interface Shared extends Omit<RowContext, 'sheet'> {
  readonly added: Part[];
  readonly tableNames: Set<string>;
  /** The sheets that do not stand where they were written. */
  readonly placed: { readonly sheet: object; readonly place: number }[];
  readonly signal: AbortSignal;
  /** Rejects when the file can no longer be written. */
  readonly broken: Promise<never>;
}

function createSheet(
  writer: exceljs.stream.xlsx.WorkbookWriter,
  name: string,
  options: SheetOptions,
  { added, tableNames, placed, signal, broken, ...texts }: Shared,
): Sheet {
  const { freeze, headerRow, place } = options;
  const sheet = writer.addWorksheet(name, {
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
    headerFooter: {
      oddFooter: footerCodes(options.footer),
    },
    ...(options.tab === undefined ? {} : { properties: { tabColor: { argb: options.tab } } }),
  });
  if (place !== undefined) placed.push({ sheet, place });
  sheet.columns = options.widths.map((width) => ({ width }));
  const links: { readonly cell: string; readonly to: string }[] = [];
  insertBefore(sheet, '_writePageMargins', () =>
    links.length === 0
      ? ''
      : `<hyperlinks>${links
          .map(
            ({ cell, to }) => `<hyperlink ref="${cell}" location="${xmlText(`'${to}'!A1`)}" display="${xmlText(to)}"/>`,
          )
          .join('')}</hyperlinks>`,
  );
  // What the format wants after everything else, in this order.
  const end = { tables: '', extension: '' };
  insertBefore(sheet, '_writeCloseWorksheet', () => end.tables + end.extension);
  const merges: string[] = [];
  insertBefore(sheet, '_writeMergeCells', () =>
    merges.length === 0
      ? ''
      : `<mergeCells count="${merges.length}">${merges.map((range) => `<mergeCell ref="${range}"/>`).join('')}</mergeCells>`,
  );
  const breaks: number[] = [];
  insertBefore(sheet, '_writeRowBreaks', () =>
    breaks.length === 0
      ? ''
      : `<rowBreaks count="${breaks.length}" manualBreakCount="${breaks.length}">${breaks.map((row) => `<brk id="${row}" max="${LAST_COLUMN}" man="1"/>`).join('')}</rowBreaks>`,
  );
  const rowXml = createRowXml({ sheet: name, ...texts });
  const stream = beginRows(sheet);
  let rows = 0;
  let chunk = '';

  const note = (cell: Cell, index: number): void => {
    const address = `${columnName(index)}${rows}`;
    if (cell.link !== undefined) links.push({ cell: address, to: cell.link });
    if (cell.span !== undefined && cell.span > 1) merges.push(`${address}:${columnName(index + cell.span - 1)}${rows}`);
  };

  const put = (cells: readonly (Cell | undefined)[], height: number | undefined): void => {
    rows += 1;
    if (rows > MAX_ROWS) {
      throw new DocketError('render.failed', `The sheet "${name}" would have more rows than Excel can hold.`, {
        expected: `at most ${MAX_ROWS.toLocaleString('en')} rows`,
        next: 'Write this section as CSV instead, or narrow it.',
      });
    }
    // Excel wants the headers of a table among the shared texts.
    const shared = options.sharedStrings || rows <= (headerRow ?? 0);
    chunk += rowXml(rows, cells, shared, height);
    for (let index = 0; index < cells.length; index += 1) {
      const cell = cells[index];
      if (cell !== undefined && (cell.link !== undefined || cell.span !== undefined)) note(cell, index);
    }
  };

  /** Waits for the zip where it has enough to do, and lets the process answer in any case. */
  const handOver = async (): Promise<void> => {
    const room = stream.write(chunk);
    chunk = '';
    await (room ? pause() : Promise.race([once(stream, 'drain', { signal }), broken]));
    signal.throwIfAborted();
  };

  return {
    name,
    get rows() {
      return rows;
    },
    row: async (cells, height) => {
      put(cells, height);
      if (chunk.length >= CHUNK) await handOver();
    },
    endPage: () => {
      breaks.push(rows);
    },
    filter: (from, to) => {
      sheet.autoFilter = { from, to };
    },
    table: (range) => {
      const { part, target } = tablePart(range, tableNames);
      added.push(part);
      const relation = relate(sheet, 'table', target);
      end.tables = `<tableParts count="1"><tablePart r:id="${relation}"/></tableParts>`;
    },
    mark: (marks) => {
      insertBefore(sheet, '_writeDataValidations', () => conditionalFormats(name, marks));
      end.extension = conditionalExtension(name, marks);
    },
    draw: (drawn) => {
      const drawing = drawingParts(drawn, added.length);
      added.push(...drawing.parts);
      const relation = relate(sheet, 'drawing', drawing.target);
      insertBefore(sheet, '_writeLegacyData', () => `<drawing r:id="${relation}"/>`);
    },
    close: async () => {
      stream.write(chunk);
      sheet.commit();
      await pause();
    },
  };
}

/** Each text once, as Excel can hold it. */
function textIds(writer: object): (text: string) => number {
  const table = sharedTexts(writer);
  const places = new Map<string, number>();
  return (text) => {
    const known = places.get(text);
    if (known !== undefined) return known;
    const place = table.push(legalText(text)) - 1;
    places.set(text, place);
    return place;
  };
}

/**
 * A workbook that is written as it is made: memory stays flat however long it gets. Sheets are written one after the
 * other, in the order they stand in but for those with a `place`. `path` must not exist.
 */
export function createBook(path: string, properties: BookProperties, signal: AbortSignal): Book {
  const file = createWriteStream(path, { flags: 'wx' });
  // exceljs listens for errors of its stream only at the end; one before that would end the process.
  const broken = new Promise<never>((_, reject) => file.on('error', reject));
  broken.catch(() => {});
  const writer = new LateWriter({
    stream: file,
    useStyles: true,
    zip: { zlib: { level: ZIP_LEVEL } },
  });
  const { title, subject, madeAt } = properties;
  const longTexts = createLongTexts(properties.longTexts, properties.words);
  const added: Part[] = [];
  const zip = correctParts(writer, madeAt, added);
  const shared: Shared = {
    added,
    tableNames: new Set<string>(),
    placed: [],
    signal,
    broken,
    styleId: styleIds(writer),
    textId: textIds(writer),
    longTexts,
  };
  Object.assign(writer, {
    title: legalText(title),
    subject: legalText(subject),
    creator: 'Docket',
    lastModifiedBy: 'Docket',
    created: madeAt,
    modified: madeAt,
  });
  return {
    longTexts: longTexts.kept,
    sheet: (name, options) => createSheet(writer, name, options, shared),
    close: async () => {
      await writer.writeFirstParts();
      for (const { sheet, place } of shared.placed) placeSheet(writer, sheet, place);
      for (const { name, xml } of added) zip.append(xml, { name });
      await Promise.race([writer.commit(), broken]);
    },
    abandon: async () => {
      if (file.closed) return;
      // Not `once`: the zip may still write into the destroyed file, and that error must not hide the first one.
      const closed = new Promise<void>((resolve) => file.once('close', resolve));
      file.destroy();
      await closed;
    },
  };
}
