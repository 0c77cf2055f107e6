import type { CommandIo } from '../io.ts';
import { formatNextCommands, type NextCommand } from './next-commands.ts';
import { applyStyle, terminalWidth } from './style.ts';
import type { Cell } from './table/cell.ts';
import { formatColumns } from './table/columns.ts';
import type { Column } from './table/fit-columns.ts';
import { wrapText } from './wrap.ts';

export type { Column } from './table/fit-columns.ts';

/** Prints for a command: its result on stdout, progress and remarks on stderr. */
export interface Printer {
  /** The only JSON document that a `--json` command prints on stdout. */
  printJson(document: unknown): void;
  /** Prints a line unchanged, for text that is copied or read by programs. */
  printLine(line?: string): void;
  /** Prints sentences, or a label and its value; may have several lines. Wraps them at the width of a terminal. */
  printText(text: string): void;
  /** @param options.wide prints as in a pipe: every column, exact and uncut */
  printTable(
    columns: readonly (string | Column)[],
    rows: readonly (readonly (string | Cell)[])[],
    options?: { readonly wide?: boolean | undefined },
  ): void;
  /** Prints a remark on stderr, wrapped like text. */
  printStatus(line: string): void;
  /**
   * Prints the commands to type next. After a listing only on a terminal, where a person reads it; with `always`,
   * everywhere. Prints nothing for an empty list.
   */
  printNext(commands: readonly NextCommand[], options?: { readonly always?: boolean }): void;
}

export function createPrinter({ stdout, stderr, env }: Pick<CommandIo, 'stdout' | 'stderr' | 'env'>): Printer {
  const printLine = (line = '') => void stdout.write(`${line}\n`);
  return {
    printJson: (document) => printLine(JSON.stringify(document, null, 2)),
    printLine,
    printText: (text) => printLine(wrapText(text, terminalWidth(stdout, env))),
    printTable: (columns, rows, { wide = false } = {}) =>
      printLine(formatColumns(columns, rows, stdout, env, { wide })),
    printStatus: (line) => void stderr.write(`${wrapText(line, terminalWidth(stderr, env))}\n`),
    printNext: (commands, { always = false } = {}) => {
      const width = terminalWidth(stdout, env);
      if (commands.length === 0 || (width === undefined && !always)) return;
      const stream = always ? stdout : stderr;
      const dim = (text: string) => applyStyle('dim', text, stream, env);
      stream.write(`\n${formatNextCommands(commands, width ?? Number.POSITIVE_INFINITY, dim)}\n`);
    },
  };
}
