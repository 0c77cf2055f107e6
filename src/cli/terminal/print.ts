import { balanceBidiControls, toSingleLine } from '../../base/text/bidi.ts';
import type { CommandIo, Environment, OutputStream } from '../io.ts';
import { applyStyle, type Style, terminalWidth, truncateToWidth } from './style.ts';

/** Where a command prints: its result on stdout, progress and remarks on stderr. */
export interface Printer {
  /** The only JSON document that a `--json` command prints on stdout. */
  printJson(document: unknown): void;
  printLine(line?: string): void;
  printTable(columns: readonly (string | Column)[], rows: readonly (readonly string[])[]): void;
  printStatus(line: string): void;
}

export function createPrinter({ stdout, stderr, env }: Pick<CommandIo, 'stdout' | 'stderr' | 'env'>): Printer {
  const printLine = (line = '') => void stdout.write(`${line}\n`);
  return {
    printJson: (document) => printLine(JSON.stringify(document, null, 2)),
    printLine,
    printTable: (columns, rows) => printLine(formatColumns(columns, rows, stdout, env)),
    printStatus: (line) => void stderr.write(`${line}\n`),
  };
}

/** An instant of a listing: UTC, to the second. */
export const formatInstant = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** A column of a table. */
export interface Column {
  readonly name: string;
  /** On a narrow terminal. `keep`: never truncated, for values that are copied. `drop`: left out before others become unreadable. */
  readonly whenNarrow?: 'keep' | 'drop';
}

/** Characters; a shorter cell is unreadable. */
const MIN_COLUMN_WIDTH = 8;
const COLUMN_GAP = 2;

/**
 * Rows as aligned columns, header first. On a terminal, lines fit its width as far as possible: the widest columns are
 * truncated with `…`, then columns to drop are left out. In a pipe or a file nothing is truncated.
 */
export function formatColumns(
  columns: readonly (string | Column)[],
  rows: readonly (readonly string[])[],
  stream: OutputStream,
  env: Environment,
): string {
  const all = columns.map((column) => (typeof column === 'string' ? { name: column } : column));
  // Cells hold foreign text: it must not break the line or reorder the cells after it.
  const plain = rows.map((row) => row.map(toSingleLine));
  const natural = all.map(({ name }, index) =>
    Math.max(name.length, ...plain.map((row) => characterCount(row[index] ?? ''))),
  );
  const shown = fitColumns(all, natural, terminalWidth(stream, env) ?? Number.POSITIVE_INFINITY);
  const line = (cells: readonly string[], style: (cell: string) => Style | undefined): string =>
    shown
      .map(({ index, width }, position) => {
        const cell = balanceBidiControls(truncateToWidth(cells[index] ?? '', width));
        const styled = style(cell);
        const text = styled === undefined ? cell : applyStyle(styled, cell, stream, env);
        return position === shown.length - 1 ? text : text + ' '.repeat(width - characterCount(cell) + COLUMN_GAP);
      })
      .join('')
      .trimEnd();
  const header = line(
    all.map(({ name }) => name),
    () => 'bold',
  );
  return [header, ...plain.map((row) => line(row, (state) => STATE_STYLES[state]))].join('\n');
}

const characterCount = (text: string): number => [...text].length;

interface FittedColumn {
  /** Of the column. */
  readonly index: number;
  readonly width: number;
}

function fitColumns(columns: readonly Column[], natural: readonly number[], maxWidth: number): FittedColumn[] {
  const naturalColumn = (index: number) => ({ index, width: natural[index] ?? 0 });
  let kept = columns.map((_, index) => naturalColumn(index));
  const total = () => kept.reduce((sum, { width }) => sum + width, COLUMN_GAP * (kept.length - 1));
  for (;;) {
    // The widest first, one character at a time: short columns stay readable.
    for (let excess = total() - maxWidth; excess > 0; excess -= 1) {
      const [widest] = kept
        .filter(({ index, width }) => columns[index]?.whenNarrow !== 'keep' && width > MIN_COLUMN_WIDTH)
        .sort((a, b) => b.width - a.width);
      if (widest === undefined) break;
      widest.width -= 1;
    }
    if (total() <= maxWidth) return kept;
    const dropped = kept.findLast(({ index }) => columns[index]?.whenNarrow === 'drop');
    if (dropped === undefined) return kept;
    kept = kept.filter((column) => column !== dropped).map(({ index }) => naturalColumn(index));
  }
}

/** Green: nothing to do; yellow: a look or a decision is needed; red: failed. */
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
