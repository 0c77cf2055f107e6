import type { CommandIo } from '../io.ts';
import { type Column, formatColumns } from './table.ts';

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
