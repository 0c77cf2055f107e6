import { formatCounted } from '../../../admin/page/components/format-numbers.ts';
import { runStatus } from '../../../run/run-record.ts';
import { heldSentence, isReportDelivery, nothingSent } from '../../../services/deliveries/decision-rules.ts';
import { isClosed } from '../../../services/deliveries/decisions.ts';
import type { LocalTimes } from '../../terminal/local-times.ts';
import type { LoadedRun } from './load-run.ts';

/** One or two sentences: what surely happened, and what did not. */
export function describeRun(
  { record, rows, timeline, review, archived, archiveError }: LoadedRun,
  times: LocalTimes,
): string {
  if (record === undefined) return 'Redis has no record of this run; this is what the archive has.';
  const reports = rows.filter(isReportDelivery);
  const all = reports.length === 0 ? record.deliveries : reports;
  const known = all.filter(({ state }) => !isClosed(state));
  const count = (state: string): number => known.filter((row) => row.state === state).length;
  const sent = count('sent');
  const others = (['refused', 'unknown', 'pending', 'sending'] as const).flatMap((state) =>
    count(state) === 0 ? [] : `${count(state)} ${OTHER_WORDS[state]}`,
  );
  const arrived = `${sent} of ${formatCounted(known.length, 'delivery', 'deliveries')} arrived${others.length === 0 ? '' : `, ${others.join(', ')}`}.`;
  const files =
    archiveError !== undefined
      ? 'The archive cannot be read now'
      : archived === undefined
        ? 'No files are in the archive'
        : 'Its files are in the archive';
  const status = runStatus(record, reports.length === 0 ? undefined : reports);
  switch (status) {
    case 'done':
      if (!record.deliver) return `${files}. It was triggered without deliveries.`;
      return known.length === 0 ? `${files}. ${nothingSent(all)}` : arrived;
    case 'partly_delivered':
      return `${arrived} ${heldSentence(record)}`.trim();
    case 'delivery_unknown':
      return `No delivery is confirmed: ${arrived}`;
    case 'held':
      if (record.error?.code === 'run.comments_missing') return 'It waits for comments. Nothing was sent.';
      if (review !== undefined) return 'Figures are missing. Nothing was sent.';
      return `Figures are missing. Nothing was sent. ${files}.`;
    case 'awaiting_approval':
      return 'It waits for approval. Nothing was sent.';
    case 'failed':
    case 'cancelled':
      return sent === 0 ? `${files}. Nothing is known to have been delivered.` : `${files}. ${arrived}`;
    case 'skipped':
      return 'The slot was not opened: no files were made, and nothing was sent.';
    case 'queued':
    case 'running':
    case 'waiting':
    case 'cancelling':
      return waitSentence(timeline?.waits ?? null, status, times);
  }
}

const OTHER_WORDS = { refused: 'refused', unknown: 'unknown', pending: 'not sent', sending: 'being sent' } as const;

function waitSentence(
  waits: NonNullable<LoadedRun['timeline']>['waits'],
  status: 'queued' | 'running' | 'waiting' | 'cancelling',
  times: LocalTimes,
): string {
  if (status === 'cancelling') return 'A cancellation is requested; it stops before its next step.';
  if (waits === null) return status === 'running' ? 'A worker is working on it.' : 'It has not ended.';
  const until = waits.until === null ? '' : ` until ${times.exact(waits.until)}`;
  return `${waits.text}${until}.${waits.detail === null ? '' : ` ${waits.detail}`}`;
}
