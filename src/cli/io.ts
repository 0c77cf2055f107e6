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

/** Signals of the operating system, as far as commands handle them. */
export interface Signals {
  /**
   * Aborts on the first SIGINT or SIGTERM; a second one ends the process. Until the first call, a signal ends the process
   * at once. The reason is a `run.cancelled`.
   */
  stop(): AbortSignal;
  /** Calls the listener on SIGINT and SIGTERM before `stop` aborts. Returns how to remove it. */
  beforeStop(listener: () => void): () => void;
  /** SIGHUP. Returns how to remove the listener. */
  onReload(listener: () => void): () => void;
}

/** An error that no code caught, and the event of Node that reported it. */
export interface FatalError {
  readonly error: DocketError;
  readonly origin: 'unhandledRejection' | 'uncaughtException';
  /** The first line is the message. */
  readonly stack: string | undefined;
}

/** An option of `docket init` that does something else instead. */
export interface InitOption {
  /** Of the parsed flag. */
  readonly name: string;
  readonly flags: string;
  readonly description: string;
  /** What `--report` means with it, as the end of a sentence. */
  readonly report: string;
  /** A paragraph of the help. */
  readonly details: string;
  readonly example: string;
  readonly run: (
    path: string,
    flags: { readonly report?: string; readonly offline?: boolean; readonly json?: boolean },
    io: CommandIo,
  ) => Promise<void>;
}

/** A feature in the list of all: what `docket --help` needs of it, and how to import the rest. */
export interface ListedFeature {
  readonly init?: InitOption;
  readonly load: () => Promise<Feature>;
}

/** The process as commands see it. A test passes its own, so commands read no global state. */
export interface CommandIo {
  readonly env: Environment;
  readonly features: readonly ListedFeature[];
  /** Relative paths start here; absent: the working directory of the process, and paths are printed as they were given. */
  readonly cwd?: string;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Writes a line of the log; absent: synchronously to file descriptor 2. */
  readonly writeLog?: (line: string) => void;
  readonly signals: Signals;
  /** Reports an error that no code caught, before the process ends with 1. The reporter added last wins. Returns how to remove it. */
  onFatalError(report: (fatal: FatalError) => void): () => void;
  /** Reports warnings of Node, and what dependencies print, instead of printing it. Returns how to remove it. */
  onWarning(report: (warning: Pick<Error, 'name' | 'message'>) => void): () => void;
  /** Undefined: not decided yet. */
  exitCode: number | undefined;
}

export const resolvePath = (path: string, { cwd }: Pick<CommandIo, 'cwd'>): string =>
  cwd === undefined ? path : resolve(cwd, path);

/** A path for people: relative to the working directory if it is inside; else as it is. */
export function relativePath(path: string, { cwd = '' }: Pick<CommandIo, 'cwd'>): string {
  const short = relative(resolve(cwd), resolve(cwd, path));
  return short === '' ? '.' : short.startsWith('..') || isAbsolute(short) ? path : short;
}

/** Whether the log is for people; otherwise each line is JSON. Also decided for an environment with errors. */
export function logsAsText({ env, stderr }: Pick<CommandIo, 'env' | 'stderr'>): boolean {
  const format = env.LOG_FORMAT?.trim();
  return format === 'pretty' || (format !== 'json' && stderr.isTTY === true);
}
