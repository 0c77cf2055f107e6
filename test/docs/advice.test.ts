import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { parseInstant, parseRunStates } from '../../src/cli/options/option-parsers.ts';
import { parsePeriod } from '../../src/definitions/periods/period.ts';
import { createTestProgram } from '../support/run-command.ts';
import { shellWords } from '../support/shell-words.ts';

/** What stands for a value in a text; a reason is any text. */
const PLACEHOLDER = '01234567';

/** What the command line says against a command that somebody copies from a text; undefined: it is accepted. */
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

/** What the actions check themselves. */
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

/** Whether only names of commands and flags are given: a text about a command, not one to copy. */
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

/** Names of keys and sessions there begin with our name. */
const OTHERS = ['sandbox/api-keys.ts', 'features/accounts/account-sessions.ts'];
const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
  (path) => /\.tsx?$/.test(path) && !OTHERS.includes(path),
);

/** The commands of e-mails: `command('runs retry …')`. */
const noticeCommands = (text: string) =>
  [...text.matchAll(/(?<![.\w])command\(\s*[`']((?:\$\{[^}]*\}|[^`'])*)[`']/g)].map(([, command = '']) => [
    '',
    `docket ${command}`,
  ]);

/** Commands in the texts that Docket prints: between backticks, in `<code>`, and next commands. */
const printed = sources.flatMap((path) => {
  const text = readFileSync(join('src', path), 'utf8').replaceAll(/^\s*(?:\*|\/\/|\/\*\*).*$/gm, '');
  const found = [
    ...text.matchAll(/\\?`((?:[A-Z_]+=\S+ )*docket [a-z](?:\$\{[^}]*\}|[^`\\])*)\\?`/g),
    ...text.matchAll(/<code>(docket [^<]*)<\/code>/g),
    ...text.matchAll(/command: '(docket [^']*)'/g),
    ...noticeCommands(text),
  ];
  return found.map(([, command = '']) => ({
    where: path,
    command: command
      .replaceAll(/\$\{REASON\}/g, '--reason "…"')
      .replaceAll(/\$\{content\}/g, '')
      .replaceAll(/\$?\{[^}]*\}/g, PLACEHOLDER)
      .replaceAll(/<[a-z|/ -]+>/g, PLACEHOLDER),
  }));
});

test('each command that Docket prints is one that it accepts', () => {
  expect(printed.length).toBeGreaterThan(80);
  expect(faultsOf(printed)).toEqual([]);
});

test('each remedy of an alert is a command that Docket accepts', () => {
  const schema = z.object({
    groups: z.array(
      z.object({
        rules: z.array(z.object({ alert: z.string(), annotations: z.record(z.string(), z.string()) })),
      }),
    ),
  });
  const { groups } = schema.parse(parse(readFileSync('docs/observability/alerts.yaml', 'utf8')));
  const remedies = groups.flatMap(({ rules }) =>
    rules.flatMap(({ alert, annotations }) =>
      Object.values(annotations).flatMap((text) =>
        [...text.matchAll(/`(docket [^`]+)`/g)].map(([, command = '']) => ({
          where: alert,
          command: command.replaceAll(/\{\{[^}]*\}\}/g, PLACEHOLDER).replace('FROM..TO', '2026-10-01..2026-10-31'),
        })),
      ),
    ),
  );
  expect(remedies.length).toBeGreaterThan(30);
  expect(faultsOf(remedies)).toEqual([]);
});

test('an invalid remedy is found', () => {
  expect(refusal('docket runs --since 1x')).toContain('Invalid value');
  expect(refusal(`docket runs retry ${PLACEHOLDER}`)).toContain('--reason');
  expect(refusal('docket runz')).toBeDefined();
  for (const since of ['2026-11-21T08:00:00Z', '1h', 'yesterday', '2026-11-01'])
    expect(refusal(`docket runs --since ${since}`)).toBeUndefined();
});
