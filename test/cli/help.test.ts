import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { helpTextOf } from '../../src/cli/help-text.ts';
import { createProgram } from '../../src/cli/program.ts';
import { leavesOf, referenceOf } from '../../src/cli/reference.ts';
import { docket } from '../support/docket.ts';
import { wordsOf } from '../support/shell-words.ts';

const leaves = leavesOf(createProgram());
const names = leaves.map(({ name }) => name);
const leafNamed = (name: string): Command => {
  const leaf = leavesOf(createProgram()).find((one) => one.name === name);
  if (leaf === undefined) throw new Error(`no command ${name}`);
  return leaf.command;
};
const variablesIn = (text: string): string[] => [...text.matchAll(/\b[A-Z]+_[A-Z0-9_]+\b/g)].map(([name]) => name);
const configuration = async (): Promise<readonly string[]> => {
  const files = ['src/base/config.ts', 'src/base/smtp-variables.ts', 'src/base/trace-variables.ts'];
  const source = (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('\n');
  return [...source.matchAll(/^ {2}([A-Z]+_[A-Z0-9_]+): /gm)].flatMap(([, name]) => name ?? []);
};

/** The program that does nothing when a command is named, and throws what is wrong with its arguments. */
function parser(): Command {
  const program = createProgram();
  const disarm = (command: Command) => {
    command.action(() => {}).configureOutput({ writeOut: () => {}, writeErr: () => {} });
    for (const child of command.commands) disarm(child);
  };
  for (const command of program.commands) disarm(command);
  return program;
}

describe('docket --help', () => {
  test.each(names)('%s says what it needs and how it is used', async (name) => {
    const help = helpTextOf(leafNamed(name));
    expect(help.examples, 'an Example: or Examples: section').not.toEqual([]);
    expect(help.environment, 'an Environment: line').not.toBe('');
    const known = [...(await configuration()), 'NO_COLOR', 'FORCE_COLOR'];
    for (const variable of variablesIn(help.environment)) expect(known).toContain(variable);
  });

  test.each(names)('%s is understood as its examples have it', async (name) => {
    for (const example of helpTextOf(leafNamed(name)).examples) {
      const words = wordsOf(example);
      const [program, ...args] = words;
      expect(program, example).toBe('docket');
      expect(words.join(' ').startsWith(name), example).toBe(true);
      await expect(parser().parseAsync(args, { from: 'user' }), example).resolves.toBeDefined();
    }
  });

  test('every option and argument says what it is for', () => {
    for (const { name, command } of leaves) {
      for (const { flags, description } of command.options) expect(description, `${name} ${flags}`).not.toBe('');
      for (const argument of command.registeredArguments) {
        expect(argument.description, `${name} ${argument.name()}`).not.toBe('');
      }
    }
  });

  test('is printed for every command, with its usage first', async () => {
    const ended = await docket(['runs', 'show', '--help']);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toMatch(/^Usage: docket runs show /);
    expect((await docket([])).code).toBe(2);
  });

  test('the README names every command, and no other', async () => {
    const readme = await readFile('README.md', 'utf8');
    const named = new Set([...readme.matchAll(/`docket ([a-z]+)/g)].map(([, name]) => name));
    expect([...named].sort()).toEqual([...new Set(names.map((name) => name.split(' ')[1]))].sort());
  });

  test('the README’s table of commands has a row for each of them', async () => {
    const readme = await readFile('README.md', 'utf8');
    const table = readme.slice(readme.indexOf('## Commands'), readme.indexOf('## Configuration'));
    for (const name of names) expect(table).toMatch(new RegExp(`^\\| \`${name}[ \`]`, 'm'));
  });

  test('docs/cli.md is what the commands say: after a change of them, `npm run docs:cli`', async () => {
    expect(await readFile('docs/cli.md', 'utf8')).toBe(referenceOf(createProgram()));
  });

  test('the README’s table of variables is the configuration', async () => {
    const readme = await readFile('README.md', 'utf8');
    const table = readme.slice(readme.indexOf('## Configuration'), readme.indexOf('## A report definition'));
    const named = [...table.matchAll(/`([A-Z]+_[A-Z0-9_]+)`/g)].map(([, name]) => name);
    // Everybody's, not ours: no-color.org.
    const ours = named.filter((name) => name !== 'NO_COLOR');
    expect([...new Set(ours)].sort()).toEqual([...(await configuration())].sort());
  });
});
