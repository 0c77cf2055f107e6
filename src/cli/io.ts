import { isAbsolute, relative, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { DocketError } from '../base/error.ts';
import type { Feature } from '../compose/feature.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Standard output or standard error. */
export type OutputStream = Writable & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly getColorDepth?: (env: object) => number;
};

/** The signals of the operating system that commands handle. */
export interface Signals {
  /**
   * Aborts on the first SIGINT or SIGTERM; a second one ends the process. Before the first call of this method, a
   * signal ends the process at once. The abort reason is a `run.cancelled`.
   */
  stop(): AbortSignal;
  /** Calls the listener on SIGINT and SIGTERM, before `stop` aborts. Returns a function that removes it. */
  beforeStop(listener: () => void): () => void;
  /** Calls the listener on SIGHUP. Returns a function that removes it. */
  onReload(listener: () => void): () => void;
}

/** An error that no code caught, and the Node event that reported it. */
export interface FatalError {
  readonly error: DocketError;
  readonly origin: 'unhandledRejection' | 'uncaughtException';
  /** The first line is the message of the error. */
  readonly stack: string | undefined;
}

/** An option that makes `docket init` do something else. */
export interface InitOption {
  /** The name of the parsed flag. */
  readonly name: string;
  readonly flags: string;
  readonly description: string;
  /** The meaning of `--report` with this option, as the end of a sentence. */
  readonly report: string;
  /** A paragraph for the help. */
  readonly details: string;
  readonly example: string;
  readonly run: (
    path: string,
    flags: { readonly report?: string; readonly offline?: boolean; readonly json?: boolean },
    io: CommandIo,
  ) => Promise<void>;
}

/** A feature in the list of features: what `docket --help` needs from it, and how to import the rest. */
export interface ListedFeature {
  readonly init?: InitOption;
  readonly load: () => Promise<Feature>;
}

/** The process, as commands see it. Tests pass their own, so commands must not read global state. */
export interface CommandIo {
  readonly env: Environment;
  readonly features: readonly ListedFeature[];
  /**
   * Base of relative paths. Absent: the working directory of the process; paths are then printed as they were given.
   */
  readonly cwd?: string;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Writes a line of the log. Absent: written synchronously to file descriptor 2. */
  readonly writeLog?: (line: string) => void;
  readonly signals: Signals;
  /**
   * Called with an error that no code caught, before the process exits with 1. The reporter added last is used. Returns
   * a function that removes it.
   */
  onFatalError(report: (fatal: FatalError) => void): () => void;
  /**
   * Called with warnings of Node and output of dependencies, instead of printing them. Returns a function that removes
   * it.
   */
  onWarning(report: (warning: Pick<Error, 'name' | 'message'>) => void): () => void;
  /** Undefined until it is decided. */
  exitCode: number | undefined;
}

export const resolvePath = (path: string, { cwd }: Pick<CommandIo, 'cwd'>): string =>
  cwd === undefined ? path : resolve(cwd, path);

/** A path for people: relative if it is inside the working directory, otherwise unchanged. */
export function relativePath(path: string, { cwd = '' }: Pick<CommandIo, 'cwd'>): string {
  const short = relative(resolve(cwd), resolve(cwd, path));
  return short === '' ? '.' : short.startsWith('..') || isAbsolute(short) ? path : short;
}

/** Whether the log is text for people. Otherwise each line is JSON. Must work for an invalid environment too. */
export function logsAsText({ env, stderr }: Pick<CommandIo, 'env' | 'stderr'>): boolean {
  const format = env.LOG_FORMAT?.trim();
  return format === 'pretty' || (format !== 'json' && stderr.isTTY === true);
}
