import { pino } from 'pino';
import type { ErrorJson } from './error.ts';

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
  error?: ErrorJson;
}

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const ALLOWED: ReadonlySet<string> = new Set<keyof LogFields>([
  'run',
  'org',
  'report',
  'slot',
  'stage',
  'call',
  'target',
  'delivery',
  'state',
  'status',
  'ms',
  'count',
  'until',
  'why',
  'event',
  'who',
  'from',
  'url',
  'role',
  'path',
  'key',
  'correlation_id',
  'error',
]);

// The type already refuses other fields; this holds at run time too, where a cast or a spread could slip one in.
const allowed = (fields: LogFields = {}) =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => ALLOWED.has(name) && value !== undefined));

/** JSON lines on stderr: stdout belongs to what a command prints. */
export function stderrLog(level: string): Log {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ fd: 2, sync: true }),
  );
  return {
    debug: (message, fields) => logger.debug(allowed(fields), message),
    info: (message, fields) => logger.info(allowed(fields), message),
    warn: (message, fields) => logger.warn(allowed(fields), message),
    error: (message, fields) => logger.error(allowed(fields), message),
  };
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
