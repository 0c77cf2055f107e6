import { createWriteStream } from 'node:fs';
import { setImmediate as pause } from 'node:timers/promises';
import exceljs from 'exceljs';
import { DocketError } from '../../base/error.ts';
import { legalText } from './sheet-name.ts';
import type { CellStyle } from './style.ts';

/** Excel's own limits. */
const MAX_ROWS = 1_048_576;
const MAX_CELL = 32_767;
/** The writer hands over whole rows at once; a pause every so many keeps the process answering and the zip flowing. */
const ROWS_BETWEEN_PAUSES = 50;

export interface Cell {
  /** Text stays text whatever it begins with; a `Date` is a civil date or an instant, in UTC. */
  readonly value: string | number | boolean | Date | null;
  readonly style: CellStyle;
  /** Leads to the top of another sheet of the workbook. */
  readonly link?: string;
  /** How many columns it stretches over, the following cells of the row being missing; 1 when absent. */
  readonly span?: number;
}

export interface SheetOptions {
  /** In characters, one a column. */
  readonly widths: readonly number[];
  /** Rows (and columns) that stay in sight; the rows are also repeated at the top of each printed page from `headerRow` on. */
  readonly freeze?: { readonly rows: number; readonly columns: number };
  /** The row repeated on each printed page and carrying the filter. */
  readonly headerRow?: number;
  readonly landscape: boolean;
  /** Left and right of the printed footer. */
  readonly footer: { readonly left: string; readonly right: string };
  readonly tab?: string;
  /**
   * Texts in one table for the whole workbook, as Excel itself keeps them; it stands in memory until the end. False
   * writes them in place: for the sheets that are too long for that. (LibreOffice then shows line breaks as nothing.)
   */
  readonly sharedStrings: boolean;
}

export interface Sheet {
  readonly name: string;
  /** Rows so far; the next one is this + 1. */
  readonly rows: number;
  /** `height` in points; Excel's own when absent. A missing cell is left empty. */
  row(cells: readonly (Cell | undefined)[], height?: number): Promise<void>;
  /** Puts filter buttons on the cells of a range, counted from 1, both ends included. */
  filter(from: { row: number; column: number }, to: { row: number; column: number }): void;
  close(): Promise<void>;
}

export interface Book {
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
}

interface Zip {
  append(source: unknown, data: { name: string; date?: Date }): unknown;
}

const missing = (part: string): DocketError =>
  new DocketError('internal.defect', `exceljs has no ${part}: Docket was written against exceljs 4.4.0.`, {
    expected: 'exceljs 4.4.0',
    next: 'Install the version that package-lock.json names.',
    retryable: false,
  });

const isZip = (value: unknown): value is Zip =>
  typeof value === 'object' && value !== null && 'append' in value && typeof value.append === 'function';

/**
 * exceljs puts the first two parts into the zip while it is being constructed, too early to correct them: they are held
 * back here, and written by `writeFirstParts`.
 */
class LateWriter extends exceljs.stream.xlsx.WorkbookWriter {
  override addThemes(): Promise<void> {
    return Promise.resolve();
  }
  override addOfficeRels(): Promise<void> {
    return Promise.resolve();
  }
  async writeFirstParts(): Promise<void> {
    await super.addThemes();
    await super.addOfficeRels();
  }
}

/** The order in which the format wants a font's parts; exceljs writes them in another one. */
const FONT_PARTS = [
  'b',
  'i',
  'strike',
  'outline',
  'shadow',
  'u',
  'vertAlign',
  'sz',
  'color',
  'name',
  'family',
  'charset',
  'scheme',
];

const inFontOrder = (styles: string): string =>
  styles.replace(/<font>(.*?)<\/font>/g, (_, parts: string) => {
    const rank = (part: string) => FONT_PARTS.indexOf(/^<(\w+)/.exec(part)?.[1] ?? '');
    const sorted = (parts.match(/<[^>]*>/g) ?? []).sort((one, other) => rank(one) - rank(other));
    return `<font>${sorted.join('')}</font>`;
  });

/**
 * Every part goes through here on its way into the zip: it gets one date, so that the same dataset and clock give the
 * same bytes, and the style sheet is put into the order that a strict reader wants.
 */
function correctParts(writer: object, date: Date): void {
  const zip: unknown = Reflect.get(writer, 'zip');
  if (!isZip(zip)) throw missing('zip');
  const append = zip.append.bind(zip);
  zip.append = (source, data) => {
    const corrected = data.name === 'xl/styles.xml' && typeof source === 'string' ? inFontOrder(source) : source;
    return append(corrected, { ...data, date });
  };
}

/**
 * Writes `xml()` before what the writer's own `method` writes. The streaming writer knows no links inside a workbook
 * and would put links where the format does not allow them (before conditional formats), so links go through here.
 */
