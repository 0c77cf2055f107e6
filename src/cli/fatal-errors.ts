import { type DocketError, toDocketError } from '../base/error.ts';

/** An error that no code caught, and the event of Node that reported it. */
export interface FatalError {
  readonly error: DocketError;
  readonly origin: 'unhandledRejection' | 'uncaughtException';
  /** The first line is the message. */
  readonly stack: string | undefined;
}

const FATAL_EXIT_CODE = 1;

/**
 * Reports an error that no code caught, and ends the process at once with 1: its state can no longer be trusted. Its runs
 * continue in another process, as after a kill. The reporter added last wins. Returns how to remove this one.
 */
export function onFatalError(report: (fatal: FatalError) => void): () => void {
  const end =
    (origin: FatalError['origin']) =>
    (thrown: unknown): void => {
      try {
        report({ error: toDocketError(thrown), origin, stack: thrown instanceof Error ? thrown.stack : undefined });
      } finally {
        process.exit(FATAL_EXIT_CODE);
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
