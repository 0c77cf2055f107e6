import type { CorrectionEvent, FoundEvent } from '../../deliver/archive/corrections/correction-event.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';

/**
 * - `open`: waits for a decision
 * - `dismissed`, `sent`: decided
 * - `withdrawn`: the service reports the delivered figures again
 * - `replaced`: the service reports other figures since, which are a correction of their own
 */
export const CORRECTION_STATES = ['open', 'dismissed', 'sent', 'withdrawn', 'replaced'] as const;
export type CorrectionState = (typeof CORRECTION_STATES)[number];

/** Figures of a delivered edition that the service has changed since. */
export interface Correction {
  /** `<run>-<number>`. */
  readonly id: string;
  /** The delivered run. */
  readonly run: RunRef;
  /** From 1. */
  readonly number: number;
  readonly state: CorrectionState;
  /** Epoch ms. */
  readonly foundAt: number;
  /** The material ones first; further ones are counted only. */
  readonly changes: FoundEvent['changes'];
  readonly material: number;
  readonly total: number;
  readonly notified: boolean;
  /** Of a sent one: its run has ended, and nobody received the corrected edition. */
  readonly ended?: true;
  /** Null while nobody has decided. */
  readonly decision: {
    readonly at: number;
    readonly by: string;
    /** Of the sign-in of who sent it; absent for the shell, Docket, and in older events. */
    readonly subject?: string;
    readonly reason: string;
    /** The run that sends the corrected edition. */
    readonly run: string | null;
  } | null;
}

/** Who decides for `on_correction: send`. */
export const DOCKET = 'docket';

const ID_PATTERN = /^([0-9a-f]{8,32})-([1-9]\d{0,5})$/;

const correctionId = (run: string, number: number): string => `${run}-${number}`;

/** The run, or its first digits, and the number of a correction; undefined for a text of another form. */
export function parseCorrectionId(text: string): { readonly run: string; readonly number: number } | undefined {
  const [, run, number] = ID_PATTERN.exec(text.toLowerCase()) ?? [];
  return run === undefined ? undefined : { run, number: Number(number) };
}

const fromFound = (run: RunRef, { correction, at, changes, material, total }: FoundEvent): Correction => ({
  id: correctionId(run.id, correction),
  run,
  number: correction,
  state: 'open',
  foundAt: at,
  changes,
  material,
  total,
  notified: false,
  decision: null,
});

/** The corrections of a run, oldest first. Of all but the last one none is open. Pure. */
export function foldCorrections(run: RunRef, events: readonly CorrectionEvent[]): readonly Correction[] {
  const found: Correction[] = [];
  for (const event of events) {
    const last = found.at(-1);
    if (event.type === 'found') {
      if (last?.state === 'open') found[found.length - 1] = { ...last, state: 'replaced' };
      found.push(fromFound(run, event));
      continue;
    }
    if (last === undefined || last.number !== event.correction) continue;
    found[found.length - 1] = { ...last, ...changedBy(last, event) };
  }
  return found;
}

/** Who comes second decides nothing. */
function changedBy(
  { state }: Correction,
  event: Exclude<CorrectionEvent, { type: 'found' }>,
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
