import { Command, Option } from 'commander';

/** Commander's command, with shorthands for options and texts that several commands share. */
export class DocketCommand extends Command {
  override createCommand(name?: string): DocketCommand {
    return new DocketCommand(name);
  }

  /** Adds an option with a fixed set of values. */
  choice(flags: string, description: string, values: readonly string[], fallback?: string): this {
    return this.addOption(new Option(flags, description).choices(values).default(fallback));
  }

  /** Adds the flags of every command that decides. Author and reason are stored with the decision. */
  actor(): this {
    return this.requiredOption('--reason <text>', 'why; stored with the decision').option(
      '--by <name>',
      'who decides; default: the user of this shell',
    );
  }

  /** Adds the filters of commands that decide about many items, and the option that confirms a printed preview. */
  many(): this {
    return this.option('--org <org>', 'instead of ids: everything of this organization')
      .option('--report <report>', 'of this report, with --org')
      .option('--match <text>', 'words in the id or title of the report, or in the id or name of its organization')
      .option('--to <address>', 'with deliveries to this address, or to addresses that contain this text')
      .option('--period <period>', 'of runs whose period begins in this one, e.g. 2026-10')
      .option('--error <text>', 'of runs with an error whose code contains this text, e.g. smtp')
      .option('--state <state...>', 'of runs in these states')
      .option('--since <instant>', 'of runs created since: 1h (ago), yesterday, 2026-11-01')
      .option('--until <instant>', 'of runs created before; in the forms of --since')
      .option('--confirm <digest>', 'decide about exactly what the preview with this digest has shown');
  }

  /** Adds the flag of every listing. On a terminal, a listing is otherwise as wide as the terminal. */
  wide(): this {
    return this.option('--wide', 'on a terminal: every column, complete ids and exact UTC times, as in a pipe');
  }
  /** Adds text below the options. */
  details(text: string): this {
    return this.addHelpText('after', text);
  }
}
