import { readFileSync } from 'node:fs';
import { type Command, CommanderError } from 'commander';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseInstant, parseRunStates } from '../../src/cli/options/option-parsers.ts';
import { parsePeriod } from '../../src/definitions/periods/period.ts';
import { ALERT_COMMANDS, commandShape, SOURCE_COMMANDS } from '../support/advice/printed-commands.ts';
import { NOT_TYPED, SITUATIONS } from '../support/advice/situations.ts';
import { createTestProgram } from '../support/run-command.ts';
import { shellWords } from '../support/shell-words.ts';

/** Stands for a value in a printed command. */
const PLACEHOLDER = '01234567';

/** The error that the command line reports for a copied command, or undefined when it accepts the command. */
function refusal(command: string): string | undefined {
  const program = createTestProgram();
  let checked: () => void = () => {};
  const prepare = (one: Command): void => {
    one.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} });
    one.action(() => {
      checked = () => checkValues(one.opts());
    });
    one.commands.forEach(prepare);
  };
  program.commands.forEach(prepare);
  program.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} });
  try {
    program.parse(shellWords(command).slice(1), { from: 'user' });
    checked();
    return undefined;
  } catch (error) {
    if (error instanceof CommanderError && error.code === 'commander.helpDisplayed') return undefined;
    return error instanceof Error ? error.message : String(error);
  }
}

/** Checks the values that commands parse only in their actions. */
function checkValues(flags: Readonly<Record<string, unknown>>): void {
  const text = (name: string): string | undefined => {
    const value = flags[name];
    return typeof value !== 'string' || value.includes(PLACEHOLDER) || value === '…' ? undefined : value;
  };
  for (const name of ['since', 'until']) {
    const value = text(name);
    if (value !== undefined) parseInstant(`--${name}`, value, { now: 0, zone: 'UTC' });
  }
  const period = text('period');
  if (period !== undefined) parsePeriod(period);
  const states = z.array(z.string()).catch([]).parse(flags.state);
  if (!states.includes(PLACEHOLDER)) parseRunStates('--state', states);
}

/** Whether a text only mentions a command and its flags, so that nobody copies it. */
function isMention(command: string): boolean {
  const words = shellWords(command).slice(1);
  const flags = words.filter((word) => word.startsWith('--'));
  let at: Command | undefined = createTestProgram();
  for (const word of words.slice(0, words.length - flags.length))
    at = at?.commands.find((child) => child.name() === word);
  const listed = at?.commands.find((child) => child.name() === 'list') ?? at;
  return flags.every((flag) => [...(at?.options ?? []), ...(listed?.options ?? [])].some(({ long }) => long === flag))
    ? at !== undefined
    : false;
}

const faultsOf = (commands: readonly { readonly where: string; readonly command: string }[]) =>
  commands.flatMap(({ where, command }) => {
    const why = isMention(command) ? undefined : refusal(command);
    return why === undefined ? [] : [{ where, command, why }];
  });

const printed = SOURCE_COMMANDS.map(({ where, text }) => ({
  where,
  command: text
    .replaceAll(/\$\{REASON\}/g, '--reason "…"')
    .replaceAll(/\$\{content\}/g, '')
    .replaceAll(/\$?\{[^}]*\}/g, PLACEHOLDER)
    .replaceAll(/<[a-z|/ -]+>/g, PLACEHOLDER),
}));
const remedies = ALERT_COMMANDS.map(({ where, text }) => ({
  where,
  command: text.replaceAll(/\{\{[^}]*\}\}/g, PLACEHOLDER).replace('FROM..TO', '2026-10-01..2026-10-31'),
}));

test('Docket accepts every command that it prints', () => {
  expect(printed.length).toBeGreaterThan(80);
  expect(faultsOf(printed)).toEqual([]);
});

test('Docket accepts every command in the remedy of an alert', () => {
  expect(remedies.length).toBeGreaterThan(30);
  expect(faultsOf(remedies)).toEqual([]);
});

/** The commands that operators type in the documented incidents. */
const incidents = [...readFileSync('docs/internals/incidents.md', 'utf8').matchAll(/`(docket [^`]+)`/g)].map(
  ([, text = '']) => commandShape(text.replaceAll('{why}', '…')),
);
const typed = new Set<string>([...Object.values(SITUATIONS).flat(), ...incidents]);

test('each printed command is tested in a situation, or listed with a reason', () => {
  const shapes = new Map<string, Set<string>>();
  for (const [index, { where, text }] of [...SOURCE_COMMANDS, ...ALERT_COMMANDS].entries()) {
    const command = [...printed, ...remedies][index]?.command ?? '';
    // Nobody copies a text that only mentions a command.
    if (isMention(command) && refusal(command) !== undefined) continue;
    const shape = commandShape(text);
    shapes.set(shape, (shapes.get(shape) ?? new Set()).add(where));
  }
  const missing = [...shapes].filter(([shape]) => !typed.has(shape) && !Object.hasOwn(NOT_TYPED, shape));
  expect(missing.map(([shape, where]) => `${shape}: ${[...where].join(', ')}`)).toEqual([]);
  expect(Object.keys(NOT_TYPED).filter((shape) => typed.has(shape) || !shapes.has(shape))).toEqual([]);
});

test('a command that is tested in no situation appears in the test named for it', () => {
  for (const [shape, { test: file }] of Object.entries(NOT_TYPED)) {
    if (file === undefined) continue;
    const [, ...words] = shape.split(' ').filter((word) => /^[a-z]/.test(word));
    const text = readFileSync(file, 'utf8');
    expect({ shape, words: words.filter((word) => !text.includes(word)) }).toEqual({ shape, words: [] });
  }
});

test('the check refuses invalid commands and accepts valid ones', () => {
  expect(refusal('docket runs --since 1x')).toContain('Invalid value');
  expect(refusal(`docket runs retry ${PLACEHOLDER}`)).toContain('--reason');
  expect(refusal('docket runz')).toBeDefined();
  for (const since of ['2026-11-21T08:00:00Z', '1h', 'yesterday', '2026-11-01'])
    expect(refusal(`docket runs --since ${since}`)).toBeUndefined();
});
