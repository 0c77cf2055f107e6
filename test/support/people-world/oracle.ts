import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** The reports of the model: who is named, and who may approve. People have the names of their tokens. */
export interface KnownReport {
  readonly report: string;
  readonly to: readonly string[];
  readonly approval: { readonly by: readonly string[]; readonly need: number } | undefined;
}
/** The person who may name deputies for others. */
export const MAY_DELEGATE = 'ops';

/** What the test knows of a run. */
export interface KnownRun {
  readonly report: KnownReport;
  readonly by: string;
  /** The run that it corrects. */
  readonly corrects: string | undefined;
}

/** A message that the mail server accepted. */
export interface AcceptedMail {
  readonly to: string;
  readonly raw: string;
}

const eventSchema = z.looseObject({
  seq: z.number(),
  type: z.string(),
  by: z.object({ person: z.string() }),
  content: z.string().optional(),
  text: z.string().nullish(),
  section: z.string().nullish(),
  from: z.string().optional(),
  to: z.string().optional(),
  /** The address of `recipient`; the number of that event for `admit`. */
  recipient: z.union([z.string(), z.number()]).optional(),
  admitted: z.boolean().optional(),
});
type StoredEvent = z.infer<typeof eventSchema>;

/** What people have ordered and confirmed. The test records it as it happens. */
export interface Ordered {
  readonly runs: Map<string, KnownRun>;
  /** Whether deliveries are stopped. */
  stopped: boolean;
  /** Addresses and domains in lower case. */
  readonly denied: Set<string>;
  /** `<run> <address>` for replaced addresses. */
  readonly replaced: Set<string>;
  /** `<run> <address>` for requested additions. */
  readonly added: Set<string>;
  /** The number of decisions per `<run> <address>` to resend what may have arrived. */
  readonly resent: Map<string, number>;
  /** Runs for which a correction was opened. */
  readonly corrected: Set<string>;
}

export const isDenied = (to: string, denied: ReadonlySet<string>): boolean =>
  denied.has(to) || denied.has(to.slice(to.indexOf('@') + 1));

/**
 * Judges each message when the mail server accepts it, from what people have ordered and from the stored events. It shares
 * no code with the code it checks.
 *
 * @param archive folder
 */
