import { DocketError, toDocketError } from '../../../base/error.ts';
import type { CommandIo } from '../../io.ts';
import { createPrinter } from '../../terminal/print.ts';
import { isTerminal } from '../../terminal/style.ts';

/**
 * Runs `attempt`, which may fail with `already_delivered`. On a terminal the error becomes a prompt, and yes runs it once
 * more with `again`; otherwise, and always with `--json`, it is thrown. Throws `run.cancelled` for no.
 */
export async function withRepeatConfirmation<T>(
  { again, json }: { readonly again: boolean; readonly json: boolean },
  io: CommandIo,
  attempt: (again: boolean) => Promise<T>,
): Promise<T> {
  try {
    return await attempt(again);
  } catch (thrown) {
    const error = toDocketError(thrown);
    const interactive = !json && io.stdin.isTTY === true && isTerminal(io.stderr, io.env);
    if (error.code !== 'already_delivered' || !interactive) throw thrown;
    await confirmRepeat(error, io);
    return attempt(true);
  }
}

async function confirmRepeat({ message }: DocketError, io: CommandIo): Promise<void> {
  const { confirm, isCancel } = await import('@clack/prompts');
  createPrinter(io).printStatus(message);
  // On stderr: stdout is for the result.
  const answer = await confirm({
    message: 'Send it again?',
    initialValue: false,
    input: io.stdin,
    output: io.stderr,
  });
  if (answer === true) return;
  // During a prompt, Ctrl-C is a key, not a signal.
  if (isCancel(answer)) io.exitCode = 130;
  throw new DocketError('run.cancelled', 'It is not sent again: nothing was done.', {
    next: 'Give --again to send it without a prompt.',
  });
}
