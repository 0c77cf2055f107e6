import type { Command } from 'commander';
import { wrapText } from './terminal/wrap.ts';

/** The help text below a command's options, by section. */
export interface HelpText {
  /** Wrapped lines of prose are joined. */
  readonly paragraphs: readonly string[];
  /** The environment variables that the command reads; may be empty. */
  readonly environment: string;
  readonly exitCodes: string;
  /** Commands. A comment may follow after two spaces. */
  readonly examples: readonly string[];
}

/** Parses the printed help of a command. Sections begin with `Environment:`, `Exit codes:` or `Examples:`, and end with a blank line. */
export function parseHelpText(command: Command): HelpText {
  let printed = '';
  command.configureOutput({
    writeOut: (text) => {
      printed += text;
    },
    getOutHasColors: () => false,
  });
  command.outputHelp();
  const blocks = printed
    .slice(command.helpInformation().length)
    .split(/\n{2,}/)
    .map((block) => block.replace(/^\n|\s+$/g, ''))
    .filter((block) => block !== '');
  const findSection = (name: RegExp) => blocks.find((block) => name.test(block))?.replace(name, '') ?? '';
  return {
    paragraphs: blocks.filter((block) => !/^(Environment|Exit codes|Examples?):/.test(block)).map(joinLines),
    environment: joinLines(findSection(/^Environment: */)),
    exitCodes: joinLines(findSection(/^Exit codes: */)),
    examples: findSection(/^Examples?:\n/)
      .replaceAll(/\s*\\\n\s*/g, ' ')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  };
}

/** Joins wrapped lines. Indented ones, such as code, stay separate. */
const joinLines = (block: string): string => block.replace(/\n(?! )/g, ' ');

/**
 * Rewraps the paragraphs of a printed help, which were written for a wide page, to the terminal. @param width cells;
 * undefined: unchanged
 */
export const reflowHelp = (text: string, width: number | undefined): string =>
  width === undefined
    ? text
    : text
        // A heading ends with a colon. Indented lines stay: they are options, which are already wrapped, or examples to
        // copy.
        .replace(/(?<=^\S.*[^:\n])\n(?=\S)/gm, ' ')
        .replace(/^\S.*$/gm, (line) => wrapText(line, width, 0));
