import { cellWidth } from './table/cell-width.ts';
import { wrapText } from './wrap.ts';

/** A command to type next. */
export interface NextCommand {
  readonly command: string;
  /** What it is for, in a few words. */
  readonly why: string;
}

/** A word of a command as a shell takes it. */
export const quoteWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

const HEADING = 'Next:';
const MARK = '  # ';

/**
 * `docket init` prints the same form: the commands below each other, each with a comment behind it, or above it where the
 * line has no room. A command is never wrapped: it is to be copied.
 *
 * @param dim the style of a comment
 */
export function formatNextCommands(
  commands: readonly NextCommand[],
  width: number,
  dim: (text: string) => string,
): string {
  const column = Math.max(...commands.map(({ command }) => cellWidth(command))) + 2;
  const fits = commands.every(({ why }) => column + cellWidth(why) + 4 <= width);
  return [
    HEADING,
    ...commands.flatMap(({ command, why }) =>
      fits
        ? [`  ${command}${' '.repeat(column - cellWidth(command))}${dim(`# ${why}`)}`]
        : [
            ...wrapText(why, width - MARK.length)
              .split('\n')
              .map((line) => dim(MARK + line)),
            `  ${command}`,
          ],
    ),
  ].join('\n');
}
