import {
  collectRecipients,
  groupTimeline,
  type TimelineGroup,
} from '../../../services/runs/timeline/group-timeline.ts';
import type { TimelineEntry } from '../../../services/runs/timeline/timeline-entry.ts';
import { formatCounted, formatElapsed } from './format-numbers.ts';
import { EmptyState } from './layout.tsx';
import { RelativeTime, Timestamp } from './time.tsx';

/** The style sheet draws a shape for each tone, so that no outcome depends on colour alone. */
const TONES: Readonly<Record<TimelineEntry['outcome'], string>> = {
  ok: 'good',
  active: 'busy',
  waiting: 'idle',
  failed: 'bad',
  uncertain: 'warn',
};

interface TimelineProps {
  readonly entries: readonly TimelineEntry[];
  readonly zone: string;
  readonly now: number;
}

/** The steps of a run, oldest first. Many deliveries with the same result share one step, which opens. */
export const RunTimeline = ({ entries, zone, now }: TimelineProps) =>
  entries.length === 0 ? (
    <EmptyState>Nothing has happened yet.</EmptyState>
  ) : (
    <ol class="steps">
      {groupTimeline(entries).map((group) => (
        <Step group={group} zone={zone} now={now} />
      ))}
    </ol>
  );

const Step = ({ group, zone, now }: { readonly group: TimelineGroup; readonly zone: string; readonly now: number }) => {
  const { head, entries } = group;
  const { at, outcome, text, by, ms, until, detail } = head;
  return (
    <li data-kind={head.kind}>
      <p class="step-time">
        {at === null ? (
          <span class="muted">{head.kind === 'waiting' || head.kind === 'active' ? 'now' : ''}</span>
        ) : (
          <Timestamp at={at} zone={zone} seconds />
        )}
      </p>
      <div>
        <p>
          <span class={`state ${TONES[outcome]}`}>{text}</span>{' '}
          {entries.length > 1 ? null : <StepRecipient entry={head} />}
          {by === null ? null : <span class="muted">by {by}</span>}
          {ms === null ? null : <span class="muted"> {formatElapsed(ms)}</span>}
          {until === null ? null : (
            <>
              {' '}
              until <Timestamp at={until} zone={zone} short seconds />{' '}
              <span class="muted">
                (<RelativeTime at={until} now={now} />)
              </span>
            </>
          )}
        </p>
        {entries.length > 1 ? <StepGroup group={group} /> : null}
        {detail === null || entries.some((entry) => entry.detail !== detail) ? null : <p class="quote">{detail}</p>}
      </div>
    </li>
  );
};

const StepRecipient = ({ entry: { delivery, recipient } }: { readonly entry: TimelineEntry }) =>
  delivery === null ? null : (
    <>
      <a class="wrap" href={`/deliveries/${delivery}`}>
        {recipient}
      </a>{' '}
    </>
  );

const StepGroup = ({ group }: { readonly group: TimelineGroup }) => {
  const { head, entries } = group;
  const recipients = collectRecipients(group);
  const isSame = entries.every(({ detail }) => detail === head.detail);
  return (
    <details class="fold">
      <summary>{formatCounted(recipients.length, 'recipient')}</summary>
      {isSame ? (
        <p class="wrap muted">{recipients.join(', ')}</p>
      ) : (
        <ul class="plain-list compact">
          {entries.map(({ recipient, detail }) => (
            <li>
              <span class="wrap">{recipient}</span> <span class="muted wrap">{detail}</span>
            </li>
          ))}
        </ul>
      )}
    </details>
  );
};
