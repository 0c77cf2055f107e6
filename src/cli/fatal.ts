import { type DocketError, toDocketError } from '../base/error.ts';

/** An error that no code has caught, and by which of Node's events it became known. */
export interface FatalError {
  readonly error: DocketError;
  readonly origin: 'unhandledRejection' | 'uncaughtException';
  /** Where it was thrown; its first line is the message. */
  readonly stack: string | undefined;
}

const EXIT_CODE = 1;

/**
 * Reports an error that no code has caught, and ends the process at once with 1: what it holds can no longer be trusted,
 * and whatever supervises it starts another. Runs that it had in hand go on elsewhere, as after a kill. Of several
 * reporters the last one that was added has it. Returns how to remove this one.
 */
export function onFatalError(report: (fatal: FatalError) => void): () => void {
  const end =
    (origin: FatalError['origin']) =>
    (thrown: unknown): void => {
      try {
        report({ error: toDocketError(thrown), origin, stack: thrown instanceof Error ? thrown.stack : undefined });
      } finally {
        process.exit(EXIT_CODE);
      }
    };
  const rejected = end('unhandledRejection');
  const uncaught = end('uncaughtException');
  process.prependListener('unhandledRejection', rejected);
  process.prependListener('uncaughtException', uncaught);
  return () => {
    process.off('unhandledRejection', rejected);
    process.off('uncaughtException', uncaught);
  };
}
