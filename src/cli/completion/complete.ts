import { readdir } from 'node:fs/promises';
import { join, parse } from 'node:path';
import type { Command, Option } from 'commander';
import { RUN_STATES } from '../../run/run-record.ts';

/** A candidate for the typed word. The values `:files` and `:folders` ask the shell for its own completion. */
export interface Completion {
  readonly value: string;
  readonly description: string;
}

/** @param words everything after `docket`; the last word is completed and may be empty */
export function complete(program: Command, words: readonly string[], names: DefinitionNames): readonly Completion[] {
  const typed = joinAtEquals(words);
  const current = typed.pop() ?? '';
  const { command, position, pending, given } = parseTypedWords(program, typed);
  const options = availableOptions(command);

  const assigned = /^(--[^=]+)=(.*)$/s.exec(current);
  if (assigned !== null) {
    const [, flag = '', prefix = ''] = assigned;
    const option = options.find(({ long }) => long === flag);
    // Bash splits words at "=", and replaces only the part after it.
    const flagPrefix = words.at(-1) === current ? `${flag}=` : '';
    return withPrefix(prefix, option === undefined ? [] : optionValues(option, names)).map((one) =>
      prependPrefix(flagPrefix, one),
    );
  }
  if (pending !== undefined && !current.startsWith('-')) return withPrefix(current, optionValues(pending, names));
  if (current.startsWith('-')) {
    const flags = options
      .filter(({ hidden, variadic, long }) => !hidden && (variadic || !given.has(long ?? '')))
      .map(({ long, short, description }) => ({ value: long ?? short ?? '', description: description }));
    return withPrefix(current, [...flags, { value: '--help', description: 'show the help' }]);
  }
  const children = command.createHelp().visibleCommands(command);
  const commands =
    position === 0 ? children.map((child) => ({ value: child.name(), description: child.description() })) : [];
  const takes = command.registeredArguments;
  const argument = takes[position] ?? (takes.at(-1)?.variadic ? takes.at(-1) : undefined);
  const values = argument === undefined ? [] : valuesForPlaceholder(argument.name(), argument.argChoices, names);
  return withPrefix(current, [...commands, ...values]);
}

const withPrefix = (prefix: string, candidates: readonly Completion[]): Completion[] =>
  candidates.filter(({ value }) => value.startsWith(':') || value.startsWith(prefix));

const prependPrefix = (prefix: string, { value, description }: Completion): Completion => ({
  value: value.startsWith(':') ? value : `${prefix}${value}`,
  description,
});

/** Bash passes `--state=done` as three words. */
function joinAtEquals(words: readonly string[]): string[] {
  const joined: string[] = [];
  let open = false;
  for (const word of words) {
    const last = joined.at(-1);
    if (last !== undefined && (open || (word === '=' && last.startsWith('--')))) {
      joined.splice(-1, 1, `${last}${word}`);
      open = word === '=';
    } else joined.push(word);
  }
  return joined;
}

/** The command, option and argument position that the words lead to. */
function parseTypedWords(program: Command, typed: readonly string[]) {
  let command = program;
  let position = 0;
  let pending: Option | undefined;
  const given = new Set<string>();
  for (const word of typed) {
    if (word.startsWith('-') && word !== '-') {
      const [flag = '', value] = word.split('=', 2);
      const option = availableOptions(command).find(({ long, short }) => long === flag || short === flag);
      given.add(option?.long ?? flag);
      pending = value === undefined && (option?.required || option?.optional) ? option : undefined;
    } else if (pending !== undefined) {
      if (!pending.variadic) pending = undefined;
    } else {
      const child = position === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (child === undefined) position += 1;
      else command = child;
    }
  }
  return { command, position, pending, given };
}

/** The command's options; for a group also those of its default `list`. */
const availableOptions = (command: Command): readonly Option[] => [
  ...command.options,
  ...(command.commands.find((child) => child.name() === 'list')?.options ?? []),
];

const optionValues = ({ flags, argChoices }: Option, names: DefinitionNames): readonly Completion[] => {
  const name = /[<[]([a-z-]+)/.exec(flags)?.[1] ?? '';
  // `--report` takes the name without the organization.
  if (name === 'report')
    return names.reports.map((one) => ({ value: one.slice(one.indexOf('/') + 1), description: one }));
  return valuesForPlaceholder(name, argChoices, names);
};

/** By the placeholder in the help. Other placeholders, such as ids, have no candidates. */
function valuesForPlaceholder(
  name: string,
  choices: readonly string[] | undefined,
  { orgs, reports }: DefinitionNames,
): readonly Completion[] {
  if (choices !== undefined) return choices.map((value) => ({ value, description: '' }));
  const [orgValues, reportValues] = [orgs, reports].map((values) =>
    values.map((value) => ({ value, description: '' })),
  );
  switch (name) {
    case 'org':
      return orgValues ?? [];
    case 'report':
      return reportValues ?? [];
    case 'target':
      return [...(orgValues ?? []), ...(reportValues ?? [])];
    case 'state':
      return RUN_STATES.map((value) => ({ value, description: '' }));
    case 'dir':
      return [{ value: ':folders', description: '' }];
    case 'file':
    case 'paths':
      return [{ value: ':files', description: '' }];
    default:
      return [];
  }
}

/** Names taken from file names. */
export interface DefinitionNames {
  readonly orgs: readonly string[];
  /** `<org>/<report>`. */
  readonly reports: readonly string[];
}

/** Reads no definitions, to be fast and to include invalid ones. An unreadable folder has no names. */
export async function listDefinitionNames(jobs: string): Promise<DefinitionNames> {
  const filesOf = async (org: string) => readdir(join(jobs, org)).catch(() => []);
  const entries = await readdir(jobs, { withFileTypes: true }).catch(() => []);
  const orgs = entries.filter((entry) => !entry.isFile() && !entry.name.startsWith('.')).map(({ name }) => name);
  const reports = await Promise.all(
    orgs.map(async (org) =>
      (await filesOf(org))
        .map((file) => parse(file))
        .filter(({ ext, name }) => (ext === '.yaml' || ext === '.yml') && name !== 'org' && !name.startsWith('.'))
        .map(({ name }) => `${org}/${name}`),
    ),
  );
  return { orgs: orgs.sort(), reports: reports.flat().sort() };
}
