import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { errorMessage } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { formatDiagnostic } from '../diagnostics/diagnostic.ts';
import { type DirectoryFingerprint, fingerprintDirectory } from './directory-fingerprint.ts';
import { type Definitions, loadDefinitions } from './load-definitions.ts';
import type { AdmissionCheck, DefinitionParser } from './parse-definitions.ts';

/** The active definitions of this process. They are reloaded when their folder changes. */
export interface DefinitionSource {
  current(): Definitions;
  /** Why the folder cannot be read, in which case the earlier definitions are kept; undefined while it can be read. */
  unreadable?(): { readonly why: string; readonly since: number } | undefined;
  /** Calls `listener` after each reload with changes. Returns the unsubscribe function. */
  onChange(listener: (jobs: Definitions) => void): () => void;
  /**
   * Reloads the folder even without changes, and logs all errors again (SIGHUP). It also accepts an empty folder, which
   * a detected change does not. Never rejects.
   */
  reload(): Promise<void>;
  close(): Promise<void>;
}

/** The pause between two checks of the folder is at least this many times as long as a check. */
const IDLE_SHARE = 20;

/** A source that never changes. */
export const staticDefinitions = (jobs: Definitions): DefinitionSource => ({
  current: () => jobs,
  onChange: () => () => {},
  reload: async () => {},
  close: async () => {},
});

export interface WatchOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly admissionCheck?: AdmissionCheck;
  readonly parser: DefinitionParser;
  /** The state of the folder before `first` was loaded. Absent: the first check loads it again. */
  readonly seen?: DirectoryFingerprint;
  /** Called after each check that leaves the active definitions equal to the folder. */
  readonly onCheck?: () => void;
  /** Ms between checks of the folder, for changes without file system events (network mounts, a link higher up). */
  readonly pollIntervalMs?: number;
  /** How long (ms) nothing must change before the folder is read. */
  readonly debounceMs?: number;
}

/**
 * Watches the folder of `first` until closed. File system events only trigger an earlier check. A reload happens if
 * names, sizes, times or inodes differ, which covers an editor's rename, a replaced link (`..data` of a ConfigMap) and
 * a checkout. The folder must have the same fingerprint before and after reading, otherwise it is read again.
 *
 * A file with errors uses its last known good version, and each new error is logged. A folder that is unreadable or has
 * become empty changes nothing.
 */
