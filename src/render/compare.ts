import type { Value } from '../fetch/dataset.ts';

/**
 * How a change is told: a ratio in percentage points, a count or a duration in relation to what it was, anything else
 * as a plain difference, because we cannot know whether the unit has a zero to relate to.
 */
export type ChangeKind = 'points' | 'relative' | 'difference';

export interface Change {
  readonly kind: ChangeKind;
  /** Percentage points (3.1), a share (0.12 is +12 %) or a difference; null where it is undefined, e.g. growth from 0. */
  readonly value: number | null;
  readonly direction: 'up' | 'down' | 'same' | null;
}

export function changeKind(unit: string | null): ChangeKind {
  if (unit === 'ratio') return 'points';
  return unit === 'count' || unit === 'seconds' ? 'relative' : 'difference';
}

const amount = (kind: ChangeKind, now: number, before: number): number | null => {
  // From nothing to nothing is no change, although 0 / 0 has no value.
  if (now === before) return 0;
  if (kind === 'points') return (now - before) * 100;
  if (kind === 'difference') return now - before;
  return before === 0 ? null : (now - before) / Math.abs(before);
};

/** The change of one metric value against the previous period. Undefined on either side makes it undefined. */
export function changeOf(unit: string | null, now: Value | undefined, before: Value | undefined): Change {
  const kind = changeKind(unit);
  if (typeof now !== 'number' || typeof before !== 'number') return { kind, value: null, direction: null };
  const direction = now === before ? 'same' : now > before ? 'up' : 'down';
  return { kind, value: amount(kind, now, before), direction };
}