export function peopleOracle(archive: string, ordered: Ordered) {
  const accepted = new Map<string, number>();
  const violations: string[] = [];
  const met = new Map<string, number>();
  const count = (what: string): void => void met.set(what, (met.get(what) ?? 0) + 1);
  const times = (run: string, to: string): number => accepted.get(`${run} ${to}`) ?? 0;

  const eventsOf = (report: string, run: string): StoredEvent[] => {
    const folder = join(archive, '.reviews', 'acme', report, run, 'events');
    try {
      return readdirSync(folder)
        .filter((name) => name.endsWith('.json'))
        .map((name) => eventSchema.parse(JSON.parse(readFileSync(join(folder, name), 'utf8'))))
        .sort((one, other) => one.seq - other.seq);
    } catch {
      return [];
    }
  };

  /** The seats that these people fill: an approver's own, or that of the approver they are deputy for. */
  const seats = (
    events: readonly StoredEvent[],
    votes: readonly StoredEvent[],
    approvers: readonly string[],
    involved: ReadonlySet<string>,
  ): ReadonlySet<string> => {
    const found = new Set<string>();
    for (const { by, seq } of votes) {
      const { person } = by;
      if (approvers.includes(person)) {
        if (!involved.has(person)) found.add(person);
        continue;
      }
      const typists = events.flatMap((event) => (event.type === 'recipient' ? [event.by.person] : []));
      const newest = new Map<string, StoredEvent>();
      for (const event of events) {
        const { type, from = '' } = event;
        const isByRight = event.by.person === from || event.by.person === MAY_DELEGATE;
        if (type === 'delegate' && event.seq < seq && approvers.includes(from) && isByRight) newest.set(from, event);
      }
      for (const [from, { to, by: delegator }] of newest) {
        const isFree = ![from, person].some((each) => involved.has(each)) && !typists.includes(person);
        if (to === person && isFree && delegator.person !== person) {
          found.add(from);
          count('voted as deputy');
        }
      }
    }
    return found;
  };

  /** Why the content of a run must not leave; undefined if it may. */
  const contentFault = (run: string, { report: { report, approval }, by }: KnownRun): string | undefined => {
    if (approval === undefined) return undefined;
    const events = eventsOf(report, run);
    const sealed = events.findLastIndex(({ type }) => type === 'seal');
    const content = events[sealed]?.content;
    if (content === undefined) return 'without a seal';
    const before = events.slice(0, sealed);
    const changed = before.findLastIndex(({ type }) => type === 'figures' || type === 'comment');
    const votes = before.slice(changed + 1).filter((event) => event.type === 'approve' && event.content === content);
    const got = seats(before, votes, approval.by, new Set([by, ...authorsOf(before)]));
    return got.size < approval.need ? `with the approval of ${[...got].join(', ') || 'nobody'}` : undefined;
  };

  /**
   * Whether a run may go to an address that the definition does not name: enough people added it to this run, or to the run
   * that it corrects.
   */
  const isAdmitted = (run: string, to: string): boolean => {
    const known = ordered.runs.get(run);
    if (known === undefined) return false;
    const { corrects } = known;
    if (corrects !== undefined && isAdmitted(corrects, to)) return true;
    const { approval, report } = known.report;
    if (approval === undefined || !ordered.added.has(`${run} ${to}`)) return ordered.added.has(`${run} ${to}`);
    const events = eventsOf(report, run);
    const involved = new Set([known.by, ...authorsOf(events)]);
    return events.some((proposal) => {
      if (proposal.type !== 'recipient' || proposal.recipient !== to) return false;
      const votes = events.filter(
        ({ type, recipient, admitted }) => type === 'admit' && recipient === proposal.seq && admitted === true,
      );
      return seats(events, votes, approval.by, new Set([...involved, proposal.by.person])).size >= approval.need;
    });
  };

  return {
    violations,
    met,
    count,
    times,
    /** @param wasOpen whether the run was not being corrected when the message began to leave */
    onMail: ({ to, raw }: AcceptedMail, wasOpen: (run: string) => boolean): void => {
      const [, run = ''] = /^X-Docket-Run: ([0-9a-f]{32})/m.exec(raw) ?? [];
      if (!/BODY [0-9a-f]{64}/.test(raw)) {
        count('notice');
        return;
      }
      const known = ordered.runs.get(run);
      const fault = (what: string): void => void violations.push(`${to} got ${run}, ${what}`);
      if (known === undefined) {
        fault('which nobody has triggered');
        return;
      }
      const before = times(run, to);
      accepted.set(`${run} ${to}`, before + 1);
      if (before > (ordered.resent.get(`${run} ${to}`) ?? 0)) fault(`for the ${before + 1}. time`);
      if (ordered.stopped) fault('while deliveries were stopped');
      if (isDenied(to, ordered.denied)) fault('and is denied');
      if (ordered.replaced.has(`${run} ${to}`)) fault('and was replaced');
      if (ordered.corrected.has(run) && !wasOpen(run)) fault('which a corrected edition replaces');
      const { corrects, report } = known;
      const isNamed = report.to.includes(to);
      if (!isNamed && !isAdmitted(run, to)) fault('and nobody asked for that, or too few people approved it');
      const content = contentFault(run, known);
      if (content !== undefined) fault(content);
      count(report.approval === undefined ? 'sent' : 'sent with approval');
      if (!isNamed) count(report.approval === undefined ? 'added' : 'added with approval');
      if (corrects === undefined) return;
      const isMarked = /^Subject: Corrected/m.test(raw);
      count(isMarked ? 'marked' : 'unmarked');
      const hadFirst = times(corrects, to) > 0 && !ordered.resent.has(`${corrects} ${to}`);
      if (!isMarked && hadFirst) fault('without the mark of a corrected edition');
    },
  };
}
export type PeopleOracle = ReturnType<typeof peopleOracle>;

/** The authors of all comment versions that are printed. */
function authorsOf(events: readonly StoredEvent[]): readonly string[] {
  const authors = new Map<string, string[]>();
  for (const { type, section, text, by } of events) {
    if (type !== 'comment') continue;
    const key = section ?? '';
    if (text == null) authors.delete(key);
    else authors.set(key, [...(authors.get(key) ?? []), by.person]);
  }
  return [...authors.values()].flat();
}
