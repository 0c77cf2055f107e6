import { cellWidth } from './table/cell-width.ts';
import { wrapText } from './wrap.ts';

/** A command to type next. */
export interface NextCommand {
  readonly command: string;
  /** Its purpose in a few words. */
  readonly why: string;
}

/** Quotes a word for a shell. */
export const quoteWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

const HEADING = 'Next:';
const INDENT = '  ';
const MARK = `${INDENT}# `;

/** Width in cells. After a longer command, the comment would start too far to the right. */
const MAX_COMMENTED = 48;

/**
 * Formats commands like `docket init`: one per line, each followed by a comment, or with the comment above if the line
 * has no space. Commands are never wrapped, because they are copied.
 *
 * @param dim the style of a comment
 */
export function formatNextCommands(
  commands: readonly NextCommand[],
  width: number,
  dim: (text: string) => string,
): string {
  const widths = commands.map(({ command }) => cellWidth(command));
  const column = Math.max(0, ...widths.filter((each) => each <= MAX_COMMENTED)) + 2;
  const formatLines = ({ command, why }: NextCommand, index: number): readonly string[] => {
    const gap = column - (widths[index] ?? 0);
    if (gap >= 2 && INDENT.length + column + cellWidth(`# ${why}`) <= width) {
      return [`${INDENT}${command}${' '.repeat(gap)}${dim(`# ${why}`)}`];
    }
    const comment = wrapText(why, width - MARK.length).split('\n');
    return [...comment.map((line) => dim(MARK + line.trim())), `${INDENT}${command}`];
  };
  return [HEADING, ...commands.flatMap(formatLines)].join('\n');
}
