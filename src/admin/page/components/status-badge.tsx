import { type RunRecord, type RunStatus, runStatus, type Status } from '../../../run/run-record.ts';
import type { CorrectionState } from '../../../services/corrections/correction.ts';
import type { DeliveryState } from '../../../services/deliveries/decisions.ts';

type Tone = 'good' | 'busy' | 'idle' | 'warn' | 'bad';

interface StateLabel {
  readonly label: string;
  readonly tone: Tone;
  readonly description: string;
}

export const RUN_STATE_LABELS: Readonly<Record<RunStatus, StateLabel>> = {
  queued: { label: 'Queued', tone: 'idle', description: 'Queued for a worker.' },
  running: { label: 'Running', tone: 'busy', description: 'Running on a worker.' },
  waiting: { label: 'Waiting', tone: 'idle', description: 'Waiting to continue automatically.' },
  done: { label: 'Done', tone: 'good', description: 'Created, archived and delivered as requested.' },
  partly_delivered: { label: 'Partly delivered', tone: 'warn', description: 'Some deliveries failed.' },
  held: { label: 'Held', tone: 'warn', description: 'Created, and held: figures or comments are missing.' },
  awaiting_approval: {
    label: 'Awaiting approval',
    tone: 'warn',
    description: 'Nothing is sent before enough people have approved it.',
  },
  cancelled: { label: 'Cancelled', tone: 'idle', description: 'Ended before it was complete.' },
  failed: { label: 'Failed', tone: 'bad', description: 'Ended without creating or delivering its files.' },
  skipped: { label: 'Skipped', tone: 'idle', description: 'The slot was not opened.' },
  cancelling: { label: 'Cancelling', tone: 'busy', description: 'Stops before its next step.' },
  delivery_unknown: {
    label: 'Delivery unknown',
    tone: 'warn',
    description: 'It is unknown whether any recipient has received it.',
  },
};

export const DELIVERY_STATE_LABELS: Readonly<Record<DeliveryState, StateLabel>> = {
  pending: { label: 'Pending', tone: 'idle', description: 'Not sent yet.' },
  sending: { label: 'Sending', tone: 'busy', description: 'Being sent.' },
  sent: { label: 'Sent', tone: 'good', description: 'Accepted by the recipient.' },
  refused: { label: 'Refused', tone: 'bad', description: 'Not accepted: it did not arrive.' },
  unknown: { label: 'Unknown', tone: 'warn', description: 'It is unknown whether it arrived.' },
  replaced: { label: 'Replaced', tone: 'idle', description: 'Another address gets the files instead.' },
  withdrawn: { label: 'Withdrawn', tone: 'idle', description: 'A corrected edition is sent instead.' },
  skipped: { label: 'Skipped', tone: 'idle', description: 'Not sent: the recipient is on the deny list.' },
};

interface BadgeProps extends Pick<StateLabel, 'label' | 'tone'> {
  /** Makes the badge a link. */
  readonly href?: string | undefined;
}

// Without the description: lists have a hundred badges, and the pages of a run or delivery show it as text.
const Badge = ({ label, tone, href }: BadgeProps) =>
  href === undefined ? (
    <span class={`state ${tone}`}>{label}</span>
  ) : (
    <a class={`state ${tone}`} href={href}>
      {label}
    </a>
  );

export const StatusBadge = ({ status }: { readonly status: RunStatus }) => <Badge {...RUN_STATE_LABELS[status]} />;

/** Marks a run whose readers wait for longer than they expect. */
export const LateBadge = () => <Badge label="Late" tone="warn" />;

type BadgeRun = Pick<RunRecord, 'state'> & Partial<Pick<RunRecord, 'cancel' | 'deliveries'>>;

/** The status of a run, from its record. @property href makes it a link */
export const RunBadge = ({ state, cancel = null, deliveries = [], href }: BadgeRun & Pick<BadgeProps, 'href'>) => (
  <Badge {...RUN_STATE_LABELS[runStatus({ state, cancel, deliveries })]} href={href} />
);

export const DeliveryBadge = ({ state }: { readonly state: DeliveryState }) => (
  <Badge {...DELIVERY_STATE_LABELS[state]} />
);

/** The style sheet draws a shape for each tone, so that no status depends on colour alone. */
const FIGURE_STATUS_LABELS: Readonly<Record<Status, Pick<StateLabel, 'label' | 'tone'>>> = {
  on_target: { label: 'on target', tone: 'good' },
  watch: { label: 'watch', tone: 'warn' },
  breached: { label: 'breached', tone: 'bad' },
  undefined: { label: 'undefined', tone: 'idle' },
};

const WORST_FIRST: readonly Status[] = ['breached', 'watch', 'undefined', 'on_target'];

export const FigureStatusBadge = ({ status }: { readonly status: Status }) => (
  <Badge {...FIGURE_STATUS_LABELS[status]} />
);

export const CORRECTION_STATE_LABELS: Readonly<Record<CorrectionState, StateLabel>> = {
  open: { label: 'To decide', tone: 'warn', description: 'Nothing is sent until somebody decides.' },
  sent: { label: 'Corrected', tone: 'good', description: 'Its run says whether the corrected edition was sent.' },
  dismissed: { label: 'Dismissed', tone: 'idle', description: 'The delivered edition remains valid.' },
  withdrawn: { label: 'Withdrawn', tone: 'idle', description: 'The figures equal the delivered ones again.' },
  replaced: { label: 'Replaced', tone: 'idle', description: 'The service has changed the figures again since.' },
};

export const CorrectionBadge = ({ state, href }: { readonly state: CorrectionState } & Pick<BadgeProps, 'href'>) => (
  <Badge {...CORRECTION_STATE_LABELS[state]} href={href} />
);

/** The statuses of a run's figures, worst first. Figures behind their target that rest on few cases follow, in grey. */
export const StatusCountBadges = ({ statuses, fewStatuses = {} }: Pick<RunRecord, 'statuses' | 'fewStatuses'>) => {
  if (statuses === undefined) return null;
  return (
    <span class="statuses">
      {WORST_FIRST.flatMap((status) => {
        const count = statuses[status] ?? 0;
        const { label, tone } = FIGURE_STATUS_LABELS[status];
        return count === 0 ? [] : [<Badge tone={tone} label={`${label} ${count}`} />, ' '];
      })}
      {(['breached', 'watch'] as const).flatMap((status) =>
        fewStatuses[status] === undefined
          ? []
          : [
              <Badge tone="idle" label={`${fewStatuses[status]} ${FIGURE_STATUS_LABELS[status].label} on few cases`} />,
              ' ',
            ],
      )}
    </span>
  );
};
