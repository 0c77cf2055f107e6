import { balanceBidiControls, isolateBidi, toSingleLine } from '../../../base/text/bidi.ts';
import type { Environment, OutputStream } from '../../io.ts';
import { applyStyle, type Style, terminalWidth } from '../style.ts';
import type { Cell } from './cell.ts';
import { cellWidth, cutAround, cutEnd, cutMiddle, cutReport, splitGraphemes, takeCells } from './cell-width.ts';
import { type Column, fitColumns } from './fit-columns.ts';

const COLUMN_GAP = 2;
const CUTS = { end: cutEnd, middle: cutMiddle, report: cutReport } as const;

/**
 * Formats rows as aligned columns, header first. On a terminal, cells are in their brief form and lines fit its width:
 * first columns are left out, then cells are cut, with `…`. In a pipe, in a file and with `wide`, every column is
 * complete.
 */
export function formatColumns(
  columns: readonly (string | Column)[],
  rows: readonly (readonly (string | Cell)[])[],
  stream: OutputStream,
  env: Environment,
  { wide = false }: { readonly wide?: boolean } = {},
): string {
  const all = columns.map((column) => (typeof column === 'string' ? { name: column } : column));
  const width = terminalWidth(stream, env);
  const brief = !wide && width !== undefined;
  const toCellText = (cell: string | Cell = ''): string =>
    // Cells contain external text, which must not break the line or reorder the following cells.
    toSingleLine(typeof cell === 'string' ? cell : brief ? cell.brief : cell.exact);
  const headers = all.map(({ name, briefName }) => (brief ? (briefName ?? name) : name));
  const texts = rows.map((row) => all.map((_, index) => toCellText(row[index])));
  const natural = headers.map((name, index) =>
    Math.max(cellWidth(name), ...texts.map((row) => cellWidth(row[index] ?? ''))),
  );
  const shown = fitColumns(all, natural, brief ? width : Number.POSITIVE_INFINITY, COLUMN_GAP).map((fitted) => ({
    ...fitted,
    cut: createCutter(
      all[fitted.index],
      texts.map((row) => row[fitted.index] ?? ''),
      fitted.width,
    ),
  }));
  const isolate = brief ? isolateBidi : balanceBidiControls;
  const line = (cells: readonly string[], styleOf: (index: number) => Style | undefined): string =>
    shown
      .map(({ index, width: columnWidth, cut }, position) => {
        const cell = isolate(cut(cells[index] ?? ''));
        const style = styleOf(index);
        const text = style === undefined ? cell : applyStyle(style, cell, stream, env);
        return position === shown.length - 1 ? text : text + ' '.repeat(columnWidth - cellWidth(cell) + COLUMN_GAP);
      })
      .join('')
      .trimEnd();
  const toExactText = (cell: string | Cell = ''): string => (typeof cell === 'string' ? cell : cell.exact);
  const header = line(headers, () => 'bold');
  return [
    header,
    ...texts.map((row, index) => line(row, (column) => STATE_STYLES[toExactText(rows[index]?.[column])])),
  ].join('\n');
}

/** Returns a function that cuts the cells of a column to its width. */
function createCutter(column: Column | undefined, cells: readonly string[], width: number): (cell: string) => string {
  const cut = column?.cut ?? 'end';
  if (cut === 'end') return (cell) => cutEnd(cell, width);
  const shortened = shortenNames(cells, width, CUTS[cut]);
  // The header is not one of the cells.
  return (cell) => shortened.get(cell) ?? cutEnd(cell, width);
}

/** Green: nothing to do. Yellow: needs attention or a decision. Red: failed. */
const STATE_STYLES: Readonly<Record<string, Style>> = {
  done: 'green',
  sent: 'green',
  ok: 'green',
  failed: 'red',
  fail: 'red',
  refused: 'red',
  unknown: 'yellow',
  held: 'yellow',
  partly_delivered: 'yellow',
  warn: 'yellow',
  skipped: 'dim',
  cancelled: 'dim',
};

/**
 * Cuts each name to a number of cells; the result is by name. Different names stay different: if two would be cut to
 * the same text, both show the place where they differ.
 *
 * @param cut cuts a name that is too long
 */
export function shortenNames(
  names: readonly string[],
  width: number,
  cut: (name: string, width: number) => string,
): ReadonlyMap<string, string> {
  const shortened = new Map([...new Set(names)].map((name) => [name, cut(name, width)]));
  // Each round separates at least one name of a group from the others.
  for (let round = 0; round < shortened.size; round += 1) {
    const clashes = findClashes(shortened, width);
    if (clashes.length === 0) return shortened;
    for (const group of clashes) {
      const letters = group.map(splitGraphemes);
      const from = firstDifference(letters);
      group.forEach((name, index) => {
        shortened.set(name, cutAround(letters[index] ?? [], from, width));
      });
    }
  }
  for (const group of findClashes(shortened, width)) numberNames(group, shortened, width);
  return shortened;
}

/** Groups of names that were cut to the same text. A name that fits keeps its text. */
function findClashes(shortened: ReadonlyMap<string, string>, width: number): readonly (readonly string[])[] {
  const groups = new Map<string, string[]>();
  for (const [name, text] of shortened) groups.set(text, [...(groups.get(text) ?? []), name]);
  return [...groups.values()]
    .filter((group) => group.length > 1)
    .map((group) => group.filter((name) => cellWidth(name) > width));
}

function firstDifference(names: readonly (readonly string[])[]): number {
  const [first = []] = names;
  const at = first.findIndex((letter, index) => names.some((name) => name[index] !== letter));
  return at === -1 ? first.length : at;
}

/** The last resort in a very narrow column: `acme~1`, `acme~2`. */
function numberNames(group: readonly string[], shortened: Map<string, string>, width: number): void {
  group.forEach((name, index) => {
    const suffix = `~${index + 1}`;
    shortened.set(name, takeCells(splitGraphemes(shortened.get(name) ?? ''), width - suffix.length) + suffix);
  });
}
