import { type Command, CommanderError } from 'commander';
import { type DocketError, formatError, toDocketError } from '../base/error.ts';

/**
 * Runs the program and sets the exit code: 0 done, 1 the run or check failed, 2 usage or configuration, 3 held or partly
 * delivered. An error is a few lines on stderr for the person who reads them, and with `--json` also the one document on stdout.
 */
export async function exitWith(program: Command, argv: readonly string[] = process.argv): Promise<void> {
  // `docket run … 2>&1 | head -1`: the reader has had enough. A run must not die of it amid its deliveries.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
  try {
    await program.parseAsync([...argv]);
  } catch (thrown) {
    if (thrown instanceof CommanderError) {
      // Commander has printed its help or what was wrong with the arguments already.
      process.exitCode = thrown.exitCode === 0 ? 0 : 2;
      return;
    }
    report(toDocketError(thrown), argv.includes('--json'));
  }
}

function report(error: DocketError, json: boolean): void {
  if (json) process.stdout.write(`${JSON.stringify({ error: error.toJSON() }, null, 2)}\n`);
  process.stderr.write(`docket: ${formatError(error)}\n`);
  if (error.code === 'internal.defect' && error.cause instanceof Error)
    process.stderr.write(`${error.cause.stack ?? ''}\n`);
  // Somebody stopped the command: why its work failed then is the signal.
  const stopped = error.code === 'run.cancelled' || error.code === 'run.unfinished';
  if (!stopped || process.exitCode === undefined) process.exitCode = error.exitCode;
}
