import { cellWidth } from './table/cell-width.ts';

/** `1. `, `! `, `# ` before the text of a list. */
const NUMBER = /^\s*(?:\d+\.|[!#+~-]) (?=\S)/;
/** Words with a column behind them. */
const LABEL = /^\s*\S+(?: \S+)* {2,}(?=\S)/;
/** Spaces by which the rest of a line without a label is indented further. */
const INDENT = 2;

/**
 * Breaks lines between words, so that a terminal does not break them inside one. The rest of a line is below its value
 * where it starts with a label (`reason    The mail server …`) or a number, else it is indented. A word that is longer than a line,
 * such as a path, stays whole: it is to be copied.
 *
 * @param width cells; undefined: unchanged
 * @param indent cells, of the rest of a line without a label
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
  // Each part is a word with the spaces before it.
  for (const part of line.match(/\s*\S+/g) ?? []) {
    if (current !== '' && current.trim() !== '' && cellWidth(current + part) > width) {
      lines.push(current);
      current = indent + part.trimStart();
    } else current += part;
  }
  return [...lines, current].join('\n');
}
