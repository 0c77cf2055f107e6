import type { Command } from 'commander';

export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('Run the two demo reports through the queue, against a sandbox of everything')
    .option('--out <dir>', 'where everything goes; replaced when it is there', 'demo-out')
    .addHelpText(
      'after',
      '\nNeeds a Redis: REDIS_URL, or redis-server on the PATH, or (as root) the distribution’s package, which it installs.',
    )
    .action(async ({ out }: { out: string }) => {
      const [{ demo }, { abortOnSignal }, { sayLine }] = await Promise.all([
        import('../compose/demo.ts'),
        import('./surroundings.ts'),
        import('./print.ts'),
      ]);
      process.exitCode = await demo({ out, env: process.env, say: sayLine, signal: abortOnSignal() });
    });
}
