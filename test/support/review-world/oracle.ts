import { z } from 'zod';
import { humanOf, humanOfPrincipal, policyOf } from './reports.ts';
import { bodyHashOf } from './service.ts';
import type { SentMail } from './world.ts';

const eventSchema = z.looseObject({
  seq: z.number(),
  type: z.string(),
  by: z.object({ principal: z.string() }),
  content: z.string().optional(),
  section: z.string().nullish(),
  text: z.string().nullish(),
});
type StoredEvent = z.infer<typeof eventSchema>;

/** What the test itself knows of a run. */
export interface KnownRun {
  readonly digest: string;
  /** Null for a scheduled run. */
  readonly triggeredBy: string | null;
}

export interface Oracle {
  /** The recipients of packs by run, one entry for each message to the mail server. */
  readonly sent: ReadonlyMap<string, readonly string[]>;
  /** Checks a mail when it leaves. Throws if it must not. */
  onMail(mail: SentMail): void;
}

/**
 * Decides whether a pack may leave, from the stored events and the test's own table of people. It shares no code with the
 * code it checks.
 */
export function approvalOracle(files: ReadonlyMap<string, Buffer>, runs: ReadonlyMap<string, KnownRun>): Oracle {
  const sent = new Map<string, string[]>();
  const eventsOf = (run: string): StoredEvent[] => {
    const folder = `.reviews/acme/weekly/${run}/events/`;
    const names = [...files.keys()].filter((name) => name.startsWith(folder)).sort();
    return names.map((name) => eventSchema.parse(JSON.parse(String(files.get(name)))));
  };
  return {
    sent,
    onMail: ({ to, raw }) => {
      const [, run = ''] = /^X-Docket-Run: ([0-9a-f]{32})/m.exec(raw) ?? [];
      const [, body] = /BODY ([0-9a-f]{64})/.exec(raw) ?? [];
      const known = runs.get(run);
      if (known === undefined) throw new Violation(`a mail of the unknown run ${run}`);
      if (body === undefined) {
        if (raw.includes('filename=kpis.csv')) throw new Violation(`a notice of ${run} has a file`);
        return;
      }
      sent.set(run, [...(sent.get(run) ?? []), to]);
      const pack = String(files.get(`acme/weekly/${run}/files/kpis.csv`));
      if (bodyHashOf(pack) !== body)
        throw new Violation(`${run} was sent with other figures than it was published with`);
      const policy = policyOf(known.digest);
      if (policy === undefined) return;
      const events = eventsOf(run);
      const seal = events.findLastIndex(({ type }) => type === 'seal');
      const { content } = events[seal] ?? {};
      if (content === undefined) throw new Violation(`${run} was sent without a seal`);
      const reviewed = files.get(`.reviews/acme/weekly/${run}/content/${content}/files/kpis.csv`);
      if (reviewed === undefined || bodyHashOf(String(reviewed)) !== body) {
        throw new Violation(`${run} was sent with other content than was reviewed`);
      }
      const before = events.slice(0, seal);
      const changed = before.findLastIndex(({ type }) => type === 'figures' || type === 'comment');
      const decided = before.slice(changed + 1).filter((event) => event.content === content);
      const approvedBy = new Set(
        decided.flatMap(({ type, by }) => (type === 'approve' ? [humanOfPrincipal(by.principal)] : [])),
      );
      for (const human of approvedBy) if (!policy.approvers.includes(human)) approvedBy.delete(human);
      if (policy.fourEyes) {
        if (known.triggeredBy !== null) approvedBy.delete(humanOf(known.triggeredBy));
        for (const human of printedAuthors(before)) approvedBy.delete(human);
      }
      if (approvedBy.size < policy.need) {
        throw new Violation(`${run} was sent with the approval of ${[...approvedBy].join(', ') || 'nobody'}`);
      }
      const rejected = decided.some(
        ({ type, by }) => type === 'reject' && policy.approvers.includes(humanOfPrincipal(by.principal)),
      );
      if (rejected || events.some(({ type }) => type === 'cancel'))
        throw new Violation(`${run} was sent after its end`);
    },
  };
}

export class Violation extends Error {}

/** The author of the last version of each printed comment. */
function printedAuthors(events: readonly StoredEvent[]): readonly string[] {
  const last = new Map<string, StoredEvent>();
  for (const event of events) if (event.type === 'comment') last.set(event.section ?? '', event);
  return [...last.values()].flatMap(({ text, by }) => (text == null ? [] : [humanOfPrincipal(by.principal)]));
}
