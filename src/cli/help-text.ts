import type { Command } from 'commander';

/** What stands below a command's options: the sections that every command's help is made of. */
export interface HelpText {
  /** Paragraphs, their lines joined where they are prose. */
  readonly words: readonly string[];
  /** Variables and other things of the environment that it reads; empty when there is nothing to be said. */
  readonly environment: string;
  readonly exitCodes: string;
  /** Commands as one would type them, some with a word on what they do behind two spaces. */
  readonly examples: readonly string[];
}

/** Reads the help of a command as it is printed. A section begins with `Environment:`, `Exit codes:` or `Examples:` and ends with a blank line. */
export function helpTextOf(command: Command): HelpText {
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
  const sectionOf = (name: RegExp) => blocks.find((block) => name.test(block))?.replace(name, '') ?? '';
  return {
    words: blocks.filter((block) => !/^(Environment|Exit codes|Examples?):/.test(block)).map(unwrapped),
    environment: unwrapped(sectionOf(/^Environment: */)),
    exitCodes: unwrapped(sectionOf(/^Exit codes: */)),
    examples: sectionOf(/^Examples?:\n/)
      .replaceAll(/\s*\\\n\s*/g, ' ')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  };
}

/** Lines that are wrapped for a terminal as one; those that are set in, such as code, stay as they are. */
const unwrapped = (block: string): string => block.replace(/\n(?! )/g, ' ');
