import type { Command } from 'commander';

export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('Run the two demo reports through the queue, against a sandbox of everything')
    .option('--out <dir>', 'where everything goes; replaced when it is there', 'demo-out')
    .option('--json', 'one JSON document on stdout: the folder, and the record of each run')
    .addHelpText(
      'after',
      `
Needs a Redis: REDIS_URL, or redis-server on the PATH, or (as root) the distribution’s package, which it installs. It keeps
nothing in a Redis that it was given, and needs no API, no mail server and no key.

Environment: REDIS_URL, LOG_LEVEL (default: warn)

Exit codes: 0 both reports are done; 1 one of them is not.

Examples:
  docket demo
  docket demo --out /tmp/docket-demo --json`,
    )
    .action(demo);
}

async function demo({ out, json }: { readonly out: string; readonly json?: boolean }): Promise<void> {
  const [composed, { abortOnSignal }, { openBars }, { watchRun }, { printJson }] = await Promise.all([
    import('../compose/demo.ts'),
    import('./surroundings.ts'),
    import('./progress-bar.ts'),
    import('./run-progress.ts'),
    import('./print.ts'),
  ]);
  const bars = openBars();
  try {
    const { folder, records } = await composed.demo({
      out,
      env: process.env,
      say: bars.say,
      watch: (report, now) => watchRun(report, bars, now),
      signal: abortOnSignal(),
    });
    if (json) printJson({ folder, runs: records });
    process.exitCode = records.every(({ state }) => state === 'done') ? 0 : 1;
  } finally {
    bars.close();
  }
}
