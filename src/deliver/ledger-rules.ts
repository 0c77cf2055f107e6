import {
  comesAfter,
  type DeliveryRow,
  type DeliveryState,
  decisionText,
  type Evidence,
  type NewDelivery,
  type Resolution,
  yieldsTo,
} from './ledger.ts';

/**
 * What each step of a ledger makes of a row, for ledgers that are no Redis; the scripts `ledger-*.lua` say the same in Lua.
 * A step that changes nothing returns the very row that it was given, one that is refused returns undefined.
 */

export function openRow(
  row: DeliveryRow | undefined,
  { id, run, org, report, target, recipient }: NewDelivery,
  at: number,
  evidence: Evidence | undefined,
): DeliveryRow {
  if (row !== undefined) return evidence !== undefined && yieldsTo(row, evidence) ? { ...row, ...evidence, at } : row;
  const { state, epoch, detail } = evidence ?? { state: 'pending', epoch: 0, detail: null };
  return { id, run, org, report, target, recipient, state, epoch, detail, at, decisions: [] };
}

export const beginRow = (row: DeliveryRow | undefined, at: number): DeliveryRow | undefined =>
  row?.state === 'pending' ? { ...row, state: 'sending', epoch: row.epoch + 1, detail: null, at } : undefined;

export function settleRow(
  row: DeliveryRow | undefined,
  epoch: number,
  to: Exclude<DeliveryState, 'sending'>,
  detail: string | null,
  at: number,
): DeliveryRow | undefined {
  if (row === undefined || row.epoch !== epoch) return undefined;
  if (row.state === to) return row;
  const settles = row.state === 'sending' || (row.state === 'unknown' && (to === 'sent' || to === 'refused'));
  return settles ? { ...row, state: to, detail, at } : undefined;
}

export function resolveRow(row: DeliveryRow | undefined, epoch: number, decision: Resolution): DeliveryRow | undefined {
  const { to, at } = decision;
  if (row === undefined || row.epoch !== epoch) return undefined;
  if (row.state !== 'unknown' && !(row.state === 'refused' && to === 'pending')) return undefined;
  return {
    ...row,
    state: to,
    epoch: to === 'pending' ? epoch + 1 : epoch,
    detail: decisionText(decision),
    at,
    decisions: [...row.decisions, decision],
  };
}

/** The first `limit` rows that wait for a decision, the longest waiting first; those after `after`. */
export const unknownAmong = (
  rows: readonly DeliveryRow[],
  limit: number,
  after?: Pick<DeliveryRow, 'at' | 'id'>,
): DeliveryRow[] =>
  rows
    .filter((row) => row.state === 'unknown' && (after === undefined || comesAfter(row, after)))
    .sort((one, other) => (comesAfter(one, other) ? 1 : -1))
    .slice(0, limit);