export function watchDefinitions(first: Definitions, options: WatchOptions): DefinitionSource {
  const { clock, log, admissionCheck, parser, seen: before, onCheck } = options;
  const { pollIntervalMs = 10_000, debounceMs = 300 } = options;
  const { folder } = first;
  let jobs = first;
  let fingerprint = before;
  let loggedDiagnostics = new Set(first.diagnostics.map(formatDiagnostic));
  let unreadable: { readonly why: string; readonly since: number } | undefined;
  const listeners = new Set<(jobs: Definitions) => void>();
  const closing = new AbortController();
  const watchers = new Map<string, FSWatcher>();

  let wake: () => void = () => {};
  let pendingReloads: (() => void)[] = [];
  let changePending = false;
  /** How long the last check of the folder took, in ms. */
  let tookMs = 0;
  const notify = () => {
    changePending = true;
    wake();
  };

  const watchPath = (path: string, only?: string) => {
    try {
      const watcher = watch(path, { persistent: false }, (_, name) => {
        if (only === undefined || name === null || name === only) notify();
      });
      // The folder was removed, or the system has no free watches: polling continues.
      watcher.on('error', () => watcher.close());
      watchers.set(path, watcher);
    } catch {
      log.debug('Cannot watch a folder of definitions; it is polled instead', { path });
    }
  };
  const watchPaths = (folders: readonly string[]) => {
    const parent = dirname(resolve(folder));
    const paths = new Set([parent, ...folders]);
    for (const [path, watcher] of watchers) {
      watcher.close();
      watchers.delete(path);
    }
    for (const path of paths) watchPath(path, path === parent ? basename(resolve(folder)) : undefined);
  };

  const logDiagnostics = (loaded: Definitions, logAll: boolean): void => {
    const current = new Set<string>();
    for (const diagnostic of loaded.diagnostics) {
      const line = formatDiagnostic(diagnostic);
      current.add(line);
      if (loggedDiagnostics.has(line) && !logAll) continue;
      log.error(`Invalid definition; using the last known good version if there is one: ${line}`, {
        path: diagnostic.file,
      });
    }
    loggedDiagnostics = current;
  };

  const apply = (loaded: Definitions): void => {
    const before = jobs;
    jobs = loaded;
    const changes = changedDefinitions(before, loaded);
    if (changes.length === 0) return;
    log.info('Definitions reloaded', { path: folder, count: loaded.reports.size, why: changes.join(', ') });
    for (const listener of listeners) listener(loaded);
  };

  /** False: the folder changed while it was read. */
  const check = async (forced: boolean): Promise<boolean> => {
    try {
      const began = clock.now();
      const seen = await fingerprintDirectory(folder);
      tookMs = clock.now() - began;
      if (!forced && seen.text === fingerprint?.text) {
        // The folder was not mounted for a while, and is back without changes.
        unreadable = undefined;
        onCheck?.();
        return true;
      }
      const loaded = await loadDefinitions(folder, {
        previous: jobs.lastKnownGood,
        ...(admissionCheck === undefined ? {} : { admissionCheck }),
        parser,
      });
      const after = await fingerprintDirectory(folder);
      if (after.text !== seen.text) return false;
      if (loaded.orgs.size === 0 && loaded.diagnostics.length === 0 && jobs.orgs.size > 0 && !forced) {
        throw new Error('it contains no organization any more; send SIGHUP if this is intended');
      }
      fingerprint = after;
      unreadable = undefined;
      watchPaths(after.directories);
      logDiagnostics(loaded, forced);
      apply(loaded);
      onCheck?.();
    } catch (thrown) {
      const why = errorMessage(thrown);
      if (why !== unreadable?.why || forced) {
        log.error(`Cannot reload the definitions in ${folder}; keeping the current ones`, { path: folder, why });
      }
      unreadable = { why, since: unreadable?.since ?? clock.now() };
    }
    return true;
  };

  const run = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      if (!changePending && pendingReloads.length === 0) await pause(Math.max(pollIntervalMs, tookMs * IDLE_SHARE));
      if (closing.signal.aborted) break;
      // Requests up to this one are served by this check.
      const reloads = pendingReloads;
      pendingReloads = [];
      if (changePending) {
        changePending = false;
        await clock.sleep(debounceMs, closing.signal).catch(() => {});
        if (changePending && reloads.length === 0) continue;
      }
      const isConsistent = await check(reloads.length > 0);
      if (isConsistent) for (const resolve of reloads) resolve();
      else {
        changePending = true;
        pendingReloads.unshift(...reloads);
      }
    }
    for (const resolve of pendingReloads.splice(0)) resolve();
  };
  const pause = (ms: number): Promise<void> => {
    const waking = new AbortController();
    wake = () => waking.abort();
    return clock.sleep(ms, AbortSignal.any([waking.signal, closing.signal])).catch(() => {});
  };

  // Watching begins before the first check, which finds the changes made since the first load.
  if (before !== undefined) watchPaths(before.directories);
  changePending = true;
  const running = run();
  return {
    current: () => jobs,
    unreadable: () => unreadable,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    reload: () =>
      new Promise((resolve) => {
        if (closing.signal.aborted) return resolve();
        pendingReloads.push(resolve);
        wake();
      }),
    close: async () => {
      closing.abort();
      for (const watcher of watchers.values()) watcher.close();
      await running;
    },
  };
}

/** The changes of a reload as text, e.g. `acme/weekly added`; at most 20. */
function changedDefinitions(before: Definitions, after: Definitions): string[] {
  const changes: string[] = [];
  const was = before.reports;
  const is = after.reports;
  for (const [name, { digest }] of is) {
    const last = was.get(name)?.digest;
    if (last === undefined) changes.push(`${name} added`);
    else if (last !== digest) changes.push(`${name} changed`);
  }
  for (const name of was.keys()) if (!is.has(name)) changes.push(`${name} removed`);
  for (const name of after.usingLastKnownGood)
    if (!before.usingLastKnownGood.has(name)) changes.push(`${name} on its last known good version`);
  for (const name of before.usingLastKnownGood)
    if (!after.usingLastKnownGood.has(name)) changes.push(`${name} valid again, or removed`);
  return changes.length > 20 ? [...changes.slice(0, 20), `${changes.length - 20} more`] : changes;
}
