import { closeDirections } from '../base/bidi.ts';
import { singleLine } from '../base/single-line.ts';
import { clip, inStyle, type Shown, type Style, widthOf } from './terminal.ts';

/** A column of a listing: its heading, and what may become of it where the terminal is narrow. */
export interface Column {
  readonly name: string;
  /** `whole`: never cut, because somebody copies it. `spare`: left out before others are cut beyond use. */
  readonly narrow?: 'whole' | 'spare';
}

/** Cut to fewer characters than this, a cell tells nothing any more. */
const LEAST = 8;
const GAP = 2;

/**
 * Rows as aligned columns, header first. On a terminal no line is wider than it as far as that can be: the widest columns are
 * cut with `…`, then spare columns left out. In a pipe or a file everything stands in full.
 */
export function formatColumns(
  columns: readonly (string | Column)[],
  rows: readonly (readonly string[])[],
  stream: Shown = process.stdout,
): string {
  const all = columns.map((column) => (typeof column === 'string' ? { name: column } : column));
  // What a cell holds may be anybody's: it makes no line, and turns none around.
  const plain = rows.map((row) => row.map(singleLine));
  const natural = all.map(({ name }, at) => Math.max(name.length, ...plain.map((row) => lengthOf(row[at] ?? ''))));
  const shown = fitted(all, natural, widthOf(stream) ?? Number.POSITIVE_INFINITY);
  const line = (cells: readonly string[], style: (cell: string) => Style | undefined): string =>
    shown
      .map(({ at, width }, place) => {
        const cell = closeDirections(clip(cells[at] ?? '', width));
        const styled = style(cell);
        const text = styled === undefined ? cell : inStyle(styled, cell, stream);
        return place === shown.length - 1 ? text : text + ' '.repeat(width - lengthOf(cell) + GAP);
      })
      .join('')
      .trimEnd();
  const header = line(
    all.map(({ name }) => name),
    () => 'bold',
  );
  return [header, ...plain.map((row) => line(row, styleOf))].join('\n');
}

const lengthOf = (text: string): number => [...text].length;

interface Fitted {
  /** Which column. */
  readonly at: number;
  readonly width: number;
}

function fitted(columns: readonly Column[], natural: readonly number[], room: number): Fitted[] {
  let kept = columns.map((_, at) => ({ at, width: natural[at] ?? 0 }));
  const total = () => kept.reduce((sum, { width }) => sum + width, GAP * (kept.length - 1));
  for (;;) {
    // The widest first, one character at a time: what is short stays readable.
    for (let over = total() - room; over > 0; over -= 1) {
      const [widest] = kept
        .filter(({ at, width }) => columns[at]?.narrow !== 'whole' && width > LEAST)
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
const STATES: Readonly<Record<string, Style>> = {
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

export const styleOf = (state: string): Style | undefined => STATES[state];
