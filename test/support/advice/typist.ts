import type { CliResult } from '../docket.ts';
import { shellWords } from '../shell-words.ts';
import { commandShape } from './printed-commands.ts';

/** Somebody who types what Docket prints, as it is printed. */
export interface Typist {
  /** The shapes of the commands that were typed. */
  readonly typed: ReadonlySet<string>;
  /** Adds a text that names commands, e.g. an alert. */
  reads(text: string): void;
  /**
   * Types the last printed command of this shape (see `commandShape`), and expects that it is accepted. A reason is filled in, and so are
   * the names of values such as `ID`.
   *
   * @param code the exit code, where the command reports something
   * @returns what it printed
   */
  types(shape: string, values?: Readonly<Record<string, string>>, code?: number): Promise<string>;
}

const WHY = 'the cause is gone';

/** @param run executes the command with these arguments */
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

/** Commands in lines of their own, with or without what they do behind them, and between backticks. */
const printedIn = (text: string): string[] =>
  [...text.matchAll(/^ {2,}(?:run +)?(docket [^#\n]*?)(?: +#.*)?$|`((?:[A-Z_]+=\S+ )*docket [^`]+)`/gm)].map(
    ([, line = '', quoted = '']) => (line === '' ? quoted : line).replaceAll(/\s+/g, ' '),
  );
