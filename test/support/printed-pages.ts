import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { program } from './debian.ts';

const run = promisify(execFile);
const LARGE = { maxBuffer: 512 * 1024 * 1024 };

/** A piece of text in one font and size. */
export interface PrintedText {
  readonly text: string;
  /** The size on paper in points, after all scaling. */
  readonly size: number;
}

export interface PrintedPage {
  /** Pages count from 1. */
  readonly number: number;
  /** In points. */
  readonly width: number;
  readonly height: number;
  /** The last bookmark at or before this page. In a workbook it is the sheet. */
  readonly section: string | undefined;
  /** The smallest text; undefined on a page without text. */
  readonly smallest: PrintedText | undefined;
  /** The share of the height between the margins that is used, from 0 to 1. Gaps of up to a centimetre count as used. */
  readonly used: number;
  /** The share of the area between the margins that is used, from 0 to 1, in squares of `SQUARE_MM`. */
  readonly area: number;
  readonly texts: readonly PrintedText[];
  /** Lines of text that overlap, and lines that leave the paper. */
  readonly collisions: readonly string[];
  /** The text of the page, line by line, in reading order. */
  readonly lines: readonly string[];
}

/** The area between the margins, as shares of the page's height. Running headers and footers are outside. */
const BODY = { top: 0.04, bottom: 0.92 } as const;
const DPI = 36;
const MM = DPI / 25.4;
const CENTIMETRE = Math.round(10 * MM);
const SQUARE_MM = 8;
/** Lighter greys count as paper. */
const PAPER = 250;

/** The pages of a PDF as a reader of the print sees them. Uses poppler and MuPDF, which Docket does not use itself. */
export async function printedPages(pdf: string): Promise<PrintedPage[]> {
  const [texts, marks, outline] = [await textsOf(pdf), await marksOf(pdf), await outlineOf(pdf)];
  if (texts.length !== marks.length) throw new Error(`${pdf}: ${texts.length} pages of text, ${marks.length} drawn`);
  return texts.map(({ pieces, width, height, lines }, index) => {
    const number = index + 1;
    const visible = pieces.filter(({ text }) => text.trim() !== '');
    return {
      number,
      width,
      height,
      section: outline.findLast(({ page }) => page <= number)?.title,
      smallest: visible.reduce<PrintedText | undefined>(
        (least, piece) => (least === undefined || piece.size < least.size ? piece : least),
        undefined,
      ),
      ...(marks[index] ?? { used: 0, area: 0 }),
      texts: visible,
      collisions: collisionsOf(lines, width),
      lines: lines.map(({ text }) => text),
    };
  });
}

/** A bookmark of a PDF. */
export interface Bookmark {
  readonly title: string;
  /** Pages count from 1. */
  readonly page: number;
  /** 0 for the outermost bookmarks. */
  readonly level: number;
}

/** The bookmarks of a PDF in order; empty without an outline. */
export async function outlineOf(pdf: string): Promise<Bookmark[]> {
  const { stdout } = await run(await mutool(), ['show', pdf, 'outline'], LARGE);
  return stdout.split('\n').flatMap((line) => {
    const [, indent = '', title = '', page] = /^[+\-|](\t+)"(.*)"\t#page=(\d+)/.exec(line) ?? [];
    return page === undefined ? [] : [{ title, page: Number(page), level: indent.length - 1 }];
  });
}

const mutool = (): Promise<string> => program('mutool', 'mupdf-tools');

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const unescaped = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (_, hex?: string, decimal?: string, name = '') => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return decimal === undefined ? (ENTITIES[name] ?? '') : String.fromCodePoint(Number(decimal));
  });

interface PrintedLine {
  readonly text: string;
  /** Left, top, right and bottom, in points from the top left. */
  readonly box: readonly [number, number, number, number];
  /** Whether the line is slanted, so that its box is larger than the line. */
  readonly slanted: boolean;
}

interface PageTexts {
  readonly width: number;
  readonly height: number;
  readonly pieces: readonly PrintedText[];
  readonly lines: readonly PrintedLine[];
}

/**
 * The box of a line fits the tallest letter of its font, so this share of the height, above and below, may overlap another
 * line.
 */
const SLACK = 0.25;
const STRAIGHT = /^(-?1 -?0|-?0 -?1)$/;
/** In points. */
const TOUCH = 1.5;

