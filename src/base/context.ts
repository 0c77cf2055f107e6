import { readFileSync } from 'node:fs';
import type { SteadyClock } from './clock.ts';
import type { Config } from './config/config.ts';
import type { Log } from './log.ts';
import type { Redact, Redactor } from './secrets/redactor.ts';
import type { Trace } from './trace.ts';

/** The environment of a process, read once at its start. Every composition starts from it. */
export interface AppContext {
  readonly config: Config;
  /** Environment variables that secret references of kind `env` name. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: SteadyClock;
  readonly log: Log;
  /** Registers each secret that is read, so that the log can redact it. */
  readonly registerSecret?: Redactor['registerSecret'];
  /** Redacts registered secrets from text that leaves the process by another way than the log. */
  readonly redact?: Redact;
  /** Absent: no spans are created. */
  readonly trace?: Trace;
  /** The private Redis that is used instead of `REDIS_URL`, by its socket; false: none may be joined. */
  readonly redis?: { readonly path: string } | false;
  /** Files of features that give people access; absent: none. */
  readonly accessFiles?: readonly string[];
  /** Base of the relative paths of directory deliveries; the working directory of the process when absent. */
  readonly workingDirectory?: string;
}

/** The version in package.json. */
export function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown';
}
