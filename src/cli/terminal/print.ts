import type { CommandIo } from '../io.ts';
import { formatNextCommands, type NextCommand } from './next-commands.ts';
import { applyStyle, terminalWidth } from './style.ts';
import type { Cell } from './table/cell.ts';
import { formatColumns } from './table/columns.ts';
import type { Column } from './table/fit-columns.ts';
import { wrapText } from './wrap.ts';

export type { Column } from './table/fit-columns.ts';

/** Where a command prints: its result on stdout, progress and remarks on stderr. */
export interface Printer {
  /** The only JSON document that a `--json` command prints on stdout. */
  printJson(document: unknown): void;
  /** As it is: for what is copied or read by programs. */
  printLine(line?: string): void;
  /** Sentences, a label and its value; several lines. A terminal gets them wrapped at its width. */
  printText(text: string): void;
  /** @param options.wide as in a pipe: every column, exact and uncut */
  printTable(
    columns: readonly (string | Column)[],
    rows: readonly (readonly (string | Cell)[])[],
    options?: { readonly wide?: boolean | undefined },
  ): void;
  /** A remark on stderr; wrapped as text. */
  printStatus(line: string): void;
  /**
   * What to type next. Behind a listing on a terminal alone, where a person reads it; `always` where it is part of the
   * result. Nothing for an empty list.
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
