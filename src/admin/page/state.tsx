import type { DeliveryState } from '../../queue/decisions.ts';
import type { RunState } from '../../run/record.ts';

type Tone = 'good' | 'busy' | 'idle' | 'warn' | 'bad';

/** What a state is called, how grave it is, and what it means for whoever reads it. */
interface Look {
  readonly word: string;
  readonly tone: Tone;
  readonly means: string;
}

export const RUN_LOOK: Readonly<Record<RunState, Look>> = {
  queued: { word: 'Queued', tone: 'idle', means: 'It is in line for a worker.' },
  running: { word: 'Running', tone: 'busy', means: 'A worker is at it.' },
  waiting: { word: 'Waiting', tone: 'idle', means: 'It sleeps until it can go on by itself.' },
  done: { word: 'Done', tone: 'good', means: 'Made, archived and delivered as it was asked for.' },
  partly_delivered: { word: 'Partly delivered', tone: 'warn', means: 'Not everybody has got it.' },
  held: { word: 'Held', tone: 'warn', means: 'Made, and kept back until somebody releases it.' },
  cancelled: { word: 'Cancelled', tone: 'idle', means: 'Somebody told it to stop.' },
  failed: { word: 'Failed', tone: 'bad', means: 'It ended without its files, or without sending them.' },
  skipped: { word: 'Skipped', tone: 'idle', means: 'Its slot was never opened.' },
};

export const DELIVERY_LOOK: Readonly<Record<DeliveryState, Look>> = {
  pending: { word: 'Pending', tone: 'idle', means: 'It has not left yet.' },
  sending: { word: 'Sending', tone: 'busy', means: 'It is on its way.' },
  sent: { word: 'Sent', tone: 'good', means: 'It was accepted.' },
  refused: { word: 'Refused', tone: 'bad', means: 'It was not accepted, and surely did not arrive.' },
  unknown: { word: 'Unknown', tone: 'warn', means: 'It may have arrived, and may not have.' },
};

const Badge = ({ word, tone, means }: Look) => (
  <span class={`state ${tone}`} title={means}>
    {word}
  </span>
);

export const RunBadge = ({ state }: { readonly state: RunState }) => <Badge {...RUN_LOOK[state]} />;
export const DeliveryBadge = ({ state }: { readonly state: DeliveryState }) => <Badge {...DELIVERY_LOOK[state]} />;
