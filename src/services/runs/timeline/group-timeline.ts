import type { TimelineEntry } from './timeline-entry.ts';

/** Steps that are shown as one: those of several deliveries with the same result. */
export interface TimelineGroup {
  /** The first one. */
  readonly head: TimelineEntry;
  /** All of them, `head` included. */
  readonly entries: readonly TimelineEntry[];
}

/** The recipients of a group: one that was attempted twice counts once. */
export const recipientsOf = ({ entries }: TimelineGroup): readonly string[] => [
  ...new Set(entries.flatMap(({ recipient }) => recipient ?? [])),
];

/** Fewer steps are shown one by one. */
const MIN_GROUP_SIZE = 4;

const isOfDelivery = ({ kind }: TimelineEntry): boolean => kind === 'delivery' || kind === 'delivery_decision';

/** The same for all steps of a group. Answers of servers differ in their queue ids, reasons of decisions do not. */
const keyOf = ({ kind, text, by, detail }: TimelineEntry): string =>
  JSON.stringify(kind === 'delivery' ? [kind, text] : [kind, text, by, detail]);

/** Groups the deliveries between two other steps by their result, in the order of their first steps. */
export function groupTimeline(entries: readonly TimelineEntry[]): readonly TimelineGroup[] {
  const groups: TimelineGroup[] = [];
  let open = new Map<string, TimelineEntry[]>();
  const close = (): void => {
    for (const members of open.values()) {
      const [head] = members;
      if (head === undefined) continue;
      if (members.length < MIN_GROUP_SIZE) groups.push(...members.map((entry) => ({ head: entry, entries: [entry] })));
      else groups.push({ head, entries: members });
    }
    open = new Map();
  };
  for (const entry of entries) {
    if (isOfDelivery(entry)) {
      const members = open.get(keyOf(entry)) ?? [];
      members.push(entry);
      open.set(keyOf(entry), members);
      continue;
    }
    close();
    groups.push({ head: entry, entries: [entry] });
  }
  close();
  return groups;
}
