import { Argument, type Command } from 'commander';

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('Print a script that lets a shell complete commands, options, reports and organizations')
    .addArgument(new Argument('<shell>', 'whose script').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      `
Load it in the shell's own start-up file, or put it where the shell looks for completions. It asks \`docket\` itself each time,
so that it knows the options of the version that is installed, and the reports of DOCKET_JOBS where you are.

Environment: DOCKET_JOBS

Examples:
  docket completion bash > ~/.local/share/bash-completion/completions/docket
  docket completion zsh > ~/.zfunc/_docket
  docket completion fish > ~/.config/fish/completions/docket.fish`,
    )
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      const [{ SCRIPTS }, { printLine }] = await Promise.all([import('./completion-scripts.ts'), import('./print.ts')]);
      printLine(SCRIPTS[shell].trim());
    });
  program
    .command('__complete', { hidden: true })
    .description('Answer the scripts of `docket completion`: what may stand in place of the last word')
    .argument('[words...]')
    .helpOption(false)
    .action(async (words: string[]) => {
      const [{ complete }, { namesIn }, { printLine }] = await Promise.all([
        import('./complete.ts'),
        import('./names-in-jobs.ts'),
        import('./print.ts'),
      ]);
      const names = await namesIn(process.env.DOCKET_JOBS || 'jobs');
      for (const { value, what } of complete(program, words, names)) printLine(`${value}\t${what.split('\n')[0]}`);
    });
}
