import type { ReviewEvent } from '../../../run/review/review-event.ts';

/** A review's event as the timeline shows it. */
export interface ReviewStep {
  /** A phrase without a full stop. */
  readonly text: string;
  readonly detail: string | null;
  /** Null for what Docket itself did. */
  readonly by: string | null;
  readonly at: number;
  readonly outcome: 'ok' | 'failed';
}

/**
 * A review's steps, oldest first. Leaves out releases and cancellations, which are decisions in the run's record, and
 * the seal, which is the publication.
 */
export function reviewSteps(events: readonly ReviewEvent[]): readonly ReviewStep[] {
  const first = events.find(({ type }) => type === 'figures');
  return events.flatMap((event) => buildSteps(event, event === first));
}

function buildSteps(event: ReviewEvent, isFirst: boolean): readonly ReviewStep[] {
  const { at } = event;
  const by = event.by.name;
  switch (event.type) {
    case 'figures': {
      const text = isFirst ? 'Figures stored for review' : 'Figures stored for review again';
      return [{ text, detail: null, by: null, at, outcome: 'ok' }];
    }
    case 'comment': {
      const on = event.section === null ? 'on the whole report' : `on ${event.section}`;
      const text = event.text === null ? `Comment ${on} withdrawn` : `Commented ${on}`;
      return [{ text, detail: null, by, at, outcome: 'ok' }];
    }
    case 'approve':
      return [{ text: 'Approved', detail: event.reason, by, at, outcome: 'ok' }];
    case 'reject': {
      const text = event.refetch ? 'Rejected, to be fetched again' : 'Rejected';
      return [{ text, detail: event.reason, by, at, outcome: 'failed' }];
    }
    case 'recipient':
      return [{ text: `${event.recipient} added, to be approved`, detail: event.reason, by, at, outcome: 'ok' }];
    case 'admit': {
      const text = event.admitted ? 'Added recipient approved' : 'Added recipient rejected';
      return [{ text, detail: event.reason, by, at, outcome: event.admitted ? 'ok' : 'failed' }];
    }
    case 'delegate':
      return [{ text: `Deputy named: ${event.to} for ${event.from}`, detail: event.reason, by, at, outcome: 'ok' }];
    case 'release':
    case 'cancel':
    case 'seal':
      return [];
  }
}
