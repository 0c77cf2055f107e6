/** Names of everything this room keeps in Redis. One hash tag, so that a Cluster holds them together and a script may touch several. */
export interface Keys {
  /** For BullMQ; its queues live under it. */
  readonly bull: string;
  readonly record: (run: string) => string;
  /** What the worker that has the run in hand said last of it. */
  readonly live: (run: string) => string;
  /** Runs by time of creation: all, of an organization, of a report. */
  readonly index: (of?: { readonly org: string; readonly report?: string }) => string;
  /** Ids of all runs in their own order, made when somebody looks for a run by the first digits of its id. */
  readonly ids: string;
  /** The start of the names of the indexes by state, which scripts complete: `<this><of>:<state>`. */
  readonly states: string;
  /** Organizations that have runs, by time of their last one. */
  readonly orgs: string;
  /** Runs that were told to stop and have not ended. */
  readonly cancels: string;
  /** Hash: whose turn it is in line, by organization and priority. */
  readonly turns: string;
  /** Runs that have not ended, by time of creation. */
  readonly unfinished: string;
  /** Sorted set: runs that a command makes itself, by when their lease ends, by the server's clock. */
  readonly inline: string;
  readonly definition: (digest: string) => string;
  /** Hash: report and schedule → epoch ms up to which its slots were looked at. */
  readonly cursors: string;
  /** Hash: report → the version that is in force. */
  readonly versions: string;
  /** Number: grows whenever one of them changes. */
  readonly revision: string;
  /** Set for a day by whoever made the definitions in force last. */
  readonly versionsKept: string;
  /** Hash: timetable → hash of what BullMQ has of it. */
  readonly schedules: string;
  /** Hash: run → why its owner has to be told of its end. */
  readonly notices: string;
  /** Hash: report → slots that were skipped. */
  readonly skipped: string;
  /** Hash: organization or report → why its scheduled runs wait. */
  readonly pauses: string;
  /** Processes by when they last said that they are at work, by the server's clock. */
  readonly present: string;
  /** Hash: when a scheduler last looked at the due slots, and what it could not open. */
  readonly looks: string;
  /** Hash: steps of the wall clock of Redis. */
  readonly redisClock: string;
  /** List: the last pauses and resumptions. */
  readonly pauseHistory: string;
  /** Written again and again to find out whether Redis takes writes. */
  readonly writable: string;
  /** A session of the admin page, by the hash of its id. */
  readonly session: (hash: string) => string;
  /** Stream: who did what over the admin route. */
  readonly audit: string;
}

/** @param prefix in front of every name, with the hash tag in braces, e.g. `{docket}` */
export function keysOf(prefix: string): Keys {
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
    redisClock: `${prefix}:redis-clock`,
    pauses: `${prefix}:pauses`,
    pauseHistory: `${prefix}:pauses:history`,
    writable: `${prefix}:writable`,
    session: (hash) => `${prefix}:session:${hash}`,
    audit: `${prefix}:audit`,
  };
}

/** The prefix unless tests or a shared server ask for another. */
export const DEFAULT_PREFIX = '{docket}';
