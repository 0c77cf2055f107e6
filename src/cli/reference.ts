import type { Argument, Command, Option } from 'commander';
import { type HelpText, helpTextOf } from './help-text.ts';

/** All commands as one page of Markdown, from what their help says: `docs/cli.md`. */
export function referenceOf(program: Command): string {
  const commands = visible(program);
  const groups = [...new Set(commands.map((command) => command.helpGroup()))];
  const own = helpTextOf(program);
  const blocks = [
    '# Command line',
    '<!-- Made from the commands themselves by `npm run docs:cli`; a test holds it against them. -->',
    program.description(),
    synopsis('docket <command> [options]'),
    ...groups.map((group) => {
      const leaves = commands.filter((command) => command.helpGroup() === group).flatMap(leavesOf);
      return [`**${group.replace(/:$/, '')}**`, '', ...leaves.map(contentLine)].join('\n');
    }),
    '## What holds for all of them',
    ...own.words,
    list('Exit codes', own.exitCodes),
    ...groups.flatMap((group) => [
      `## ${group.replace(/:$/, '')}`,
      ...commands
        .filter((command) => command.helpGroup() === group)
        .flatMap(leavesOf)
        .flatMap(sectionOf),
    ]),
  ];
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`;
}

interface Leaf {
  readonly command: Command;
  /** As one types it: without the name of the command that its group does by default. */
  readonly name: string;
}

const visible = (command: Command): readonly Command[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help');

/** The command itself, or those below it. `list` is what a group of commands does when none of them is named. */
export function leavesOf(command: Command): readonly Leaf[] {
  const children = visible(command);
  if (children.length === 0) return [{ command, name: nameOf(command) }];
  return children.flatMap(leavesOf);
}

const nameOf = (command: Command): string => {
  const above = command.parent === null ? '' : `${nameOf(command.parent)} `;
  return command.name() === 'list' ? above.trim() : `${above}${command.name()}`;
};

const contentLine = ({ command, name }: Leaf): string =>
  `- [\`${name}\`](#${name.replaceAll(' ', '-')}): ${lowerFirst(command.description())}`;

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

function sectionOf({ command, name }: Leaf): string[] {
  const help = helpTextOf(command);
  return [
    `### ${name}`,
    `${command.description()}.`.replace(/\.\.$/, '.'),
    synopsis([name, ...command.registeredArguments.map(argumentText), '[options]'].join(' ')),
    ...help.words.map((words) => (words.includes('\n') ? codeIn(words) : words)),
    argumentTable(command.registeredArguments),
    optionTable(command.options),
    help.environment === '' ? '' : `**Environment:** ${help.environment}`,
    list('Exit codes', help.exitCodes),
    examplesOf(help),
  ];
}

const synopsis = (line: string): string => `\`\`\`\n${line}\n\`\`\``;

const argumentText = (argument: Argument): string => {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
};

/** Prose whose later lines are set in: those are code. */
const codeIn = (words: string): string => {
  const [first = '', ...rest] = words.split('\n');
  return `${first}\n\n\`\`\`\n${rest.map((line) => line.trim()).join('\n')}\n\`\`\``;
};

const list = (name: string, text: string): string =>
  text === ''
    ? ''
    : `**${name}:**\n\n${text
        .split('; ')
        .map((one) => `- ${one}`)
        .join('\n')}`;

function argumentTable(all: readonly Argument[]): string {
  if (all.length === 0) return '';
  const rows = all.map((argument) => `| \`${argumentText(argument)}\` | ${cell(withChoices(argument))} |`);
  return ['| argument | what |', '|---|---|', ...rows].join('\n');
}

function optionTable(all: readonly Option[]): string {
  if (all.length === 0) return '';
  const rows = all.map((option) => {
    const fallback = option.defaultValue;
    // `--no-x` is true until it is given, which is no default that anybody would want to read.
    const shown = typeof fallback === 'string' ? `\`${fallback}\`` : option.mandatory ? '(needed)' : '';
    return `| \`${option.flags}\` | ${cell(withChoices(option))} | ${shown} |`;
  });
  return ['| option | what | default |', '|---|---|---|', ...rows].join('\n');
}

const withChoices = ({ description, argChoices }: Argument | Option): string =>
  argChoices === undefined ? description : `${description}: ${argChoices.map((one) => `\`${one}\``).join(', ')}`;

/** Angle brackets would be read as HTML, a bar as the next cell. */
const cell = (text: string): string =>
  text.replace(/<[^>\s]+>(?:\/<[^>\s]+>)?/g, (placeholder) => `\`${placeholder}\``).replaceAll('|', '\\|');

const examplesOf = ({ examples }: HelpText): string =>
  examples.length === 0
    ? ''
    : `**Examples:**\n\n\`\`\`sh\n${examples.map((line) => line.replace(/ {2,}(?=\S)/, '  # ')).join('\n')}\n\`\`\``;
