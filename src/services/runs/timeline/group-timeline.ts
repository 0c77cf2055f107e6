import type { TimelineEntry } from './timeline-entry.ts';

/** Steps shown as one: those of several deliveries with the same result. */
export interface TimelineGroup {
  /** The group's first step. */
  readonly head: TimelineEntry;
  /** All steps, including `head`. */
  readonly entries: readonly TimelineEntry[];
}

/** A group's recipients. A recipient with two attempts counts once. */
export const collectRecipients = ({ entries }: TimelineGroup): readonly string[] => [
  ...new Set(entries.flatMap(({ recipient }) => recipient ?? [])),
];

/** Fewer steps are shown individually. */
const MIN_GROUP_SIZE = 4;

const isOfDelivery = ({ kind }: TimelineEntry): boolean => kind === 'delivery' || kind === 'delivery_decision';

/**
 * Equal for all steps of a group. Server replies are left out, because their queue ids differ; reasons of decisions are
 * included.
 */
const keyOf = ({ kind, text, by, detail }: TimelineEntry): string =>
  JSON.stringify(kind === 'delivery' ? [kind, text] : [kind, text, by, detail]);

/** Groups deliveries between two other steps by their result, in the order of their first steps. */
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
