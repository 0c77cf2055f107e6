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
  /** Epoch ms; null where it is unknown, and for what goes on now. The order of the entries holds in any case. */
  readonly at: number | null;
  readonly outcome: (typeof TIMELINE_OUTCOMES)[number];
  /** A phrase without a full stop, e.g. `24 calls answered, 4 of them from a cache`. */
  readonly text: string;
  /** A server's answer, an error's message, or the reason of a decision. */
  readonly detail: string | null;
  /** Who triggered or decided it. */
  readonly by: string | null;
  /** Ms that it took; null where unknown. */
  readonly ms: number | null;
  /** Epoch ms until which it waits. */
  readonly until: number | null;
  /** The delivery's id. */
  readonly delivery: string | null;
  /** An address, or where the files go. */
  readonly recipient: string | null;
}

/** An entry whose other fields are null and whose outcome is `ok`, unless `change` has them. */
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
