import type { CliResult } from '../docket.ts';
import { shellWords } from '../shell-words.ts';
import { commandShape } from './printed-commands.ts';

/** A person who types commands exactly as Docket prints them. */
export interface Typist {
  /** The shapes of the typed commands. */
  readonly typed: ReadonlySet<string>;
  /** Adds a text that names commands, such as an alert. */
  reads(text: string): void;
  /**
   * Types the last printed command of this shape (see `commandShape`) and expects it to succeed. Fills in reasons and
   * values such as `ID`.
   *
   * @param code the exit code, for commands that report something
   * @returns the output
   */
  types(shape: string, values?: Readonly<Record<string, string>>, code?: number): Promise<string>;
}

const WHY = 'the cause is gone';

/** @param run executes a command with these arguments */
export function typist(run: (args: readonly string[]) => Promise<CliResult>): Typist {
  const typed = new Set<string>();
  let seen = '';
  return {
    typed,
    reads: (text) => {
      seen += `\n${text}`;
    },
    types: async (shape, values = {}, expected = 0) => {
      const command = printedIn(seen).findLast((each) => commandShape(each) === shape);
      if (command === undefined) throw new Error(`Nothing printed \`${shape}\`. What was read:\n${seen}`);
      const args = shellWords(command.replaceAll(/--reason ("…"|"\.\.\."|…)/g, `--reason "${WHY}"`))
        .slice(1)
        .map((word) => values[word] ?? word);
      const { code, stdout, stderr } = await run(args);
      if (code !== expected) throw new Error(`\`docket ${args.join(' ')}\` ended with ${code}:\n${stdout}${stderr}`);
      typed.add(shape);
      seen += `\n${stdout}${stderr}`;
      return stdout + stderr;
    },
  };
}

/** Commands on their own lines, with or without an explanation after them, and commands in backticks. */
const printedIn = (text: string): string[] =>
  [...text.matchAll(/^ {2,}(?:run +)?(docket [^#\n]*?)(?: +#.*)?$|`((?:[A-Z_]+=\S+ )*docket [^`]+)`/gm)].map(
    ([, line = '', quoted = '']) => (line === '' ? quoted : line).replaceAll(/\s+/g, ' '),
  );
