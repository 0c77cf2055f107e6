import { stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { parseHelpText } from '../../src/cli/help-text.ts';
import { collectLeaves } from '../../src/cli/reference.ts';
import { ALL_VARIABLE_NAMES } from '../support/features.ts';
import { createTestProgram, runCommand } from '../support/run-command.ts';
import { shellWords } from '../support/shell-words.ts';

const leaves = collectLeaves(createTestProgram());
const names = leaves.map(({ name }) => name);
const leafNamed = (name: string): Command => {
  const leaf = collectLeaves(createTestProgram()).find((one) => one.name === name);
  if (leaf === undefined) throw new Error(`no command ${name}`);
  return leaf.command;
};
const variablesIn = (text: string): string[] => [...text.matchAll(/\b[A-Z]+_[A-Z0-9_]+\b/g)].map(([name]) => name);

/** The program with actions that do nothing. It throws errors of arguments. */
function parser(): Command {
  const program = createTestProgram();
  const disarm = (command: Command) => {
    command.action(() => {}).configureOutput({ writeOut: () => {}, writeErr: () => {} });
    for (const child of command.commands) disarm(child);
  };
  for (const command of program.commands) disarm(command);
  return program;
}

describe('docket --help', () => {
  test.each(names)('%s has examples and names its variables', async (name) => {
    const help = parseHelpText(leafNamed(name));
    expect(help.examples, 'an Example: or Examples: section').not.toEqual([]);
    expect(help.environment, 'an Environment: line').not.toBe('');
    const known = [...ALL_VARIABLE_NAMES, 'NO_COLOR', 'FORCE_COLOR'];
    // `DOCKET_OIDC_…` stands for all variables with this prefix.
    const isKnown = (name: string) => known.some((one) => one === name || (name.endsWith('_') && one.startsWith(name)));
    expect(variablesIn(help.environment).filter((name) => !isKnown(name))).toEqual([]);
  });

  test.each(names)('%s accepts its examples', async (name) => {
    for (const example of parseHelpText(leafNamed(name)).examples) {
      const words = shellWords(example);
      const [program, ...args] = words;
      expect(program, example).toBe('docket');
      expect(words.join(' ').startsWith(name), example).toBe(true);
      await expect(parser().parseAsync(args, { from: 'user' }), example).resolves.toBeDefined();
    }
  });

  test('describes every option and argument', () => {
    for (const { name, command } of leaves) {
      for (const { flags, description } of command.options) expect(description, `${name} ${flags}`).not.toBe('');
      for (const argument of command.registeredArguments) {
        expect(argument.description, `${name} ${argument.name()}`).not.toBe('');
      }
    }
  });

  test('is printed on stdout; a call without a command is an error', async () => {
    const help = await runCommand(['runs', 'show', '--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toMatch(/^Usage: docket runs show /);
    expect(await runCommand([])).toMatchObject({ code: 2, stdout: '' });
  });

  test('fits paragraphs to the terminal', async () => {
    for (const name of names) {
      const help = await runCommand([...name.split(' ').slice(1), '--help'], { terminal: { columns: 80 } });
      const prose = stripVTControlCharacters(help.stdout)
        .split('\n')
        .filter((line) => /^\S/.test(line));
      for (const line of prose) expect(line.length).toBeLessThanOrEqual(80);
    }
  });
});
