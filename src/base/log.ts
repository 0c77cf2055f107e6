import { pino } from 'pino';
import type { ErrorJson } from './error.ts';
import { formatPretty } from './log-pretty.ts';
import { sanitizeLogText } from './log-text.ts';

/** Fields of a log line. An allow-list: other fields are dropped. */
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
  /** Total, for `count` or `attempt`. */
  of?: number;
  /** Number of the attempt, from 1. */
  attempt?: number;
  until?: string;
  why?: string;
  /** Name of the event in the audit log. */
  event?: string;
  /** Name of the admin token, or of the person. */
  who?: string;
  /** Client address. */
  from?: string;
  url?: string;
  /** Of the process: worker, scheduler, admin. */
  role?: string;
  path?: string;
  key?: string;
  correlation_id?: string;
  /** Where traces are exported. */
  trace_id?: string;
  error?: ErrorJson;
}

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const ALLOWED_FIELDS: ReadonlySet<string> = new Set(
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

const ERROR_FIELDS = Object.keys({
  code: true,
  message: true,
  expected: true,
  got: true,
  where: true,
  next: true,
  correlation_id: true,
  // Not `delivered`, which is no text; the message has its content.
} satisfies Record<Exclude<keyof ErrorJson, 'delivered'>, true>);

type Redact = (text: string) => string;

// Also at run time: casts and spreads may pass other fields.
const pickAllowed = (fields: LogFields, redact?: Redact): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      if (!ALLOWED_FIELDS.has(name)) return [];
      const kept = name === 'error' ? pickErrorFields(value, redact) : sanitizeScalar(value, redact);
      return kept === undefined ? [] : [[name, kept]];
    }),
  );

const sanitizeScalar = (value: unknown, redact?: Redact): string | number | undefined => {
  if (typeof value === 'string') return sanitizeLogText(value, redact);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
};

function pickErrorFields(error: unknown, redact?: Redact): Record<string, unknown> | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const parts: ReadonlyMap<string, unknown> = new Map(Object.entries(error));
  return Object.fromEntries(
    ERROR_FIELDS.flatMap((name) => {
      const text = parts.get(name);
      return typeof text === 'string' ? [[name, sanitizeLogText(text, redact)]] : [];
    }),
  );
}

export interface LogOptions {
  /** Removes this process's secrets from every text. */
  readonly redact?: Redact | undefined;
  /** For people instead of JSON. */
  readonly pretty?: { readonly color: boolean } | undefined;
  /** Default: stderr. */
  readonly write?: (line: string) => void;
}

/** JSON lines on stderr; stdout is for the output of commands. */
export function stderrLog(level: string, { redact, pretty, write }: LogOptions = {}): Log {
  const stream = write === undefined ? toStderr() : { write };
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pretty === undefined ? stream : { write: (line: string) => void stream.write(formatPretty(line, pretty.color)) },
  );
  const line =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields: LogFields = {}): void => {
      if (logger.isLevelEnabled(level)) logger[level](pickAllowed(fields, redact), sanitizeLogText(message, redact));
    };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

/** Buffered while stderr is blocked; further lines are dropped. */
const MAX_UNWRITTEN_BYTES = 1 << 20;

function toStderr() {
  const stream = pino.destination({ fd: 2, sync: true, maxLength: MAX_UNWRITTEN_BYTES });
  // On a full disk, every log call would throw and fail its run.
  stream.on('error', () => {});
  return stream;
}

/** A log that adds these fields to every line. */
export function childLog(log: Log, extra: LogFields | (() => LogFields)): Log {
  const fieldsOf = typeof extra === 'function' ? extra : () => extra;
  const line =
    (level: keyof Log) =>
    (message: string, fields?: LogFields): void =>
      log[level](message, { ...fieldsOf(), ...fields });
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
