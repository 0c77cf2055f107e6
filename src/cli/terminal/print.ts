import type { CommandIo } from '../io.ts';
import { formatNextCommands, type NextCommand } from './next-commands.ts';
import { applyStyle, terminalWidth } from './style.ts';
import type { Cell } from './table/cell.ts';
import { formatColumns } from './table/columns.ts';
import type { Column } from './table/fit-columns.ts';
import { wrapText } from './wrap.ts';

export type { Column } from './table/fit-columns.ts';

/** Prints for a command: its result on stdout, progress and remarks on stderr. */
export type Printer = ReturnType<typeof createPrinter>;

export function createPrinter({ stdout, stderr, env }: Pick<CommandIo, 'stdout' | 'stderr' | 'env'>) {
  const printLine = (line: string = ''): void => void stdout.write(`${line}\n`);
  return {
    /** The only JSON document that a `--json` command prints on stdout. */
    printJson: (document: unknown): void => printLine(JSON.stringify(document, null, 2)),
    /** Prints a line unchanged, for text that is copied or read by programs. */
    printLine,
    /** Prints sentences, or a label and its value; may have several lines. Wraps them at the width of a terminal. */
    printText: (text: string): void => printLine(wrapText(text, terminalWidth(stdout, env))),
    /** @param options.wide prints as in a pipe: every column, exact and uncut */
    printTable: (
      columns: readonly (string | Column)[],
      rows: readonly (readonly (string | Cell)[])[],
      { wide = false }: { readonly wide?: boolean | undefined } = {},
    ): void => printLine(formatColumns(columns, rows, stdout, env, { wide })),
    /** Prints a remark on stderr, wrapped like text. */
    printStatus: (line: string): void => void stderr.write(`${wrapText(line, terminalWidth(stderr, env))}\n`),
    /**
     * Prints the commands to type next. After a listing only on a terminal, where a person reads it; with `always`,
     * everywhere. Prints nothing for an empty list.
     */
    printNext: (commands: readonly NextCommand[], { always = false }: { readonly always?: boolean } = {}): void => {
      const width = terminalWidth(stdout, env);
      if (commands.length === 0 || (width === undefined && !always)) return;
      const stream = always ? stdout : stderr;
      const dim = (text: string) => applyStyle('dim', text, stream, env);
      stream.write(`\n${formatNextCommands(commands, width ?? Number.POSITIVE_INFINITY, dim)}\n`);
    },
  };
}
