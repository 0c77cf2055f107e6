import { pino } from 'pino';
import type { ErrorJson } from './error.ts';
import { formatPretty } from './text/log-pretty.ts';

/** Names of the text fields of a log line. */
const TEXT_FIELDS = [
  'run',
  'org',
  'report',
  'slot',
  'stage',
  'call',
  'target',
  'delivery',
  'state',
  'until',
  'why',
  /** Name of the event in the audit log. */
  'event',
  /** Name of the admin token or of the person. */
  'who',
  /** Issuer and subject of a company account. */
  'account',
  /** Client address. */
  'from',
  'url',
  /** Role of the process: worker, scheduler, admin. */
  'role',
  'path',
  'key',
  'correlation_id',
  /** The trace's id, if traces are exported. */
  'trace_id',
] as const;
/** Number fields. `of`: the total, for `count` or `attempt`. `attempt` counts from 1. */
const NUMBER_FIELDS = ['status', 'ms', 'count', 'of', 'attempt'] as const;

/** The allowed fields of a log line. All others are dropped. */
export type LogFields = { [Name in (typeof TEXT_FIELDS)[number]]?: string } & {
  [Name in (typeof NUMBER_FIELDS)[number]]?: number;
} & { error?: ErrorJson };

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const ALLOWED_FIELDS: ReadonlySet<string> = new Set([...TEXT_FIELDS, ...NUMBER_FIELDS, 'error']);

const ERROR_FIELDS = Object.keys({
  code: true,
  message: true,
  expected: true,
  got: true,
  where: true,
  next: true,
  correlation_id: true,
  // Without `delivered`, which is not text. The message has its content.
} satisfies Record<Exclude<keyof ErrorJson, 'delivered'>, true>);

type Redact = (text: string) => string;

// Filters at run time too, because casts and spreads may pass other fields.
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
  /** Formats lines for people instead of as JSON. */
  readonly pretty?: { readonly color: boolean } | undefined;
  /** Default: stderr. */
  readonly write?: (line: string) => void;
}

/** Logs JSON lines to stderr, because stdout is for the output of commands. */
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

/** Most bytes to buffer while stderr is blocked. Further lines are dropped. */
const MAX_UNWRITTEN_BYTES = 1 << 20;

function toStderr() {
  const stream = pino.destination({ fd: 2, sync: true, maxLength: MAX_UNWRITTEN_BYTES });
  // Otherwise, on a full disk, every log call would throw and fail its run.
  stream.on('error', () => {});
  return stream;
}

/** A log that adds these fields to every line. */
export function childLog(log: Log, extra: LogFields | (() => LogFields)): Log {
  const getExtraFields = typeof extra === 'function' ? extra : () => extra;
  const line =
    (level: keyof Log) =>
    (message: string, fields?: LogFields): void =>
      log[level](message, { ...getExtraFields(), ...fields });
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Limit per value: a server's response must not fill the log. */
const MAX_CHARACTERS = 1_000;

/** Terminal controls, line ends and direction controls. */
const CONTROL_CHARACTERS = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

const URL_PATTERN = /\b([a-z][a-z0-9+.-]*:\/\/)(?:[^\s?#"<>]*@)?([^\s?#"<>]*)(\?[^\s#"<>]*)?(#[^\s"<>]*)?/gi;

/**
 * Makes any text safe for a log line: removes known secrets, and user, password, query and fragment of URLs; escapes
 * control characters, which prevents forged lines; truncates to a thousand characters.
 */
export function sanitizeLogText(text: string, redact: (text: string) => string = (same) => same): string {
  // Secrets first, because a truncated or escaped secret would not be found.
  const redacted = redact(text);
  const short =
    redacted.length > MAX_CHARACTERS
      ? `${redacted.slice(0, MAX_CHARACTERS).replace(/\p{Surrogate}$/u, '')}…`
      : redacted;
  const stripped = short.includes('://') ? short.replace(URL_PATTERN, stripUrl) : short;
  return stripped.replace(CONTROL_CHARACTERS, escapeCharacter);
}

const stripUrl = (_all: string, scheme: string, hostAndPath: string, query?: string): string =>
  `${scheme}${hostAndPath}${query === undefined ? '' : '?…'}`;

function escapeCharacter(character: string): string {
  const quoted = JSON.stringify(character).slice(1, -1);
  return quoted === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : quoted;
}
