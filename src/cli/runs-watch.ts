import type { Command } from 'commander';

export function addRunsWatch(runs: Command): void {
  runs
    .command('watch')
    .description('Follow a run that the workers make, to its end')
    .argument('<id>', 'the run: its id, or the first 8 digits or more')
    .option('--timeout <time>', 'stop watching after so long, e.g. 90s, 15m, 2h; the run goes on')
    .option('--json', 'one JSON document on stdout: the record, when the run has ended')
    .addHelpText(
      'after',
      `
Tells on stderr what goes on, a line each, with a bar for the calls on a terminal. A run that sleeps or is tried again is
followed on. Looks once a second and stands in nobody's way; Ctrl-C stops the watching, not the run.

Environment: REDIS_URL, LOG_LEVEL

Exit codes: 0 done; 1 failed, cancelled or not ended in time; 2 usage or configuration; 3 held, or not delivered to everybody; 130
the watching was stopped by Ctrl-C

Examples:
  docket runs watch 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e
  docket runs watch 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --timeout 15m --json`,
    )
    .action(watch);
}

async function watch(text: string, flags: { readonly timeout?: string; readonly json?: boolean }): Promise<void> {
  const [{ readSurroundings }, { readDuration }, { followRun, showEnd }, { watchedRunId }] = await Promise.all([
    import('./surroundings.ts'),
    import('./flag.ts'),
    import('./follow.ts'),
    import('./run-id.ts'),
  ]);
  const timeoutMs =
    flags.timeout === undefined ? undefined : readDuration('--timeout', flags.timeout, { maxMs: 7 * 86_400_000 });
  const around = readSurroundings();
  const id = await watchedRunId(around, text);
  showEnd(await followRun(id, around, timeoutMs), flags.json ?? false);
}
