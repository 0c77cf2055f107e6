import type { Command } from 'commander';
import { type CommandIo, resolvePath } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';

export function addDemoCommand(program: Command, io: CommandIo): void {
  program
    .command('demo')
    .description('Run the two demo reports through the queue, with a sandbox of everything else')
    .option('--out <dir>', 'output folder; replaced if it exists', 'demo-out')
    .option('--json', 'one JSON document on stdout: the folder, and the record of each run')
    .addHelpText(
      'after',
      `
Needs Redis: REDIS_URL, or redis-server on the PATH, or (as root) the distribution’s package, which it installs. It leaves
nothing in the Redis of REDIS_URL, and needs no API, no mail server and no key.

Environment: REDIS_URL, LOG_LEVEL (default: warn)

Exit codes: 0 both reports are done; 1 one of them is not

Examples:
  docket demo
  docket demo --out /tmp/docket-demo --json`,
    )
    .action((flags: { readonly out: string; readonly json?: boolean }) => demo(flags, io));
}

async function demo({ out, json }: { readonly out: string; readonly json?: boolean }, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [composed, { openProgressBars }, { showRunProgress }] = await Promise.all([
    import('../../demo/demo.ts'),
    import('../terminal/progress-bar.ts'),
    import('../terminal/run-progress.ts'),
  ]);
  const bars = openProgressBars(io);
  try {
    const { folder, records } = await composed.runDemo({
      out: resolvePath(out, io),
      env: io.env,
      printLine: bars.printLine,
      observerOf: (report, now) => showRunProgress(report, bars, now),
      signal: io.signals.stop(),
    });
    if (json) print.printJson({ folder, runs: records });
    io.exitCode = records.every(({ state }) => state === 'done') ? 0 : 1;
  } finally {
    bars.close();
  }
}
