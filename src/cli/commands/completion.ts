import { Argument, type Command } from 'commander';
import { type CommandIo, resolvePath } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';

export function addCompletionCommand(program: Command, io: CommandIo): void {
  program
    .command('completion')
    .description('Print a shell script that completes commands, options, reports and organizations')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      `
Load it in the shell's start-up file, or save it where the shell looks for completions. It calls \`docket\` each time, so it
always knows the options of the installed version and the reports of DOCKET_JOBS.

Environment: DOCKET_JOBS

Examples:
  docket completion bash > ~/.local/share/bash-completion/completions/docket
  docket completion zsh > ~/.zfunc/_docket
  docket completion fish > ~/.config/fish/completions/docket.fish`,
    )
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      const { COMPLETION_SCRIPTS } = await import('../completion/scripts.ts');
      createPrinter(io).printLine(COMPLETION_SCRIPTS[shell].trim());
    });
  program
    .command('__complete', { hidden: true })
    .description('Complete the last word, for the scripts of `docket completion`')
    .argument('[words...]')
    .helpOption(false)
    .action(async (words: string[]) => {
      const { complete, listDefinitionNames } = await import('../completion/complete.ts');
      const names = await listDefinitionNames(resolvePath(io.env.DOCKET_JOBS || 'jobs', io));
      for (const { value, description } of complete(program, words, names))
        createPrinter(io).printLine(`${value}\t${description.split('\n')[0]}`);
    });
}
