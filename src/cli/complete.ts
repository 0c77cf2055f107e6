import type { Command, Option } from 'commander';
import { RUN_STATES } from '../run/record.ts';
import type { Names } from './names-in-jobs.ts';

/** What may stand in place of the word that is being typed. `:files` and `:folders` stand for the shell's own. */
export interface Candidate {
  readonly value: string;
  readonly what: string;
}

/** @param words all after `docket`, as far as they are typed; the last is the one to complete, empty when it has not been begun */
export function complete(program: Command, words: readonly string[], names: Names): readonly Candidate[] {
  const typed = joinedAtEquals(words);
  const current = typed.pop() ?? '';
  const { command, places, pending, given } = whereAfter(program, typed);
  const options = optionsOf(command);

  const assigned = /^(--[^=]+)=(.*)$/s.exec(current);
  if (assigned !== null) {
    const [, flag = '', begun = ''] = assigned;
    const option = options.find(({ long }) => long === flag);
    // A shell that breaks words at "=" has only what is behind it to replace.
    const ahead = words.at(-1) === current ? `${flag}=` : '';
    return starting(begun, option === undefined ? [] : valuesOf(option, names)).map((one) => prefixed(ahead, one));
  }
  if (pending !== undefined && !current.startsWith('-')) return starting(current, valuesOf(pending, names));
  if (current.startsWith('-')) {
    const flags = options
      .filter(({ hidden, variadic, long }) => !hidden && (variadic || !given.has(long ?? '')))
      .map(({ long, short, description }) => ({ value: long ?? short ?? '', what: description }));
    return starting(current, [...flags, { value: '--help', what: 'what it does and what it takes' }]);
  }
  const children = command.createHelp().visibleCommands(command);
  const commands = places === 0 ? children.map((child) => ({ value: child.name(), what: child.description() })) : [];
  const takes = command.registeredArguments;
  const argument = takes[places] ?? (takes.at(-1)?.variadic ? takes.at(-1) : undefined);
  const values = argument === undefined ? [] : valuesNamed(argument.name(), argument.argChoices, names);
  return starting(current, [...commands, ...values]);
}

const starting = (begun: string, candidates: readonly Candidate[]): Candidate[] =>
  candidates.filter(({ value }) => value.startsWith(':') || value.startsWith(begun));

const prefixed = (ahead: string, { value, what }: Candidate): Candidate => ({
  value: value.startsWith(':') ? value : `${ahead}${value}`,
  what,
});

/** Bash hands over `--state=done` as three words. */
function joinedAtEquals(words: readonly string[]): string[] {
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

/** How far the words before have led. */
function whereAfter(program: Command, typed: readonly string[]) {
  let command = program;
  let places = 0;
  let pending: Option | undefined;
  const given = new Set<string>();
  for (const word of typed) {
    if (word.startsWith('-') && word !== '-') {
      const [flag = '', value] = word.split('=', 2);
      const option = optionsOf(command).find(({ long, short }) => long === flag || short === flag);
      given.add(option?.long ?? flag);
      pending = value === undefined && (option?.required || option?.optional) ? option : undefined;
    } else if (pending !== undefined) {
      if (!pending.variadic) pending = undefined;
    } else {
      const child = places === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (child === undefined) places += 1;
      else command = child;
    }
  }
  return { command, places, pending, given };
}

/** Those of the command, and for a group those of the list that it is without another word. */
const optionsOf = (command: Command): readonly Option[] => [
  ...command.options,
  ...(command.commands.find((child) => child.name() === 'list')?.options ?? []),
];

const valuesOf = ({ flags, argChoices }: Option, names: Names): readonly Candidate[] => {
  const name = /[<[]([a-z-]+)/.exec(flags)?.[1] ?? '';
  // An option names a report within its organization.
  if (name === 'report') return names.reports.map((one) => ({ value: one.slice(one.indexOf('/') + 1), what: one }));
  return valuesNamed(name, argChoices, names);
};

/** By what the help calls the value. Of what has another name nothing is known: an id, a text, a number. */
function valuesNamed(
  name: string,
  choices: readonly string[] | undefined,
  { orgs, reports }: Names,
): readonly Candidate[] {
  if (choices !== undefined) return choices.map((value) => ({ value, what: '' }));
  const [orgValues, reportValues] = [orgs, reports].map((values) => values.map((value) => ({ value, what: '' })));
  switch (name) {
    case 'org':
      return orgValues ?? [];
    case 'report':
      return reportValues ?? [];
    case 'target':
      return [...(orgValues ?? []), ...(reportValues ?? [])];
    case 'state':
      return RUN_STATES.map((value) => ({ value, what: '' }));
    case 'dir':
      return [{ value: ':folders', what: '' }];
    case 'file':
    case 'paths':
      return [{ value: ':files', what: '' }];
    default:
      return [];
  }
}
