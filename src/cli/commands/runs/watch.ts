import type { Command } from 'commander';
import type { CommandIo } from '../../io.ts';

export function addRunsWatchCommand(runs: Command, io: CommandIo): void {
  runs
    .command('watch')
    .description('Watch a queued run until it ends')
    .argument('<id>', 'id of the run, or its first 8 digits or more')
    .option('--timeout <time>', 'stop watching after this time, e.g. 90s, 15m, 2h; the run continues')
    .option('--json', 'one JSON document on stdout: the record, when the run has ended')
    .addHelpText(
      'after',
      `
Prints progress on stderr, one line per event, and on a terminal a bar for the calls. Keeps watching a run that waits or is
retried. Polls once a second; Ctrl-C stops watching, not the run.

Environment: REDIS_URL, LOG_LEVEL

Exit codes: 0 done; 1 failed, cancelled or not ended in time; 2 usage or configuration; 3 held or partly delivered; 130
Ctrl-C stopped watching

Examples:
  docket runs watch 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e
  docket runs watch 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --timeout 15m --json`,
    )
    .action((text: string, flags: WatchFlags) => watch(text, flags, io));
}

interface WatchFlags {
  readonly timeout?: string;
  readonly json?: boolean;
}

async function watch(text: string, flags: WatchFlags, io: CommandIo): Promise<void> {
  const [{ createContext }, { parseDurationOption }, { followRun, printRunResult }, { expandRunId }, { DAY_MS }] =
    await Promise.all([
      import('../../context.ts'),
      import('../../options/option-parsers.ts'),
      import('./follow-run.ts'),
      import('../../options/run-id.ts'),
      import('../../../base/time.ts'),
    ]);
  const timeoutMs =
    flags.timeout === undefined ? undefined : parseDurationOption('--timeout', flags.timeout, { maxMs: 7 * DAY_MS });
  const context = createContext(io);
  const id = await expandRunId(context, text);
  printRunResult(await followRun(id, context, timeoutMs, io), flags.json ?? false, io);
}
