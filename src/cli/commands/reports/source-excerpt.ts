import { looksLikeSecret } from '../../../definitions/yaml/secret-detection.ts';

/** A line of a file, with a mark below the relevant part. */
export interface Excerpt {
  readonly source: string;
  /** Spaces, then a `^` for each column of the part. */
  readonly caret: string;
}

interface ExcerptInput {
  /** The line without its line break. */
  readonly line: string;
  /** Counted from 1, in UTF-16 code units. `end` is exclusive. */
  readonly column: number;
  readonly end: number;
  /** Width available for the source, in columns of the terminal. */
  readonly width: number;
}

interface Cell {
  readonly text: string;
  /** Width on the terminal: 0 to 2 columns. */
  readonly width: number;
  /** Offset in the line, in UTF-16 code units. */
  readonly offset: number;
}

/** The line, cut with `…` around the marked part if it is longer than `width`. Masks text that looks like a secret. */
export function sourceExcerpt({ line, column, end, width }: ExcerptInput): Excerpt {
  const cells = toCells(maskSecrets(line.trimEnd()));
  const from = findCellIndex(cells, column - 1);
  const to = Math.max(findCellIndex(cells, end - 1), from + 1);
  const [start, stop] = selectWindow(cells, from, width);
  const shown = cells.slice(start, stop);
  const [before, after] = [start > 0 ? '…' : '', stop < cells.length ? '…' : ''];
  const sumWidths = (part: readonly Cell[]) => part.reduce((sum, cell) => sum + cell.width, 0);
  const marked = sumWidths(cells.slice(from, Math.min(to, stop)));
  return {
    source: before + shown.map(({ text }) => text).join('') + after,
    caret: ' '.repeat(before.length + sumWidths(cells.slice(start, from))) + '^'.repeat(Math.max(1, marked)),
  };
}

const findCellIndex = (cells: readonly Cell[], offset: number): number => {
  const index = cells.findIndex((cell) => cell.offset >= offset);
  return index === -1 ? cells.length : index;
};

/** The first and last cell of a range that fits and includes `from`. */
function selectWindow(cells: readonly Cell[], from: number, width: number): [number, number] {
  const total = cells.reduce((sum, cell) => sum + cell.width, 0);
  if (total <= width) return [0, cells.length];
  // Leaves a third of the width before the mark.
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
  // Unused space at the end is used to show more before the mark.
  while (start > 1 && (cells[start - 1]?.width ?? 0) <= room) {
    start -= 1;
    room -= cells[start]?.width ?? 0;
  }
  return [start, stop];
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
/** Invisible characters, and those that change the order of their neighbours. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/u;

/** Tabs are shown as `→`, because they are often the error. */
function toCells(line: string): Cell[] {
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
/** The Base64 of a key, on its own line. */
const LONG_TOKEN = /[A-Za-z0-9+/=_-]{40,}/g;
const SCHEME = /\b(Api-Key|Bearer|Basic)\s+\S{8,}/gi;
const hidden = (text: string): string => '•'.repeat(text.length);

/** Replaces secrets in the line with `•`. The length stays the same. */
export const maskSecrets = (line: string): string =>
  line
    .replace(SECRET_VALUE, (_, name: string, value: string) => name + hidden(value))
    .replace(SCHEME, hidden)
    .replace(LONG_TOKEN, hidden)
    .replace(/[^\s"'[\]{},]+/g, (word) => (looksLikeSecret(word) ? hidden(word) : word));
