import { DAY_MS } from '../../../base/time.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { parseDurationOption } from '../../options/option-parsers.ts';
import { expandRunId } from '../../options/run-id.ts';
import { followRun, printRunResult } from './follow-run.ts';

interface WatchFlags {
  readonly timeout?: string;
  readonly json?: boolean;
}

export async function watch(text: string, flags: WatchFlags, io: CommandIo): Promise<void> {
  const timeoutMs =
    flags.timeout === undefined ? undefined : parseDurationOption('--timeout', flags.timeout, { maxMs: 7 * DAY_MS });
  const context = createContext(io);
  const id = await expandRunId(context, text);
  printRunResult(await followRun(id, context, timeoutMs, io), flags.json ?? false, io);
}
