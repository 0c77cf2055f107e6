import { stripVTControlCharacters } from 'node:util';
import { runOnTerminal } from '../pseudo-terminal.ts';
import { type Step, stepLog } from './steps.ts';

/** The columns of the operator's terminal, which wraps longer lines. */
const COLUMNS = 80;

export interface TerminalOperator {
  readonly steps: readonly Step[];
  /** Text that the operator gets in another way, such as an alert. */
  receives(text: string): void;
  /**
   * Types a command. What the operator has read so far must name the command and each value in it; only `{why}`, a reason
   * in the operator's own words, is free.
   *
   * @param command such as `docket runs retry {run} --reason {why}`
   * @param values by the names in braces
   * @param answer the key to press at a yes-or-no prompt
   * @param expected the exit code, if the command reports a problem
   * @returns the output
   */
  types(
    command: string,
    values?: Readonly<Record<string, string>>,
    answer?: 'y' | 'n',
    expected?: number,
  ): Promise<Printed>;
  /** Repairs something outside of Docket. What the operator has read must name it. */
  repairs(what: string, named: RegExp, repair: () => unknown): Promise<void>;
}

export interface Printed {
  /** The text without control characters, with the lines as Docket wrote them. */
  readonly text: string;
  readonly code: number | null;
  /** The first group of the pattern, or the whole match. Throws if there is none. */
  reads(pattern: RegExp): string;
}

/** @param options.env for each command */
export function terminalOperator(options: {
  readonly env: () => Readonly<Record<string, string>>;
  readonly cwd: string;
}): TerminalOperator {
  const log = stepLog();
  // Everybody knows `docket` and its help.
  let seen = 'docket --help\n';
  const flat = () => seen.replaceAll(/\s+/g, ' ');

  const assertNamed = (command: string, values: Readonly<Record<string, string>>): void => {
    const pattern = command
      .split(/\{\w+\}/)
      .map((literal) => literal.trim().split(/\s+/).map(escapePattern).join('\\s+'))
      .filter((literal) => literal !== '')
      // The command may be named with another value, with a placeholder (`ID`), or without its last options.
      .join('\\s+(?:"[^"]*"|\\S+)\\s+');
    if (!new RegExp(pattern).test(seen)) throw new Error(`Nothing named \`${command}\`. What was read:\n${seen}`);
    for (const [name, value] of Object.entries(values)) {
      if (name !== 'why' && !flat().includes(value))
        throw new Error(`Nothing named ${name} ${value}. What was read:\n${seen}`);
    }
  };

  return {
    get steps() {
      return log.steps;
    },
    receives: (text) => {
      seen += `${text}\n`;
    },
    types: async (command, values = {}, answer, expected = 0) => {
      assertNamed(command, values);
      log.add('command', command);
      const [program, ...args] = command
        .split(' ')
        .map((word) => word.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? ''));
      if (program !== 'docket') throw new Error(`${program} is not Docket's.`);
      let answered = false;
      const press = (shown: string): string | undefined => {
        if (answer === undefined || answered || !/\bYes\b[\s\S]*\bNo\b/.test(stripVTControlCharacters(shown))) return;
        answered = true;
        return answer;
      };
      const { code, screen } = await runOnTerminal(args, {
        env: options.env(),
        cwd: options.cwd,
        columns: COLUMNS,
        press,
      });
      if (answered) log.add('field', answer ?? '');
      const text = stripVTControlCharacters(screen).replaceAll('\r', '');
      seen += `${text}\n`;
      // The findings of `docket doctor` are not a failure of the command.
      if (code !== expected && args[0] !== 'doctor') throw new Error(`\`${command}\` ended with ${code}:\n${text}`);
      return {
        text,
        code,
        reads: (pattern) => {
          const found = pattern.exec(text) ?? pattern.exec(text.replaceAll(/\s+/g, ' '));
          if (found === null) throw new Error(`\`${command}\` did not print ${pattern}:\n${text}`);
          return found[1] ?? found[0];
        },
      };
    },
    repairs: async (what, named, repair) => {
      if (!named.test(flat())) throw new Error(`Nothing named ${named}. What was read:\n${seen}`);
      log.add('outside', what);
      await repair();
    },
  };
}

const escapePattern = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
