import { readFile } from 'node:fs/promises';
import { toSingleLine } from '../../../base/text/bidi.ts';
import {
  type Diagnostic,
  type DiagnosticCode,
  formatDiagnostic,
  formatPosition,
} from '../../../definitions/diagnostics/diagnostic.ts';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';
import type { CommandIo } from '../../io.ts';
import { createPrinter } from '../../terminal/print.ts';
import { applyStyle, terminalWidth } from '../../terminal/style.ts';
import { sourceExcerpt } from './source-excerpt.ts';

/** Used without a terminal: the output is read elsewhere, e.g. in a CI log. */
const DEFAULT_WIDTH = 80;

/** What is wrong, for diagnostics without a message. */
const TITLES: Readonly<Partial<Record<DiagnosticCode, string>>> = {
  'file.invalid': 'a file that cannot be used',
  'field.missing': 'missing field',
  'recipient.invalid': 'invalid address',
  'template.invalid': 'a template or path that cannot be used',
  'report.invalid': 'fields that do not fit together',
  'catalog.unknown': 'not in the catalog of the organization',
  'catalog.not_allowed': 'not possible with the catalog of the organization',
  'workbook.invalid': 'a workbook that cannot be filled',
  'workbook.external': 'content outside the workbook',
  'workbook.unknown': 'refers to something that the report does not have',
  'workbook.ambiguous': 'ambiguous: the figure to fill in is not clear',
  'workbook.obstacle': 'blocks a table that grows',
  'workbook.not_followed': 'does not follow a table that grows',
  'workbook.unused': 'part of the report that the template does not show',
};

/** Prints diagnostics with their source lines, by file and line. */
export async function printDiagnostics(
  diagnostics: readonly Diagnostic[],
  kind: 'error' | 'warning',
  jobs: Pick<Definitions, 'sources' | 'targetSources'>,
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const linesOf = sourceLines(jobs);
  const width = terminalWidth(io.stdout, io.env);
  const style = (name: 'bold' | 'red' | 'yellow' | 'dim', text: string) => applyStyle(name, text, io.stdout, io.env);
  const prefix = kind === 'warning' ? 'warning: ' : '';
  for (const diagnostic of diagnostics) {
    const { file, line, column, end, code, message, expected, got, next } = diagnostic;
    const indent = ' '.repeat(Math.max(4, String(line).length + 2));
    if (width === undefined) print.printLine(`${prefix}${formatDiagnostic(diagnostic)}`);
    else
      print.printLine(
        style(
          'bold',
          `${prefix}${toSingleLine(formatPosition(diagnostic))}: ${toSingleLine(message ?? TITLES[code ?? 'field.invalid'] ?? 'invalid value')}`,
        ),
      );
    const source = hasExcerpt(diagnostic) ? (await linesOf(file))[line - 1] : undefined;
    if (source !== undefined && source.trim() !== '') {
      const { source: shown, caret } = sourceExcerpt({
        line: source,
        column,
        end: end?.line === line ? end.column : column + 1,
        width: (width ?? DEFAULT_WIDTH) - indent.length - 3,
      });
      print.printLine(`${style('dim', `${String(line).padStart(indent.length)} |`)} ${shown}`);
      print.printLine(`${indent} ${style('dim', '|')} ${style(kind === 'error' ? 'red' : 'yellow', caret)}`);
    }
    if (width === undefined) continue;
    for (const text of [`expected ${expected}, got ${got}`, `do: ${next}`]) {
      for (const part of wrap(toSingleLine(text), width - indent.length - 3)) print.printLine(`${indent}   ${part}`);
    }
    print.printLine();
  }
}

/** Whole files and workbooks have no line to show, and a text that exceeds a limit was not read. */
const hasExcerpt = ({ code = 'field.invalid' }: Diagnostic): boolean =>
  code !== 'file.invalid' && code !== 'definition.over_limit' && !code.startsWith('workbook.');

/** The lines of a file, which is a loaded definition or a template. Empty if it cannot be read. */
function sourceLines({
  sources,
  targetSources,
}: Pick<Definitions, 'sources' | 'targetSources'>): (file: string) => Promise<readonly string[]> {
  const known = new Map<string, Promise<readonly string[]> | readonly string[]>(
    [...sources.values(), ...targetSources.values()].map(({ file, text }) => [file, text.split('\n')]),
  );
  return async (file) => {
    const lines =
      known.get(file) ??
      readFile(file, 'utf8').then(
        (text) => text.split('\n'),
        () => [],
      );
    known.set(file, lines);
    return lines;
  };
}

/** Lines of at most `width` characters, broken at spaces. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
