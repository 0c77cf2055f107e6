export const TIMELINE_KINDS = [
  'triggered',
  'started',
  'tokens',
  'fetched',
  'rendered',
  'archived',
  'held',
  'review',
  'decision',
  'delivery',
  'delivery_decision',
  'notice',
  'waiting',
  'active',
  'ended',
] as const;
export type TimelineKind = (typeof TIMELINE_KINDS)[number];

/** `waiting`: for something or somebody. `uncertain`: it may have happened. */
export const TIMELINE_OUTCOMES = ['ok', 'active', 'waiting', 'failed', 'uncertain'] as const;

/** One step of a run. */
export interface TimelineEntry {
  readonly kind: TimelineKind;
  /** Epoch ms; null if unknown, and for a current step. The entries are in order in any case. */
  readonly at: number | null;
  readonly outcome: (typeof TIMELINE_OUTCOMES)[number];
  /** A phrase without a full stop, e.g. `24 calls answered, 4 of them from a cache`. */
  readonly text: string;
  /** A server's reply, an error message, or the reason for a decision. */
  readonly detail: string | null;
  /** Who triggered or decided it. */
  readonly by: string | null;
  /** Duration in ms; null if unknown. */
  readonly ms: number | null;
  /** When its wait ends, epoch ms. */
  readonly until: number | null;
  /** The delivery's id. */
  readonly delivery: string | null;
  /** An address, or where the files go. */
  readonly recipient: string | null;
}

/** Makes an entry. Fields that `change` leaves out are null, and the outcome is `ok`. */
export const step = (
  kind: TimelineKind,
  text: string,
  change: Partial<Omit<TimelineEntry, 'kind' | 'text'>> = {},
): TimelineEntry => ({
  kind,
  text,
  at: null,
  outcome: 'ok',
  detail: null,
  by: null,
  ms: null,
  until: null,
  delivery: null,
  recipient: null,
  ...change,
});
