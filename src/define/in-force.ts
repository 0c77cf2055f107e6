import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { formatFault } from './fault.ts';
import { type FolderPrint, printOf } from './folder-print.ts';
import { type Jobs, loadJobs } from './load.ts';
import type { DefinitionReader } from './reader.ts';
import type { Refuse } from './report-of.ts';

/** The definitions that this process goes by: those of the folder, read again when it changes. */
export interface JobsInForce {
  now(): Jobs;
  /** Calls `listener` after each reload that changed something; returns how to stop that. */
  changed(listener: (jobs: Jobs) => void): () => void;
  /**
   * Reads the folder again whether or not it looks changed, and says all its faults again: what SIGHUP does. Unlike a
   * change that was merely seen, it takes an empty folder at its word. Resolves when it is done; never rejects.
   */
  reload(): Promise<void>;
  close(): Promise<void>;
}

/** Definitions that stay as they are. */
export const fixedJobs = (jobs: Jobs): JobsInForce => ({
  now: () => jobs,
  changed: () => () => {},
  reload: async () => {},
  close: async () => {},
});

export interface WatchOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly refuse?: Refuse;
  /** In this thread, where nothing is said. */
  readonly reader?: DefinitionReader;
  /** Told after each look that found, or made, what is in force to be what the folder says. */
  readonly looked?: () => void;
  /** Ms between two looks at the folder: what the system does not tell of (network mounts, a link further up). */
  readonly everyMs?: number;
  /** Ms without a further change before the folder is read: who writes ten files has written all of them then. */
  readonly quietMs?: number;
}

/**
 * Watches the folder of `first` until it is closed. The system's news of changes only make it look sooner; what decides is
 * whether names, sizes, times or inodes differ, so that an editor's rename, a link turned over (`..data` of a ConfigMap)
 * or a checkout beside it are seen alike. The folder must look the same before and after it was read: a half-written
 * one is read again.
 *
 * A file that has faults goes on as its last good text says; each new fault is logged as an error. A folder that cannot
 * be read, or has become empty, changes nothing.
 */
export function watchJobs(first: Jobs, options: WatchOptions): JobsInForce {
  const { clock, log, refuse, reader, looked, everyMs = 10_000, quietMs = 300 } = options;
  const { folder } = first;
  let jobs = first;
  let print: FolderPrint | undefined;
  let said = new Set(first.faults.map(formatFault));
  let unreadable: string | undefined;
  const listeners = new Set<(jobs: Jobs) => void>();
  const closing = new AbortController();
  const watchers = new Map<string, FSWatcher>();

  let wake: () => void = () => {};
  let asked: (() => void)[] = [];
  let heard = false;
  const hear = () => {
    heard = true;
    wake();
  };

  const listen = (path: string, only?: string) => {
    try {
      const watcher = watch(path, { persistent: false }, (_, name) => {
        if (only === undefined || name === null || name === only) hear();
      });
      // A folder that goes, or a system out of watches: the regular look remains.
      watcher.on('error', () => watcher.close());
      watchers.set(path, watcher);
    } catch {
      log.debug('A folder of definitions cannot be watched; it is looked at now and then', { path });
    }
  };
  const listenTo = (folders: readonly string[]) => {
    const parent = dirname(resolve(folder));
    const wanted = new Set([parent, ...folders]);
    for (const [path, watcher] of watchers) {
      watcher.close();
      watchers.delete(path);
    }
    for (const path of wanted) listen(path, path === parent ? basename(resolve(folder)) : undefined);
  };

  const say = (loaded: Jobs, again: boolean): void => {
    const now = new Set<string>();
    for (const fault of loaded.faults) {
      const line = formatFault(fault);
      now.add(line);
      if (said.has(line) && !again) continue;
      log.error(`A definition has a fault; its last good version, if there is one, stays in force: ${line}`, {
        path: fault.file,
      });
    }
    said = now;
  };

  const take = (loaded: Jobs): void => {
    const before = jobs;
    jobs = loaded;
    const news = difference(before, loaded);
    if (news.length === 0) return;
    log.info('Definitions were read again', { path: folder, count: loaded.reports.size, why: news.join(', ') });
    for (const listener of listeners) listener(loaded);
  };

  /** True: the folder was read whole. */
  const look = async (forced: boolean): Promise<boolean> => {
    try {
      const seen = await printOf(folder);
      if (!forced && seen.text === print?.text) {
        looked?.();
        return true;
      }
      const loaded = await loadJobs(folder, {
        before: jobs.good,
        ...(refuse === undefined ? {} : { refuse }),
        ...(reader === undefined ? {} : { reader }),
      });
      const after = await printOf(folder);
      if (after.text !== seen.text) return false;
      if (loaded.orgs.size === 0 && loaded.faults.length === 0 && jobs.orgs.size > 0 && !forced) {
        throw new Error('it holds no organization any more; send SIGHUP if that is meant');
      }
      print = after;
      unreadable = undefined;
      listenTo(after.folders);
      say(loaded, forced);
      take(loaded);
      looked?.();
    } catch (thrown) {
      const error = toDocketError(thrown);
      if (error.message !== unreadable || forced) {
        log.error(`The definitions stay as they are: ${folder} was not read again`, {
          path: folder,
          why: error.message,
        });
      }
      unreadable = error.message;
    }
    return true;
  };

  const run = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      if (!heard && asked.length === 0) await pause(everyMs);
      if (closing.signal.aborted) break;
      // What comes meanwhile is seen by this look.
      const answered = asked;
      asked = [];
      if (heard) {
        heard = false;
        await clock.sleep(quietMs, closing.signal).catch(() => {});
        if (heard && answered.length === 0) continue;
      }
      const whole = await look(answered.length > 0);
      if (whole) for (const answer of answered) answer();
      else {
        heard = true;
        asked.unshift(...answered);
      }
    }
    for (const answer of asked.splice(0)) answer();
  };
  const pause = (ms: number): Promise<void> => {
    const waking = new AbortController();
    wake = () => waking.abort();
    return clock.sleep(ms, AbortSignal.any([waking.signal, closing.signal])).catch(() => {});
  };

  // What was written between the first reading and the first watch is found by comparing with what was read.
  heard = true;
  const running = run();
  return {
    now: () => jobs,
    changed: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    reload: () =>
      new Promise((resolve) => {
        if (closing.signal.aborted) return resolve();
        asked.push(resolve);
        wake();
      }),
    close: async () => {
      closing.abort();
      for (const watcher of watchers.values()) watcher.close();
      await running;
    },
  };
}

/** What a reload changed, in words: `acme/weekly added`; many as their number. */
function difference(before: Jobs, after: Jobs): string[] {
  const news: string[] = [];
  for (const [name, { digest }] of after.reports) {
    const was = before.reports.get(name)?.digest;
    if (was === undefined) news.push(`${name} added`);
    else if (was !== digest) news.push(`${name} changed`);
  }
  for (const name of before.reports.keys()) if (!after.reports.has(name)) news.push(`${name} removed`);
  for (const name of after.kept) if (!before.kept.has(name)) news.push(`${name} on its last good version`);
  for (const name of before.kept) if (!after.kept.has(name)) news.push(`${name} without a fault, or gone`);
  return news.length > 20 ? [...news.slice(0, 20), `${news.length - 20} more`] : news;
}
