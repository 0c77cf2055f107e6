import {
  type ArchivedState,
  type DeliveryRow,
  type DeliveryState,
  isAfter,
  isSupersededBy,
  type Ledger,
  type NewDelivery,
  type Resolution,
  resolutionText,
} from './ledger.ts';

/**
 * The transitions of a row, for ledgers outside Redis; the scripts `ledger-*.lua` implement the same rules. A transition
 * without a change returns the given object; a refused one returns undefined.
 */

export function openRow(
  row: DeliveryRow | undefined,
  { id, run, org, report, target, recipient }: NewDelivery,
  at: number,
  archived: ArchivedState | undefined,
): DeliveryRow {
  if (row !== undefined)
    return archived !== undefined && isSupersededBy(row, archived) ? { ...row, ...archived, at } : row;
  const { state, epoch, detail } = archived ?? { state: 'pending', epoch: 0, detail: null };
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
  const isAllowed = row.state === 'sending' || (row.state === 'unknown' && (to === 'sent' || to === 'refused'));
  return isAllowed ? { ...row, state: to, detail, at } : undefined;
}

export function resolveRow(row: DeliveryRow | undefined, epoch: number, decision: Resolution): DeliveryRow | undefined {
  const { to, at } = decision;
  if (row === undefined || row.epoch !== epoch) return undefined;
  if (row.state !== 'unknown' && !(row.state === 'refused' && to === 'pending')) return undefined;
  return {
    ...row,
    state: to,
    epoch: to === 'pending' ? epoch + 1 : epoch,
    detail: resolutionText(decision),
    at,
    decisions: [...row.decisions, decision],
  };
}

/** `Ledger.listUnknown` over rows in memory. */
export const selectUnknown = (
  rows: readonly DeliveryRow[],
  limit: number,
  after?: Pick<DeliveryRow, 'at' | 'id'>,
): DeliveryRow[] =>
  rows
    .filter((row) => row.state === 'unknown' && (after === undefined || isAfter(row, after)))
    .sort((one, other) => (isAfter(one, other) ? 1 : -1))
    .slice(0, limit);

/** A ledger in the memory of the process, for runs that deliver nothing. */
export function memoryLedger(): Ledger {
  const rows = new Map<string, DeliveryRow>();
  const put = (row: DeliveryRow | undefined): DeliveryRow | undefined => {
    if (row !== undefined) rows.set(row.id, Object.freeze(row));
    return row;
  };
  return {
    open: async (delivery, at, archived) => {
      const row = openRow(rows.get(delivery.id), delivery, at, archived);
      put(row);
      return row;
    },
    begin: async (id, at) => put(beginRow(rows.get(id), at))?.epoch,
    settle: async (id, epoch, to, detail, at) => put(settleRow(rows.get(id), epoch, to, detail, at)) !== undefined,
    resolve: async (id, epoch, decision) => put(resolveRow(rows.get(id), epoch, decision)),
    find: async (id) => rows.get(id),
    listUnknown: async (limit, after) => selectUnknown([...rows.values()], limit, after),
    list: async (run) => [...rows.values()].filter((row) => row.run === run),
  };
}
