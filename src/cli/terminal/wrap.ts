import { cellWidth } from './table/cell-width.ts';

/** `1. `, `! `, `# ` before the text of a list item. */
const NUMBER = /^\s*(?:\d+\.|[!#+~-]) (?=\S)/;
/** Words followed by a column. */
const LABEL = /^\s*\S+(?: \S+)* {2,}(?=\S)/;
/** Extra indentation of continuation lines without a label, in spaces. */
const INDENT = 2;

/**
 * Breaks lines between words, so that the terminal does not break inside one. Continuation lines start below the value
 * if the line starts with a label (`reason    The mail server …`) or a number; otherwise they are indented. A word
 * longer than a line, such as a path, is never broken, because it may be copied.
 *
 * @param width cells; undefined: unchanged
 * @param indent cells, for continuation lines without a label
 */
export const wrapText = (text: string, width: number | undefined, indent = INDENT): string =>
  width === undefined
    ? text
    : text
        .split('\n')
        .map((line) => (cellWidth(line) <= width ? line : wrapLine(line, width, indent)))
        .join('\n');

function wrapLine(line: string, width: number, further: number): string {
  const label = cellWidth((NUMBER.exec(line) ?? LABEL.exec(line))?.[0] ?? '');
  const own = cellWidth(/^\s*/.exec(line)?.[0] ?? '');
  const indent = ' '.repeat(label > 0 && label <= width / 2 ? label : own + further);
  const lines: string[] = [];
  let current = '';
  // Each part is a word with its leading spaces.
  for (const part of line.match(/\s*\S+/g) ?? []) {
    if (current !== '' && current.trim() !== '' && cellWidth(current + part) > width) {
      lines.push(current);
      current = indent + part.trimStart();
    } else current += part;
  }
  return [...lines, current].join('\n');
}
