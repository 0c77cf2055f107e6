import { DocketError, toDocketError } from '../../../base/error.ts';
import type { CommandIo } from '../../io.ts';
import { createPrinter } from '../../terminal/print.ts';
import { isTerminal } from '../../terminal/style.ts';

/**
 * Runs `attempt`, which may throw `already_delivered`. On a terminal, it then asks whether to deliver again, and if so
 * runs `attempt` with `again`. Without a terminal, or with `--json`, the error is thrown. Throws `run.cancelled` if the
 * answer is no.
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
  // The prompt goes to stderr, because stdout is for the result.
  const answer = await confirm({
    message: 'Send it again?',
    initialValue: false,
    input: io.stdin,
    output: io.stderr,
  });
  if (answer === true) return;
  // During a prompt, Ctrl-C is a key, not a signal.
  if (isCancel(answer)) io.exitCode = 130;
  throw new DocketError('run.cancelled', 'Nothing was sent again.', {
    next: 'Give --again to send it without a prompt.',
  });
}
