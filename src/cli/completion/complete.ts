import { readdir } from 'node:fs/promises';
import { join, parse } from 'node:path';
import type { Command, Option } from 'commander';
import { RUN_STATES, type RunState, TERMINAL_STATES } from '../../run/run-record.ts';
import type { Completion, WantedIds } from './known-ids.ts';

/** Where candidates come from. */
export interface CompletionSources extends DefinitionNames {
  /** Ids of runs or deliveries. @param prefix the typed digits */
  findIds(wanted: WantedIds, prefix: string): Promise<readonly Completion[]>;
}

/** @param words everything after `docket`; the last word is to be completed and may be empty */
export async function complete(
  program: Command,
  words: readonly string[],
  sources: CompletionSources,
): Promise<readonly Completion[]> {
  const typed = joinAtEquals(words);
  const current = typed.pop() ?? '';
  const { command, position, pending, given } = parseTypedWords(program, typed);
  const options = availableOptions(command);

  const assigned = /^(--[^=]+)=(.*)$/s.exec(current);
  if (assigned !== null) {
    const [, flag = '', prefix = ''] = assigned;
    const option = options.find(({ long }) => long === flag);
    // Bash splits words at "=", and only replaces the part after it.
    const flagPrefix = words.at(-1) === current ? `${flag}=` : '';
    const values = option === undefined ? [] : await optionValues(option, prefix, sources);
    return withPrefix(prefix, values).map((one) => prependPrefix(flagPrefix, one));
  }
  if (pending !== undefined && !current.startsWith('-')) {
    return withPrefix(current, await optionValues(pending, current, sources));
  }
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
  const values =
    argument === undefined
      ? []
      : ['id', 'ids'].includes(argument.name())
        ? await completeIds(command, current, sources)
        : valuesForPlaceholder(argument.name(), argument.argChoices, sources);
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

/** Finds the command, option and argument position that the words lead to. */
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

/** The command's options. A group also has those of its default subcommand `list`. */
const availableOptions = (command: Command): readonly Option[] => [
  ...command.options,
  ...(command.commands.find((child) => child.name() === 'list')?.options ?? []),
];

async function optionValues(
  { flags, argChoices }: Option,
  current: string,
  sources: CompletionSources,
): Promise<readonly Completion[]> {
  const name = /[<[]([a-z-]+)/.exec(flags)?.[1] ?? '';
  // `--report` takes the name without its organization.
  if (name === 'report')
    return sources.reports.map((one) => ({ value: one.slice(one.indexOf('/') + 1), description: one }));
  // The value of `--run <id>`.
  if (name === 'id') return sources.findIds({ of: 'runs' }, current);
  return valuesForPlaceholder(name, argChoices, sources);
}

const UNFINISHED_STATES = RUN_STATES.filter((state) => !TERMINAL_STATES.has(state));
/** For commands that can only act on runs in certain states. Others complete all runs. */
const STATES_BY_COMMAND: Readonly<Record<string, readonly RunState[]>> = {
  watch: UNFINISHED_STATES,
  cancel: [...UNFINISHED_STATES, 'held', 'awaiting_approval'],
  approve: ['awaiting_approval', 'held'],
  reject: ['awaiting_approval', 'held'],
  comment: ['awaiting_approval', 'held'],
  retry: ['failed', 'partly_delivered', 'cancelled'],
  release: ['held'],
};
/** Commands that accept `last` as an id. */
const LAST_COMMANDS = ['show', 'get', 'watch'];

/** Candidates for an argument `<id>`: runs, except below `docket deliveries`. */
async function completeIds(
  command: Command,
  current: string,
  { findIds }: CompletionSources,
): Promise<readonly Completion[]> {
  if (command.parent?.name() === 'deliveries') return findIds({ of: 'deliveries' }, current);
  const states = STATES_BY_COMMAND[command.name()];
  const ids = await findIds({ of: 'runs', ...(states === undefined ? {} : { states }) }, current);
  return LAST_COMMANDS.includes(command.name()) ? [...ids, { value: 'last', description: 'the newest run' }] : ids;
}

/** Candidates by the placeholder in the help. Other placeholders have none. */
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

/** Names of definitions, from their file names. */
export interface DefinitionNames {
  readonly orgs: readonly string[];
  /** `<org>/<report>`. */
  readonly reports: readonly string[];
}

/**
 * Does not read the definitions, to be fast and to include invalid ones. Returns no names if the folder is unreadable.
 */
export async function listDefinitionNames(jobs: string): Promise<DefinitionNames> {
  const listFiles = async (org: string) => readdir(join(jobs, org)).catch(() => []);
  const entries = await readdir(jobs, { withFileTypes: true }).catch(() => []);
  const orgs = entries.filter((entry) => !entry.isFile() && !entry.name.startsWith('.')).map(({ name }) => name);
  const reports = await Promise.all(
    orgs.map(async (org) =>
      (await listFiles(org))
        .map((file) => parse(file))
        .filter(({ ext, name }) => (ext === '.yaml' || ext === '.yml') && name !== 'org' && !name.startsWith('.'))
        .map(({ name }) => `${org}/${name}`),
    ),
  );
  return { orgs: orgs.sort(), reports: reports.flat().sort() };
}
