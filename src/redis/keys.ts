/** Selects the runs of an organization, or of one of its reports. */
export interface RunScope {
  readonly org: string;
  readonly report?: string;
}

const scopeName = ({ org, report }: RunScope): string => (report === undefined ? org : `${org}/${report}`);

/**
 * Names of the keys of the queue and the admin route. They share one hash tag: a script may access several on a Cluster.
 *
 * @param prefix of every key, with the hash tag in braces, e.g. `{docket}`
 */
export function redisKeys(prefix: string) {
  return {
    /** BullMQ's prefix. */
    bull: `${prefix}:bull`,
    record: (run: string) => `${prefix}:record:${run}`,
    /** Live progress of a running run, as its worker last reported it. */
    live: (run: string) => `${prefix}:live:${run}`,
    /** Sorted set of runs by creation time: of everything, of an organization, or of a report. */
    index: (of?: RunScope) => `${prefix}:index${of === undefined ? '' : `:${scopeName(of)}`}`,
    /** Sorted set: ids of all runs in lexical order. The first search for an id by its first digits builds it. */
    ids: `${prefix}:ids`,
    /** Prefix of the indexes by state, which scripts complete: `<this><of>:<state>`, with `of` as in `index`. */
    states: `${prefix}:states:`,
    statesOf: (of: RunScope | undefined, state: string) =>
      `${prefix}:states:${of === undefined ? '' : scopeName(of)}:${state}`,
    /** Sorted set: organizations with runs, by creation time of their latest run. */
    orgs: `${prefix}:orgs`,
    /** Sorted set: reports with runs (`org/report`), by creation time of their latest run. */
    reports: `${prefix}:reports`,
    /** Sorted set: days on which periods of runs begin, scored by the day as a number, e.g. 20261001. */
    firstDays: `${prefix}:first-days`,
    /**
     * Sorted set by creation time: runs whose period begins on this day (YYYY-MM-DD), of one organization or of all.
     */
    beginsOn: (day: string, org = '') => `${prefix}:begins:${org}:${day}`,
    /** Sorted set: recipients (`org/recipient`, lower case), by the time of their latest delivery. */
    recipients: `${prefix}:recipients`,
    /** Lock of the process that builds the search indexes. */
    indexing: `${prefix}:indexing`,
    /** Sorted set by creation time: runs with a delivery to this recipient, `org/recipient`. */
    deliveredTo: (recipient: string) => `${prefix}:to:${recipient}`,
    /** Set: runs whose cancellation was requested and that have not ended. */
    cancels: `${prefix}:cancels`,
    /** Hash: next round of fair queueing, by organization and priority. */
    turns: `${prefix}:turns`,
    /** Sorted set: an organization's scheduled runs, in the order in which readers expect them, until they start. */
    order: (org: string) => `${prefix}:order:${org}`,
    /** Sorted set: runs that have not ended, by creation time. */
    unfinished: `${prefix}:unfinished`,
    /** Sorted set: runs that a command itself executes, by expiry of their lease (the server's clock). */
    inline: `${prefix}:inline`,
    definition: (digest: string) => `${prefix}:definition:${digest}`,
    /** Hash: cursor of a report's schedule → epoch ms up to which its slots were processed. */
    cursors: `${prefix}:cursors`,
    /** Hash: report → its active version. */
    versions: `${prefix}:versions`,
    /** Counter: incremented when an active version changes. */
    revision: `${prefix}:versions:revision`,
    /** Exists for a day after the active definitions' expiry was renewed. */
    versionsKept: `${prefix}:versions:kept`,
    /** Hash: timetable → epoch ms at which it was registered with BullMQ. */
    schedules: `${prefix}:schedules`,
    /** Hash: run → the pending notice to its owner. */
    notices: `${prefix}:notices`,
    /** Hash: report → number of skipped slots. */
    skipped: `${prefix}:skipped`,
    /** Sorted set: processes by their last heartbeat (the server's clock). */
    present: `${prefix}:present`,
    /** Set: names of the processes that have reported their state. */
    processes: `${prefix}:processes`,
    processReport: (self: string) => `${prefix}:process:${self}`,
    /** The largest number of reports that a process had within a day. */
    reportPeak: `${prefix}:reports-peak`,
    /** Hash: the schedulers' last scan of due slots. */
    looks: `${prefix}:looks`,
    /** Hash: organization → summary of its recent readings of current counts; rebuilt from the archive. */
    readings: `${prefix}:readings`,
    /** Hash: run → epoch ms at which its delivered figures were last compared with the service's. */
    correctionChecks: `${prefix}:corrections:checks`,
    /** Exists while a process compares the figures of the run. */
    correctionClaim: (run: string) => `${prefix}:corrections:claim:${run}`,
    /** Hash: organization → its watched editions and open corrections; rebuilt from the archive. */
    corrections: `${prefix}:corrections`,
    /**
     * Exists once the owner of a report was notified on this day (YYYY-MM-DD) that it is late. `report` is
     * `org/report`.
     */
    lateNotice: (report: string, day: string) => `${prefix}:late:${report}:${day}`,
    /** Hash: run of a future slot → state of its preparation. */
    preparations: `${prefix}:preparations`,
    /** Exists while a process makes calls for the run before its slot. */
    preparationClaim: (run: string) => `${prefix}:preparations:claim:${run}`,
    /** Exists for a day after a process, while preparing, reported that the service refuses the key. By fingerprint. */
    preparationRefusal: (key: string) => `${prefix}:preparations:refused:${key}`,
    /** Hash: run of a slot on this day (YYYY-MM-DD) → when a forecast expected it to be delivered. */
    forecasts: (day: string) => `${prefix}:forecasts:${day}`,
    /** Hash: the day's runs whose forecast was compared, and the sum of its errors, ms. */
    forecastErrors: (day: string) => `${prefix}:forecasts:errors:${day}`,
    /** Exists while a process makes the forecasts of the next minutes. */
    forecastClaim: `${prefix}:forecasts:claim`,
    /** Hash: steps of Redis's wall clock. */
    redisClock: `${prefix}:redis-clock`,
    /** Hash: organization or report → the pause of its scheduled runs. */
    pauses: `${prefix}:pauses`,
    /** List: the latest pauses and resumptions. */
    pauseHistory: `${prefix}:pauses:history`,
    /** Stops and legal holds, as in the archive: JSON with a version. */
    switches: `${prefix}:switches`,
    /** Exists while `switches` need not be compared with the archive. */
    switchesFresh: `${prefix}:switches:fresh`,
    /** Exists while no legal hold is known to be on. Without it, no index drops entries. */
    unheld: `${prefix}:switches:unheld`,
    /** The deny list, as in the archive: JSON with a version. */
    denied: `${prefix}:denied`,
    /** Exists while `denied` need not be compared with the archive. */
    deniedFresh: `${prefix}:denied:fresh`,
    /** Probe: written to test whether Redis accepts writes. */
    writable: `${prefix}:writable`,
    /**
     * A session of the admin page, by the hash of its id. Beside it are `:account` (encrypted) and `:refresh` (in
     * progress).
     */
    session: (hash: string) => `${prefix}:session:${hash}`,
    /** Hash: runs or deliveries that somebody previewed to decide on them together, and the results. */
    selection: (digest: string) => `${prefix}:selection:${digest}`,
    /** Exists while a process carries out the decision on a selection. */
    selectionClaim: (digest: string) => `${prefix}:selection:${digest}:claim`,
    /** Stream: the audit log. */
    audit: `${prefix}:audit`,
  };
}
export type RedisKeys = ReturnType<typeof redisKeys>;

/** Tests and shared servers use other prefixes. */
export const DEFAULT_KEY_PREFIX = '{docket}';

/**
 * How long run records, ledger rows and frozen definitions are kept, in days. Ledger rows must outlive the time in
 * which a slot can still be opened.
 */
export const RETENTION_DAYS = 90;
