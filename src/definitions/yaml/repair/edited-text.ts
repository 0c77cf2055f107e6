/** A line of an edited text. */
interface EditedLine {
  readonly text: string;
  /** For each character its column in the original line, from 0; absent: the line is unchanged. */
  readonly columns?: readonly number[];
}

/** A text with changed lines that knows where each character was. Lines are neither added nor removed. */
export interface EditedText {
  readonly lines: readonly EditedLine[];
  /** The lines before any edit. */
  readonly original: readonly string[];
}

export function editableText(text: string): EditedText {
  const original = text.split('\n');
  return { lines: original.map((line) => ({ text: line })), original };
}

export const textOf = ({ lines }: EditedText): string => lines.map(({ text }) => text).join('\n');

/** Replaces `deleted` characters of a line at `column` (from 0) by `inserted`, which has the original column of what follows. */
export function splice(text: EditedText, line: number, column: number, deleted: number, inserted: string): EditedText {
  const before = text.lines[line];
  if (before === undefined) return text;
  const columns = before.columns ?? Array.from({ length: before.text.length }, (_, index) => index);
  const at = columns[column] ?? text.original[line]?.length ?? 0;
  const changed: EditedLine = {
    text: before.text.slice(0, column) + inserted + before.text.slice(column + deleted),
    columns: [
      ...columns.slice(0, column),
      ...Array.from({ length: inserted.length }, () => at),
      ...columns.slice(column + deleted),
    ],
  };
  return { ...text, lines: text.lines.with(line, changed) };
}

/** Replaces a whole line by nothing. */
export const blankLine = (text: EditedText, line: number): EditedText => ({
  ...text,
  lines: text.lines.with(line, { text: '', columns: [] }),
});

/** Line and column of the edited text, both from 0. */
export interface LineColumn {
  readonly line: number;
  readonly column: number;
}

/** Converts offsets of the edited text. */
export interface OffsetMap {
  /** The offset in the original text. */
  toOriginal(offset: number): number;
  /** Line and column in the edited text. */
  locate(offset: number): LineColumn;
}

export function offsetMap({ lines, original }: EditedText): OffsetMap {
  const starts = startsOf(lines.map(({ text }) => text));
  const originalStarts = startsOf(original);
  const locate = (offset: number): LineColumn => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low, column: offset - (starts[low] ?? 0) };
  };
  return {
    locate,
    toOriginal: (offset) => {
      const { line, column } = locate(offset);
      return (originalStarts[line] ?? 0) + originalColumn({ lines, original }, { line, column });
    },
  };
}

/** The column in the original line, from 0. */
export function originalColumn({ lines, original }: EditedText, { line, column }: LineColumn): number {
  const columns = lines[line]?.columns;
  return columns === undefined ? column : (columns[column] ?? original[line]?.length ?? 0);
}

function startsOf(lines: readonly string[]): number[] {
  let start = 0;
  return lines.map((line) => {
    const own = start;
    start += line.length + 1;
    return own;
  });
}
