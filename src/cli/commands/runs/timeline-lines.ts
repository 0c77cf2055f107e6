import { formatCounted, formatElapsed } from '../../../admin/page/components/format-numbers.ts';
import { groupTimeline, recipientsOf, type TimelineGroup } from '../../../services/runs/timeline/group-timeline.ts';
import type { TimelineEntry } from '../../../services/runs/timeline/timeline-entry.ts';
import type { LocalTimes } from '../../terminal/local-times.ts';

/** One line per step; several deliveries with the same result are one, except with `wide`. */
export function timelineLines(
  entries: readonly TimelineEntry[],
  { wide, times }: { readonly wide: boolean; readonly times: LocalTimes },
): string[] {
  const groups: readonly TimelineGroup[] = wide
    ? entries.map((entry) => ({ head: entry, entries: [entry] }))
    : groupTimeline(entries);
  const moments = groups.map(({ head }) => momentOf(head, times));
  const width = Math.max(0, ...moments.map((moment) => moment.length));
  return groups.map((group, index) => `  ${(moments[index] ?? '').padEnd(width)}  ${stepText(group, times)}`);
}

function momentOf({ at, kind }: TimelineEntry, times: LocalTimes): string {
  if (at !== null) return times.exact(at);
  // An empty moment would make the text look like the end of the line before.
  return kind === 'waiting' || kind === 'active' ? 'now' : '-';
}

function stepText(group: TimelineGroup, times: LocalTimes): string {
  const { head, entries } = group;
  const { text, by, ms, until, detail, recipient, kind } = head;
  const grouped = entries.length > 1;
  const subject = grouped
    ? `: ${formatCounted(recipientsOf(group).length, 'recipient')}`
    : recipient === null
      ? ''
      : `: ${recipient}`;
  // Answers differ from recipient to recipient.
  const remark = detail === null || (grouped && kind === 'delivery') ? '' : ` (${detail})`;
  return [
    text,
    subject,
    by === null ? '' : ` by ${by}`,
    ms === null ? '' : `, ${formatElapsed(ms)}`,
    until === null ? '' : `, until ${times.exact(until)}`,
    remark,
  ].join('');
}
