import { constants } from 'node:os';
import { format } from 'node:util';
import { DocketError, toDocketError } from '../base/error.ts';
import type { CommandIo, FatalError, ListedFeature, Signals } from './io.ts';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * The io of this process. Installs listeners on its streams at once, but for signals only when a command requests them.
 */
export function createProcessIo(features: readonly ListedFeature[]): CommandIo {
  const { stdout, stderr, env } = process;
  for (const stream of [stdout, stderr]) {
    // `docket run … 2>&1 | head -1`: closing the pipe must not end a run between two deliveries.
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
  const io: CommandIo = {
    env,
    features,
    // A getter, because Node opens stdin on first access, and few commands need it.
    get stdin() {
      return process.stdin;
    },
    stdout,
    stderr,
    onFatalError,
    onWarning,
    exitCode: undefined,
    signals: processSignals((code) => {
      io.exitCode = code;
    }),
  };
  return io;
}

/**
 * @param setExitCode called with 128 plus the number of the signal, as shells expect of a command that a signal ended
 */
function processSignals(setExitCode: (code: number) => void): Signals {
  return {
    stop: () => {
      const controller = new AbortController();
      for (const name of STOP_SIGNALS) {
        process.once(name, () => {
          setExitCode(128 + constants.signals[name]);
          controller.abort(new DocketError('run.cancelled', `Stopped by ${name}.`));
        });
      }
      return controller.signal;
    },
    beforeStop: (listener) => {
      const listeners = STOP_SIGNALS.map((name) => {
        const onSignal = () => {
          remove();
          listener();
          // If no other listener is left, the process would survive the signal, so it is sent again.
          if (process.listenerCount(name) === 0) process.kill(process.pid, name);
        };
        // Runs before the listeners of `stop`: those are removed when they are called, and would then not be counted.
        process.prependListener(name, onSignal);
        return [name, onSignal] as const;
      });
      const remove = () => {
        for (const [name, onSignal] of listeners) process.off(name, onSignal);
      };
      return remove;
    },
    onReload: (listener) => {
      process.on('SIGHUP', listener);
      return () => process.off('SIGHUP', listener);
    },
  };
}

/**
 * Sets aside Node's own listener, which prints warnings, and the console, on which dependencies print (ioredis: errors
 * of connections to Sentinels).
 */
function onWarning(report: (warning: Pick<Error, 'name' | 'message'>) => void): () => void {
  const printing = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', report);
  const { error, warn } = console;
  const print = (...parts: readonly unknown[]) => report({ name: 'console', message: format(...parts) });
  Object.assign(console, { error: print, warn: print });
  return () => {
    Object.assign(console, { error, warn });
    process.off('warning', report);
    for (const listener of printing) process.on('warning', listener);
  };
}

const FATAL_EXIT_CODE = 1;

/**
 * Reports an error that no code caught, and ends the process at once with 1, because its state can no longer be
 * trusted. Its runs continue in another process, as after a kill. The reporter added last is used. Returns a function
 * that removes it.
 */
function onFatalError(report: (fatal: FatalError) => void): () => void {
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
