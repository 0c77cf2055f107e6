import type { Paper } from '../../../pack/paper.ts';
import { totalWidth } from './text-size.ts';

/** The printable area of a landscape page at a scale of 100 %. */
export interface Page {
  readonly paper: Paper;
  /** Width, in characters of columns. */
  readonly characters: number;
  /** Height of rows. */
  readonly points: number;
}

/** 770 × 500 and 720 × 517 points. A character is 5.25 points wide in Excel and 5.6 in LibreOffice. */
const PAGES = {
  a4: { paper: 'a4', characters: 137, points: 498 },
  letter: { paper: 'letter', characters: 128, points: 514 },
} as const;

export const pageOf = (paper: Paper): Page => PAGES[paper];

/** In per cent. At 80, text of 10 points is 8 points on paper, but programs round that down. */
export const MIN_SCALE = 81;

/** The page at a scale, in per cent. */
export const pageAt = ({ paper, characters, points }: Page, scale: number): Page => ({
  paper,
  characters: Math.floor((characters * 100) / scale),
  points: (points * 100) / scale,
});

const clampScale = (scale: number): number => Math.min(100, Math.max(MIN_SCALE, Math.floor(scale)));

/** The largest scale, within the limits, at which this many characters fit across a page. */
export const scaleForWidth = (characters: number, page: Page): number =>
  clampScale((page.characters * 100) / characters);

/** A smaller scale at which content fits on one page, if the limits allow it; otherwise `scale`. */
export function scaleForHeight(points: number, page: Page, scale: number): number {
  const fitting = Math.floor((page.points * 100) / points);
  return fitting >= MIN_SCALE ? Math.min(scale, fitting) : scale;
}

/** Columns that are printed on one page. Both ends are counted from 0 and included. */
export interface ColumnSpan {
  readonly from: number;
  readonly to: number;
}

export interface ColumnPages {
  /** In per cent. */
  readonly scale: number;
  /** The number of columns on the left that are repeated on each further page. */
  readonly keys: number;
  /** The first page begins with the key columns. */
  readonly pages: readonly ColumnSpan[];
}

/** The columns of each page at one scale. Groups stay together unless one is wider than a page. */
function packColumns(
  widths: readonly number[],
  keys: number,
  groups: readonly ColumnSpan[],
  characters: number,
): ColumnSpan[] {
  const sumWidth = ({ from, to }: ColumnSpan): number => totalWidth(widths.slice(from, to + 1));
  const keyWidth = totalWidth(widths.slice(0, keys));
  const units = groups.flatMap((group) =>
    keyWidth + sumWidth(group) <= characters
      ? [group]
      : Array.from({ length: group.to - group.from + 1 }, (_, index) => ({
          from: group.from + index,
          to: group.from + index,
        })),
  );
  const pages: ColumnSpan[] = [];
  let page: ColumnSpan = { from: 0, to: keys - 1 };
  let used = keyWidth;
  for (const unit of units) {
    const width = sumWidth(unit);
    if (used + width > characters && page.to >= Math.max(page.from, page.from === 0 ? keys : 0)) {
      pages.push(page);
      page = { from: unit.from, to: unit.to };
      used = keyWidth + width;
    } else {
      page = { from: page.from, to: unit.to };
      used += width;
    }
  }
  return [...pages, page];
}

/** The largest share of a page that repeated key columns may take. */
const MAX_KEY_SHARE = 0.5;

/**
 * Splits the columns of a sheet into as few pages as the smallest scale allows, then prints them as large as that
 * number of pages allows.
 * @param keys columns on the left that name a row
 * @param groups the other columns, in order; each group stays on one page
 */
export function splitColumns(
  widths: readonly number[],
  keys: number,
  groups: readonly ColumnSpan[],
  page: Page,
): ColumnPages {
  const limit = pageAt(page, MIN_SCALE).characters * MAX_KEY_SHARE;
  let repeated = keys;
  while (repeated > 0 && totalWidth(widths.slice(0, repeated)) > limit) repeated -= 1;
  const others = [
    ...Array.from({ length: keys - repeated }, (_, index) => ({ from: repeated + index, to: repeated + index })),
    ...groups,
  ];
  const pagesAt = (scale: number) => packColumns(widths, repeated, others, pageAt(page, scale).characters);
  const fewest = pagesAt(MIN_SCALE);
  for (let scale = 100; scale > MIN_SCALE; scale -= 1) {
    const pages = pagesAt(scale);
    if (pages.length === fewest.length) return { scale, keys: repeated, pages };
  }
  return { scale: MIN_SCALE, keys: repeated, pages: fewest };
}
