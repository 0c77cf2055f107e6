import { Command, Option } from 'commander';

/** Commander's command, with shorthands for the options and texts that several commands have. */
export class DocketCommand extends Command {
  override createCommand(name?: string): DocketCommand {
    return new DocketCommand(name);
  }

  /** An option that takes one of `values`. */
  choice(flags: string, description: string, values: readonly string[], fallback?: string): this {
    return this.addOption(new Option(flags, description).choices(values).default(fallback));
  }

  /** The flags of every command that decides: author and reason are stored with the decision. */
  actor(): this {
    return this.requiredOption('--reason <text>', 'why; stored with the decision').option(
      '--by <name>',
      'who decides; default: the user of this shell',
    );
  }

  /** The flag of every listing, which on a terminal is as wide as that. */
  wide(): this {
    return this.option('--wide', 'on a terminal: every column, complete ids and exact UTC times, as in a pipe');
  }
  /** The help below the options. */
  details(text: string): this {
    return this.addHelpText('after', text);
  }
}
