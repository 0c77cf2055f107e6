import { type EditedText, splice } from './edited-text.ts';
import { scanLine } from './line-scan.ts';
import { type Candidate, indentationMistake, TAB_MISTAKE } from './mistakes.ts';

const TAB = /^[ ]*\t/;
const TAB_WIDTHS = [2, 4, 8] as const;

const indentOf = (line: string): number => line.length - line.trimStart().length;
const isBlank = (line: string): boolean => /^\s*(#|$)/.test(line);

/** Spaces for the tabs of this line and of those directly behind it; of all lines if most have one. */
export function* tabCandidates(text: EditedText, line: number): Generator<Candidate> {
  const lines = text.lines.map((each) => each.text);
  if (!TAB.test(lines[line] ?? '')) return;
  const indented = lines.filter((each) => /^\s/.test(each) && !isBlank(each));
  const all = lines.flatMap((each, index) => (TAB.test(each) ? index : []));
  const [start, end] = runOf(lines, line);
  const chosen = all.length * 2 > indented.length ? all : all.filter((index) => index >= start && index < end);
  const first = chosen[0] ?? line;
  const mistakes = [
    { at: { line: first, column: 0 }, end: indentOf(lines[first] ?? ''), text: TAB_MISTAKE(chosen.length - 1) },
  ];
  for (const width of TAB_WIDTHS) {
    yield {
      mistakes,
      text: chosen.reduce((edited, index) => {
        const own = lines[index] ?? '';
        const indent = indentOf(own);
        const columns = [...own.slice(0, indent)].reduce(
          (sum, character) => (character === '\t' ? sum + width - (sum % width) : sum + 1),
          0,
        );
        return splice(edited, index, 0, indent, ' '.repeat(columns));
      }, text),
    };
  }
  // The column of a line above it.
  for (const { column } of levelsAbove(lines, start)) {
    const delta = column - indentOf(lines[start] ?? '');
    yield {
      mistakes,
      text: chosen.reduce((edited, index) => {
        const indent = indentOf(lines[index] ?? '');
        return splice(edited, index, 0, indent, ' '.repeat(Math.max(0, indent + delta)));
      }, text),
    };
  }
}

/** The lines with tabs around one, without a line between them. */
function runOf(lines: readonly string[], line: number): [number, number] {
  let [start, end] = [line, line + 1];
  while (start > 0 && TAB.test(lines[start - 1] ?? '')) start -= 1;
  while (end < lines.length && TAB.test(lines[end] ?? '')) end += 1;
  return [start, end];
}

interface Level {
  readonly column: number;
  /** Of entries of a list. */
  readonly isItem: boolean;
  /** Index of the line that has it. */
  readonly line: number | undefined;
}

/** The columns at which a line may begin here, from those of the lines above it. */
function levelsAbove(lines: readonly string[], line: number): Level[] {
  const levels: Level[] = [];
  let lowest = Number.POSITIVE_INFINITY;
  for (let above = line - 1; above >= 0 && lowest > 0; above -= 1) {
    const own = lines[above] ?? '';
    if (isBlank(own)) continue;
    const { indent, contentColumn, isItem, key, value } = scanLine(own);
    if (levels.length === 0 && key !== undefined && value === undefined) {
      levels.push({ column: contentColumn + 2, isItem: false, line: undefined });
    }
    for (const level of [
      { column: contentColumn, isItem: false, line: above },
      ...(isItem ? [{ column: indent, isItem: true, line: above }] : []),
    ]) {
      if (level.column >= lowest) continue;
      levels.push(level);
      lowest = level.column;
    }
  }
  return levels;
}

/** The line, with the block that belongs to it, at another level. */
export function* indentationCandidates(text: EditedText, line: number): Generator<Candidate> {
  const lines = text.lines.map((each) => each.text);
  const own = lines[line] ?? '';
  const indent = indentOf(own);
  const { isItem } = scanLine(own);
  const levels = levelsAbove(lines, line)
    .filter(({ column }) => column !== indent)
    .sort(
      (a, b) =>
        Number(a.isItem !== isItem) - Number(b.isItem !== isItem) ||
        Math.abs(a.column - indent) - Math.abs(b.column - indent),
    );
  for (const { column, line: like } of levels) {
    // Alone, with what is indented more, with what is indented as much.
    for (const block of new Set([line + 1, blockEnd(lines, line, indent + 1), blockEnd(lines, line, indent)])) {
      const moved = Array.from({ length: block - line }, (_, index) => line + index).filter(
        (index) => !isBlank(lines[index] ?? ''),
      );
      yield {
        text: moved.reduce((edited, index) => shift(edited, index, column - indent), text),
        mistakes: [
          {
            at: { line, column: 0 },
            end: Math.max(1, indent),
            text: indentationMistake({ is: indent, should: column, like }, moved.length - 1),
          },
        ],
      };
    }
  }
}

/** Behind the last line that is indented by this much or more. */
function blockEnd(lines: readonly string[], line: number, indent: number): number {
  let end = line + 1;
  for (let at = end; at < lines.length; at += 1) {
    const own = lines[at] ?? '';
    if (isBlank(own)) continue;
    if (indentOf(own) < indent) break;
    end = at + 1;
  }
  return end;
}

const shift = (text: EditedText, line: number, by: number): EditedText =>
  by > 0 ? splice(text, line, 0, 0, ' '.repeat(by)) : splice(text, line, 0, -by, '');
