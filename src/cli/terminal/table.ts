import { balanceBidiControls, toSingleLine } from '../../base/text/bidi.ts';
import { applyStyle, type OutputStream, type Style, terminalWidth, truncateToWidth } from './style.ts';

/** A column of a listing: its heading, and what may become of it where the terminal is narrow. */
export interface Column {
  readonly name: string;
  /** `whole`: never cut, because somebody copies it. `spare`: left out before others are cut beyond use. */
  readonly narrow?: 'whole' | 'spare';
}

/** Cut to fewer characters than this, a cell tells nothing any more. */
const MIN_COLUMN_WIDTH = 8;
const COLUMN_GAP = 2;

/**
 * Rows as aligned columns, header first. On a terminal no line is wider than it as far as that can be: the widest columns are
 * cut with `…`, then spare columns left out. In a pipe or a file everything stands in full.
 */
export function formatColumns(
  columns: readonly (string | Column)[],
  rows: readonly (readonly string[])[],
  stream: OutputStream = process.stdout,
): string {
  const all = columns.map((column) => (typeof column === 'string' ? { name: column } : column));
  // What a cell holds may be anybody's: it makes no line, and turns none around.
  const plain = rows.map((row) => row.map(toSingleLine));
  const natural = all.map(({ name }, at) =>
    Math.max(name.length, ...plain.map((row) => characterCount(row[at] ?? ''))),
  );
  const shown = fitColumns(all, natural, terminalWidth(stream) ?? Number.POSITIVE_INFINITY);
  const line = (cells: readonly string[], style: (cell: string) => Style | undefined): string =>
    shown
      .map(({ at, width }, place) => {
        const cell = balanceBidiControls(truncateToWidth(cells[at] ?? '', width));
        const styled = style(cell);
        const text = styled === undefined ? cell : applyStyle(styled, cell, stream);
        return place === shown.length - 1 ? text : text + ' '.repeat(width - characterCount(cell) + COLUMN_GAP);
      })
      .join('')
      .trimEnd();
  const header = line(
    all.map(({ name }) => name),
    () => 'bold',
  );
  return [header, ...plain.map((row) => line(row, stateStyle))].join('\n');
}

const characterCount = (text: string): number => [...text].length;

interface FittedColumn {
  /** Which column. */
  readonly at: number;
  readonly width: number;
}

function fitColumns(columns: readonly Column[], natural: readonly number[], room: number): FittedColumn[] {
  let kept = columns.map((_, at) => ({ at, width: natural[at] ?? 0 }));
  const total = () => kept.reduce((sum, { width }) => sum + width, COLUMN_GAP * (kept.length - 1));
  for (;;) {
    // The widest first, one character at a time: what is short stays readable.
    for (let over = total() - room; over > 0; over -= 1) {
      const [widest] = kept
        .filter(({ at, width }) => columns[at]?.narrow !== 'whole' && width > MIN_COLUMN_WIDTH)
        .sort((a, b) => b.width - a.width);
      if (widest === undefined) break;
      widest.width -= 1;
    }
    if (total() <= room) return kept;
    const spare = kept.findLast(({ at }) => columns[at]?.narrow === 'spare');
    if (spare === undefined) return kept;
    kept = kept.filter((one) => one !== spare).map(({ at }) => ({ at, width: natural[at] ?? 0 }));
  }
}

/** States in the colour of what they ask of somebody: nothing, a look, a decision. */
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

export const stateStyle = (state: string): Style | undefined => STATE_STYLES[state];
