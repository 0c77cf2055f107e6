import { looksLikeSecret } from '../../../definitions/yaml/secret-detection.ts';

/** A line of a file with a mark below a part of it. */
export interface Excerpt {
  readonly source: string;
  /** Spaces, then `^` for each column of the part. */
  readonly caret: string;
}

interface ExcerptInput {
  /** Without its line break. */
  readonly line: string;
  /** From 1, in UTF-16 code units; `end` is behind the last one. */
  readonly column: number;
  readonly end: number;
  /** Columns of the terminal for the source. */
  readonly width: number;
}

interface Cell {
  readonly text: string;
  /** Columns on the terminal: 0 to 2. */
  readonly width: number;
  /** UTF-16 offset in the line. */
  readonly offset: number;
}

/** The line, cut with `…` around the marked part if it is longer than `width`. What looks like a secret is not shown. */
export function sourceExcerpt({ line, column, end, width }: ExcerptInput): Excerpt {
  const cells = cellsOf(maskSecrets(line.trimEnd()));
  const from = indexOf(cells, column - 1);
  const to = Math.max(indexOf(cells, end - 1), from + 1);
  const [start, stop] = windowOf(cells, from, width);
  const shown = cells.slice(start, stop);
  const [before, after] = [start > 0 ? '…' : '', stop < cells.length ? '…' : ''];
  const widthOf = (part: readonly Cell[]) => part.reduce((sum, cell) => sum + cell.width, 0);
  const marked = widthOf(cells.slice(from, Math.min(to, stop)));
  return {
    source: before + shown.map(({ text }) => text).join('') + after,
    caret: ' '.repeat(before.length + widthOf(cells.slice(start, from))) + '^'.repeat(Math.max(1, marked)),
  };
}

const indexOf = (cells: readonly Cell[], offset: number): number => {
  const index = cells.findIndex((cell) => cell.offset >= offset);
  return index === -1 ? cells.length : index;
};

/** First and last cell of those that fit, of which `from` is one. */
function windowOf(cells: readonly Cell[], from: number, width: number): [number, number] {
  const total = cells.reduce((sum, cell) => sum + cell.width, 0);
  if (total <= width) return [0, cells.length];
  // A third of the width is left in front of the mark.
  let start = 0;
  const upTo = (first: number) => cells.slice(first, from).reduce((sum, cell) => sum + cell.width, 0);
  if (upTo(0) > (width * 2) / 3) {
    start = from;
    while (start > 0 && upTo(start - 1) < width / 3) start -= 1;
  }
  let stop = start;
  let room = width - (start > 0 ? 2 : 1);
  while (stop < cells.length && (cells[stop]?.width ?? 0) <= room) {
    room -= cells[stop]?.width ?? 0;
    stop += 1;
  }
  // What is free behind the end shows more of the start.
  while (start > 1 && (cells[start - 1]?.width ?? 0) <= room) {
    start -= 1;
    room -= cells[start]?.width ?? 0;
  }
  return [start, stop];
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
/** Invisible, or changes the order of what is beside it. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/u;

/** A tab is shown as `→`: it is often the fault. */
function cellsOf(line: string): Cell[] {
  const cells: Cell[] = [];
  let offset = 0;
  for (const character of line) {
    const text = character === '\t' ? '→' : UNPRINTABLE.test(character) ? '·' : character;
    cells.push({ text, width: /\p{M}/u.test(text) ? 0 : WIDE.test(text) ? 2 : 1, offset });
    offset += character.length;
  }
  return cells;
}

const SECRET_VALUE =
  /((?:api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|passw(?:or)?d|pass|passphrase|secret|token|credentials?|authorization|bearer)(?:[-_ ]?(?:value|id))?["']?\s*:\s*)([^\s{[#][^,}\]#]*)/gi;
/** Base64 of a key, on a line of its own. */
const LONG_TOKEN = /[A-Za-z0-9+/=_-]{40,}/g;
const SCHEME = /\b(Api-Key|Bearer|Basic)\s+\S{8,}/gi;
const hidden = (text: string): string => '•'.repeat(text.length);

/** The line with `•` in place of secrets; of the same length. */
export const maskSecrets = (line: string): string =>
  line
    .replace(SECRET_VALUE, (_, name: string, value: string) => name + hidden(value))
    .replace(SCHEME, hidden)
    .replace(LONG_TOKEN, hidden)
    .replace(/[^\s"'[\]{},]+/g, (word) => (looksLikeSecret(word) ? hidden(word) : word));