function insertBefore(sheet: object, method: string, xml: () => string): void {
  const original: unknown = Reflect.get(sheet, method);
  const stream: unknown = Reflect.get(sheet, 'stream');
  if (typeof original !== 'function') throw missing(method);
  if (typeof stream !== 'object' || stream === null || !('write' in stream) || typeof stream.write !== 'function') {
    throw missing('stream');
  }
  const write = stream.write.bind(stream);
  Reflect.set(sheet, method, () => {
    const text = xml();
    if (text !== '') write(text);
    Reflect.apply(original, sheet, []);
  });
}

const attribute = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The font's name stands after its size, because a text that begins with a digit would be read as part of the size. */
const FOOTER_FONT = '&8&"Calibri,Regular"';

/** `&` starts a code in a footer, and is written by doubling it. */
const footerText = (text: string): string => legalText(text).replaceAll('&', '&&').replaceAll('\n', ' ').slice(0, 80);

function legalValue(value: Cell['value'], sheet: string): Cell['value'] {
  if (typeof value !== 'string') return value;
  const text = legalText(value);
  if (text.length <= MAX_CELL) return text;
  throw new DocketError(
    'render.failed',
    `A text in "${sheet}" has ${text.length.toLocaleString('en')} characters; a cell of Excel holds 32,767.`,
    {
      expected: 'at most 32,767 characters',
      got: `"${text.slice(0, 40)}…"`,
      next: 'Write this section as CSV instead.',
    },
  );
}

function createSheet(
  writer: exceljs.stream.xlsx.WorkbookWriter,
  name: string,
  options: SheetOptions,
  signal: AbortSignal,
) {
  const { freeze, headerRow } = options;
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
      oddFooter: `&L${FOOTER_FONT}${footerText(options.footer.left)}&C${FOOTER_FONT}Page &P of &N&R${FOOTER_FONT}${footerText(options.footer.right)}`,
    },
    ...(options.tab === undefined ? {} : { properties: { tabColor: { argb: options.tab } } }),
  });
  // The types do not know it, although the streaming writer does.
  Reflect.set(sheet, 'useSharedStrings', options.sharedStrings);
  sheet.columns = options.widths.map((width) => ({ width }));
  const links: { readonly cell: string; readonly to: string }[] = [];
  insertBefore(sheet, '_writePageMargins', () =>
    links.length === 0
      ? ''
      : `<hyperlinks>${links
          .map(
            ({ cell, to }) =>
              `<hyperlink ref="${cell}" location="${attribute(`'${to}'!A1`)}" display="${attribute(to)}"/>`,
          )
          .join('')}</hyperlinks>`,
  );
  let rows = 0;

  const put = (cells: readonly (Cell | undefined)[], height: number | undefined): void => {
    rows += 1;
    if (rows > MAX_ROWS) {
      throw new DocketError('render.failed', `The sheet "${name}" would have more rows than Excel can hold.`, {
        expected: `at most ${MAX_ROWS.toLocaleString('en')} rows`,
        next: 'Write this section as CSV instead, or narrow it.',
      });
    }
    const row = sheet.getRow(rows);
    if (height !== undefined) row.height = height;
    cells.forEach((cell, index) => {
      if (cell === undefined) return;
      const target = row.getCell(index + 1);
      target.value = legalValue(cell.value, name);
      target.style = cell.style;
      if (cell.link !== undefined) links.push({ cell: target.address, to: cell.link });
      if (cell.span !== undefined && cell.span > 1) sheet.mergeCells(rows, index + 1, rows, index + cell.span);
    });
    row.commit();
  };

  const result: Sheet = {
    name,
    get rows() {
      return rows;
    },
    row: async (cells, height) => {
      put(cells, height);
      if (rows % ROWS_BETWEEN_PAUSES === 0) {
        await pause();
        signal.throwIfAborted();
      }
    },
    filter: (from, to) => {
      sheet.autoFilter = { from, to };
    },
    close: async () => {
      sheet.commit();
      await pause();
    },
  };
  return result;
}

/**
 * A workbook that is written as it is made: memory stays flat however long it gets. Sheets are written one after the
 * other, in the order they stand in. `path` must not exist.
 */
export function createBook(path: string, properties: BookProperties, signal: AbortSignal): Book {
  const file = createWriteStream(path, { flags: 'wx' });
  // exceljs listens for errors of its stream only at the end; one before that would end the process.
  const broken = new Promise<never>((_, reject) => file.on('error', reject));
  broken.catch(() => {});
  const writer = new LateWriter({
    stream: file,
    useStyles: true,
    zip: { zlib: { level: 6 } },
  });
  const { title, subject, madeAt } = properties;
  correctParts(writer, madeAt);
  Object.assign(writer, {
    title: legalText(title),
    subject: legalText(subject),
    creator: 'Docket',
    lastModifiedBy: 'Docket',
    created: madeAt,
    modified: madeAt,
  });
  return {
    sheet: (name, options) => createSheet(writer, name, options, signal),
    close: async () => {
      await writer.writeFirstParts();
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