function collisionsOf(all: readonly PrintedLine[], width: number): string[] {
  const lines = all.flatMap(({ text, slanted, box: [left, top, right, bottom] }) => {
    const slack = SLACK * (bottom - top);
    return slanted || text.trim() === ''
      ? []
      : [{ text: text.trim(), left, right, top: top + slack, bottom: bottom - slack }];
  });
  return lines.flatMap((one, index) => [
    ...(one.left < 0 || one.right > width ? [`"${one.text}" leaves the paper`] : []),
    ...lines.slice(index + 1).flatMap((other) => {
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      return across > TOUCH && down > TOUCH ? [`"${one.text}" and "${other.text}"`] : [];
    }),
  ]);
}

/** MuPDF gives each run of text its size on paper. Poppler only gives the box of a word, which is taller. */
async function textsOf(pdf: string): Promise<PageTexts[]> {
  const { stdout } = await run(await mutool(), ['draw', '-q', '-F', 'stext', '-o', '-', pdf], LARGE);
  return [...stdout.matchAll(/<page [^>]*width="([\d.]+)" height="([\d.]+)"[^>]*>(.*?)<\/page>/gs)].map(
    ([, width, height, page = '']) => {
      const lines = [...page.matchAll(/<line bbox="([^"]*)"[^>]* dir="([^"]*)"[^>]*>(.*?)<\/line>/gs)].map(
        ([, box = '', dir = '', line = '']) => {
          const [left = 0, top = 0, right = 0, bottom = 0] = box.split(' ').map(Number);
          const pieces = [...line.matchAll(/<font [^>]*size="([\d.]+)"[^>]*>(.*?)<\/font>/gs)].map(
            ([, size, chars = '']) => ({
              size: Number(size),
              text: [...chars.matchAll(/ c="([^"]*)"/g)].map(([, char = '']) => unescaped(char)).join(''),
            }),
          );
          const text = pieces.map((piece) => piece.text).join('');
          return { pieces, text, box: [left, top, right, bottom] as const, slanted: !STRAIGHT.test(dir) };
        },
      );
      return { width: Number(width), height: Number(height), pieces: lines.flatMap(({ pieces }) => pieces), lines };
    },
  );
}

interface Marks {
  readonly used: number;
  readonly area: number;
}

/** Draws every page small and in grey, and finds where it is not white. */
async function marksOf(pdf: string): Promise<Marks[]> {
  const folder = await mkdtemp(join(tmpdir(), 'docket-pages-'));
  try {
    await run(await program('pdftoppm', 'poppler-utils'), ['-r', `${DPI}`, '-gray', pdf, join(folder, 'page')], LARGE);
    const files = (await readdir(folder)).sort();
    return await Promise.all(files.map(async (file) => marksIn(readGreyMap(await readFile(join(folder, file))))));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface GreyMap {
  readonly width: number;
  readonly height: number;
  /** One byte per pixel, row by row; 255 is white. */
  readonly pixels: Uint8Array;
}

/** Reads a binary PGM file. */
function readGreyMap(bytes: Buffer): GreyMap {
  const [head = '', width, height] = /^P5\s+(\d+)\s+(\d+)\s+255\s/.exec(bytes.subarray(0, 64).toString('latin1')) ?? [];
  if (head === '') throw new Error('no grey map of eight bits');
  return { width: Number(width), height: Number(height), pixels: bytes.subarray(head.length) };
}

function marksIn({ width, height, pixels }: GreyMap): Marks {
  const [top, bottom] = [Math.round(BODY.top * height), Math.round(BODY.bottom * height)];
  const isMarked = (x: number, y: number): boolean => (pixels[y * width + x] ?? 255) < PAPER;
  const rows = Array.from({ length: bottom - top }, (_, row) => {
    for (let x = 0; x < width; x += 1) if (isMarked(x, top + row)) return true;
    return false;
  });
  let used = 0;
  let last: number | undefined;
  for (const [row, marked] of rows.entries()) {
    if (!marked) continue;
    used += last !== undefined && row - last <= CENTIMETRE ? row - last : 1;
    last = row;
  }
  const square = SQUARE_MM * MM;
  const squares = new Set<string>();
  for (let y = top; y < bottom; y += 1) {
    for (let x = 0; x < width; x += 1) {
      if (isMarked(x, y)) squares.add(`${Math.floor(x / square)} ${Math.floor((y - top) / square)}`);
    }
  }
  return { used: used / rows.length, area: squares.size / ((width / square) * (rows.length / square)) };
}
