import type { CorrectionEvent, FoundEvent, OpenedEvent } from '../../deliver/archive/corrections/correction-event.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import type { RunState } from '../../run/run-record.ts';

/**
 * - `open`: waits for a decision
 * - `dismissed`, `sent`: decided
 * - `withdrawn`: the service reports the delivered figures again
 * - `replaced`: a later correction took its place, because the figures changed again or a person opened one
 */
export const CORRECTION_STATES = ['open', 'dismissed', 'sent', 'withdrawn', 'replaced'] as const;
export type CorrectionState = (typeof CORRECTION_STATES)[number];

/**
 * A correction of a delivered edition: because the service has changed figures, or because a person corrects something.
 */
export interface Correction {
  /** `<run>-<number>`. */
  readonly id: string;
  /** The delivered run. */
  readonly run: RunRef;
  /** Counts from 1. */
  readonly number: number;
  readonly state: CorrectionState;
  /** Epoch ms. */
  readonly foundAt: number;
  /** Material changes first. Only some are stored; `total` counts all. */
  readonly changes: FoundEvent['changes'];
  readonly material: number;
  readonly total: number;
  /** With `split`: the values whose packs have material changes. */
  readonly values?: readonly string[];
  readonly notified: boolean;
  /** Set if a person opened the correction. Absent if Docket found changed figures. */
  readonly byHand?: Pick<OpenedEvent, 'comment' | 'redefined' | 'definition'>;
  /** Set if it was sent, but its run has ended and nobody received the corrected edition. */
  readonly ended?: true;
  /** Null until somebody decides. */
  readonly decision: {
    readonly at: number;
    readonly by: string;
    /** Who signed in to send it. Absent for the shell, for Docket, and in older events. */
    readonly subject?: string;
    readonly reason: string;
    /** The run that sends the corrected edition. */
    readonly run: string | null;
  } | null;
}

/** The slot of the run that sends a correction. */
export const correctionSlot = ({ run, number }: Pick<Correction, 'run' | 'number'>): string =>
  `correction:${run.id}:${number}`;

/** States in which a corrected edition's run sends nothing more, unless somebody retries it. */
export const ENDED_STATES: ReadonlySet<RunState> = new Set<RunState>([
  'done',
  'partly_delivered',
  'failed',
  'cancelled',
  'skipped',
]);

/** The author of decisions by `on_correction: send`. */
export const DOCKET = 'docket';

const ID_PATTERN = /^([0-9a-f]{8,32})-([1-9]\d{0,5})$/;

const correctionId = (run: string, number: number): string => `${run}-${number}`;

/** Parses a correction's id: the run, or its first digits, and the number. Undefined for a text of another form. */
export function parseCorrectionId(text: string): { readonly run: string; readonly number: number } | undefined {
  const [, run, number] = ID_PATTERN.exec(text.toLowerCase()) ?? [];
  return run === undefined ? undefined : { run, number: Number(number) };
}

const fromFound = (
  run: RunRef,
  {
    correction,
    at,
    changes,
    material,
    total,
    values,
  }: Pick<FoundEvent, 'correction' | 'at' | 'changes' | 'material' | 'total' | 'values'>,
): Correction => ({
  id: correctionId(run.id, correction),
  run,
  number: correction,
  state: 'open',
  foundAt: at,
  changes,
  material,
  total,
  ...(values && { values }),
  notified: false,
  decision: null,
});

const fromOpened = (run: RunRef, event: OpenedEvent): Correction => {
  const { correction, at, by, subject, reason, definition, redefined, comment } = event;
  return {
    ...fromFound(run, { correction, at, changes: [], material: 0, total: 0 }),
    state: 'sent',
    notified: true,
    byHand: { definition, ...(redefined && { redefined }), ...(comment !== undefined && { comment }) },
    decision: { at, by, ...(subject === undefined ? {} : { subject }), reason, run: event.run },
  };
};

/** Computes the corrections of a run, oldest first. Only the last one can be open. Pure. */
export function foldCorrections(run: RunRef, events: readonly CorrectionEvent[]): readonly Correction[] {
  const found: Correction[] = [];
  for (const event of events) {
    const last = found.at(-1);
    if (event.type === 'found' || event.type === 'opened') {
      if (last?.state === 'open') found[found.length - 1] = { ...last, state: 'replaced' };
      found.push(event.type === 'found' ? fromFound(run, event) : fromOpened(run, event));
      continue;
    }
    if (last === undefined || last.number !== event.correction) continue;
    found[found.length - 1] = { ...last, ...changedBy(last, event) };
  }
  return found;
}

/** Applies an event. A second decision is ignored. */
function changedBy(
  { state }: Correction,
  event: Exclude<CorrectionEvent, { type: 'found' | 'opened' }>,
): Partial<Pick<Correction, 'state' | 'decision' | 'notified' | 'ended'>> {
  if (event.type === 'notified') return { notified: true };
  if (event.type === 'ended') return state === 'sent' ? { ended: true } : {};
  if (state !== 'open') return {};
  if (event.type === 'withdrawn') return { state: 'withdrawn' };
  const { at, by, reason } = event;
  if (event.type === 'dismissed') return { state: 'dismissed', decision: { at, by, reason, run: null } };
  const { run, subject } = event;
  return { state: 'sent', decision: { at, by, ...(subject === undefined ? {} : { subject }), reason, run } };
}
