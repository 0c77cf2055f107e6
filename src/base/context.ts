import { readFileSync } from 'node:fs';
import type { SteadyClock } from './clock.ts';
import type { Config } from './config/config.ts';
import type { Log } from './log.ts';
import type { Redact, Redactor } from './secrets/redactor.ts';
import type { Trace } from './trace.ts';

/** The environment of a process, read once at its start. Every composition begins with it. */
export interface AppContext {
  readonly config: Config;
  /** Environment variables that `env` secret references name. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: SteadyClock;
  readonly log: Log;
  /** Registers each secret that is read, so that the log can redact it. */
  readonly registerSecret?: Redactor['registerSecret'];
  /** Redacts registered secrets in text that leaves the process in other ways than the log. */
  readonly redact?: Redact;
  /** Absent: no spans are created. */
  readonly trace?: Trace;
  /** The private Redis to use instead of `REDIS_URL`, by its socket. false: none may be joined. */
  readonly redis?: { readonly path: string } | false;
  /** Files that give people access. Absent: none. */
  readonly accessFiles?: readonly string[];
  /** Base folder for relative paths of directory deliveries. Absent: the process's working directory. */
  readonly workingDirectory?: string;
}

/** The version in package.json. */
export function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown';
}
