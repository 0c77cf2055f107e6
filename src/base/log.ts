import { pino } from 'pino';
import type { ErrorJson } from './error.ts';
import { prettyLine } from './log-line.ts';
import { logText } from './log-text.ts';

/** What a log line may carry beside its sentence. An allow-list: a field that is not named here cannot be logged. */
export interface LogFields {
  run?: string;
  org?: string;
  report?: string;
  slot?: string;
  stage?: string;
  call?: string;
  target?: string;
  delivery?: string;
  state?: string;
  status?: number;
  ms?: number;
  count?: number;
  /** Of how many `count` or `attempt` is one. */
  of?: number;
  /** Tries of a run that were spent, this one included. */
  attempt?: number;
  until?: string;
  why?: string;
  /** What happened, by its name in the audit log. */
  event?: string;
  /** Name of the token of the admin route: who asked for it. */
  who?: string;
  /** Address that it came from. */
  from?: string;
  url?: string;
  /** What the process does: worker, scheduler, admin. */
  role?: string;
  path?: string;
  key?: string;
  correlation_id?: string;
  /** Of the trace in which it was said, where traces are kept. */
  trace_id?: string;
  error?: ErrorJson;
}

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const ALLOWED: ReadonlySet<string> = new Set(
  Object.keys({
    run: true,
    org: true,
    report: true,
    slot: true,
    stage: true,
    call: true,
    target: true,
    delivery: true,
    state: true,
    status: true,
    ms: true,
    count: true,
    of: true,
    attempt: true,
    until: true,
    why: true,
    who: true,
    event: true,
    from: true,
    url: true,
    role: true,
    path: true,
    key: true,
    correlation_id: true,
    trace_id: true,
    error: true,
  } satisfies Record<keyof LogFields, true>),
);

const OF_ERROR = Object.keys({
  code: true,
  message: true,
  expected: true,
  got: true,
  where: true,
  next: true,
  correlation_id: true,
  // Not `delivered`, which is no text: the sentence says it.
} satisfies Record<Exclude<keyof ErrorJson, 'delivered'>, true>);

type Redact = (text: string) => string;

// The types already refuse other fields; this holds at run time too, where a cast or a spread could slip one in.
const allowed = (fields: LogFields, redact?: Redact): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      if (!ALLOWED.has(name)) return [];
      const kept = name === 'error' ? errorParts(value, redact) : scalar(value, redact);
      return kept === undefined ? [] : [[name, kept]];
    }),
  );

const scalar = (value: unknown, redact?: Redact): string | number | undefined => {
  if (typeof value === 'string') return logText(value, redact);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
};

function errorParts(error: unknown, redact?: Redact): Record<string, unknown> | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const parts: ReadonlyMap<string, unknown> = new Map(Object.entries(error));
  return Object.fromEntries(
    OF_ERROR.flatMap((name) => {
      const text = parts.get(name);
      return typeof text === 'string' ? [[name, logText(text, redact)]] : [];
    }),
  );
}

export interface LogOptions {
  /** Takes out of every text what this process knows to be secret. */
  readonly redact?: Redact | undefined;
  /** As a person reads it, in colour or not, rather than JSON. */
  readonly pretty?: { readonly color: boolean } | undefined;
  /** Where lines go; stderr when absent. */
  readonly write?: (line: string) => void;
}

/** JSON lines on stderr: stdout belongs to what a command prints. */
export function stderrLog(level: string, { redact, pretty, write }: LogOptions = {}): Log {
  const stream = write === undefined ? toStderr() : { write };
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pretty === undefined ? stream : { write: (line: string) => void stream.write(prettyLine(line, pretty.color)) },
  );
  const line =
    (at: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields: LogFields = {}): void => {
      if (logger.isLevelEnabled(at)) logger[at](allowed(fields, redact), logText(message, redact));
    };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

/** So much is kept for a stderr that takes nothing at the moment; what comes on top of it is lost. */
const MOST_UNWRITTEN = 1 << 20;

function toStderr() {
  const stream = pino.destination({ fd: 2, sync: true, maxLength: MOST_UNWRITTEN });
  // A disk that is full would otherwise throw out of each line, and fail the run that says it.
  stream.on('error', () => {});
  return stream;
}

/** The same log, where every line carries these fields: what belongs to a run is said by its run's log, and cannot forget it. */
export function logWith(log: Log, own: LogFields | (() => LogFields)): Log {
  const fieldsOf = typeof own === 'function' ? own : () => own;
  const line =
    (at: keyof Log) =>
    (message: string, fields?: LogFields): void =>
      log[at](message, { ...fieldsOf(), ...fields });
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
