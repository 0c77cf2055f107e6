import type { DocketError } from '../base/error.ts';

/** How a command goes on about a report that was delivered for its period already. */
export interface RepeatFlags {
  /** `--again`: it is delivered once more, and nobody is asked. */
  readonly again: boolean;
  /** Nobody is asked: whoever wants a document has no use for a question. */
  readonly json: boolean;
}

/**
 * Does what may be refused with `already_delivered`. On a terminal the refusal becomes a question, and yes does it once more
 * with `again`; elsewhere it is thrown. Throws `run.cancelled` for a no.
 */
export async function askingToRepeat<T>(
  { again, json }: RepeatFlags,
  attempt: (again: boolean) => Promise<T>,
): Promise<T> {
  try {
    return await attempt(again);
  } catch (thrown) {
    const { toDocketError } = await import('../base/error.ts');
    const error = toDocketError(thrown);
    if (error.code !== 'already_delivered' || json || !(await someoneIsThere())) throw thrown;
    await confirmRepeat(error);
    return attempt(true);
  }
}

async function someoneIsThere(): Promise<boolean> {
  const { isTerminal } = await import('./terminal.ts');
  return process.stdin.isTTY === true && isTerminal(process.stderr);
}

async function confirmRepeat({ message }: DocketError): Promise<void> {
  const [{ confirm, isCancel }, { DocketError: Stopped }, { sayLine }] = await Promise.all([
    import('@clack/prompts'),
    import('../base/error.ts'),
    import('./print.ts'),
  ]);
  sayLine(message);
  // On stderr: stdout is for what the command makes.
  const answer = await confirm({ message: 'Send it again?', initialValue: false, output: process.stderr });
  if (answer === true) return;
  // Ctrl-C reaches the prompt as a key, not the process as a signal.
  if (isCancel(answer)) process.exitCode = 130;
  throw new Stopped('run.cancelled', 'The report was not run again; nothing was sent.', {
    next: 'Give --again to send it without a question.',
  });
}
