/** Names of the keys of the queue and the admin route. They share one hash tag: a script may access several on a Cluster. */
export interface RedisKeys {
  /** BullMQ's prefix. */
  readonly bull: string;
  readonly record: (run: string) => string;
  /** Live progress of a running run, as its worker last reported it. */
  readonly live: (run: string) => string;
  /** Sorted set of runs by creation time: all, of an organization, of a report. */
  readonly index: (of?: { readonly org: string; readonly report?: string }) => string;
  /** Sorted set: ids of all runs in lexical order, built by the first search for an id by its first digits. */
  readonly ids: string;
  /** Prefix of the indexes by state, which scripts complete: `<this><of>:<state>`; `of` as in `index`. */
  readonly states: string;
  /** Sorted set: organizations with runs, by creation time of the latest. */
  readonly orgs: string;
  /** Set: runs whose cancellation was requested and that have not ended. */
  readonly cancels: string;
  /** Hash: next round of fair queueing, by organization and priority. */
  readonly turns: string;
  /** Sorted set: runs that have not ended, by creation time. */
  readonly unfinished: string;
  /** Sorted set: runs executed by a command itself, by expiry of their lease (the server's clock). */
  readonly inline: string;
  readonly definition: (digest: string) => string;
  /** Hash: cursor of a report's schedule → epoch ms up to which its slots were processed. */
  readonly cursors: string;
  /** Hash: report → its active version. */
  readonly versions: string;
  /** Counter: incremented when an active version changes. */
  readonly revision: string;
  /** Exists for a day after the active definitions' expiry was renewed. */
  readonly versionsKept: string;
  /** Hash: timetable → epoch ms at which it was registered with BullMQ. */
  readonly schedules: string;
  /** Hash: run → the pending failure notice to its owner. */
  readonly notices: string;
  /** Hash: report → number of skipped slots. */
  readonly skipped: string;
  /** Hash: organization or report → the pause of its scheduled runs. */
  readonly pauses: string;
  /** Sorted set: processes by their last heartbeat (the server's clock). */
  readonly present: string;
  /** Hash: the schedulers' last scan of due slots. */
  readonly looks: string;
  /** Hash: organization → summary of its recent readings of current counts; rebuilt from the archive. */
  readonly readings: string;
  /** Hash: steps of Redis's wall clock. */
  readonly redisClock: string;
  /** List: the last pauses and resumptions. */
  readonly pauseHistory: string;
  /** Probe: written to check that Redis accepts writes. */
  readonly writable: string;
  /** A session of the admin page, by the hash of its id. */
  readonly session: (hash: string) => string;
  /** Stream: the audit log. */
  readonly audit: string;
}

/** @param prefix of every key, with the hash tag in braces, e.g. `{docket}` */
export function redisKeys(prefix: string): RedisKeys {
  return {
    bull: `${prefix}:bull`,
    record: (run) => `${prefix}:record:${run}`,
    live: (run) => `${prefix}:live:${run}`,
    index: (of) =>
      of === undefined
        ? `${prefix}:index`
        : of.report === undefined
          ? `${prefix}:index:${of.org}`
          : `${prefix}:index:${of.org}/${of.report}`,
    ids: `${prefix}:ids`,
    states: `${prefix}:states:`,
    orgs: `${prefix}:orgs`,
    cancels: `${prefix}:cancels`,
    turns: `${prefix}:turns`,
    unfinished: `${prefix}:unfinished`,
    inline: `${prefix}:inline`,
    definition: (digest) => `${prefix}:definition:${digest}`,
    cursors: `${prefix}:cursors`,
    versions: `${prefix}:versions`,
    revision: `${prefix}:versions:revision`,
    versionsKept: `${prefix}:versions:kept`,
    schedules: `${prefix}:schedules`,
    notices: `${prefix}:notices`,
    skipped: `${prefix}:skipped`,
    present: `${prefix}:present`,
    looks: `${prefix}:looks`,
    readings: `${prefix}:readings`,
    redisClock: `${prefix}:redis-clock`,
    pauses: `${prefix}:pauses`,
    pauseHistory: `${prefix}:pauses:history`,
    writable: `${prefix}:writable`,
    session: (hash) => `${prefix}:session:${hash}`,
    audit: `${prefix}:audit`,
  };
}

/** Tests and shared servers use others. */
export const DEFAULT_KEY_PREFIX = '{docket}';

/** For records of runs, ledger rows and frozen definitions. Ledger rows must outlive the time in which a slot can still be opened. */
export const RETENTION_DAYS = 90;
