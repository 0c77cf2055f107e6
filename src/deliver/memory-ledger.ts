import type { DeliveryRow, Ledger } from './ledger.ts';
import { beginRow, openRow, resolveRow, settleRow, unknownAmong } from './ledger-rules.ts';

/** A ledger that lives as long as the process: for runs that deliver nothing, and for tests. */
export function memoryLedger(): Ledger {
  const rows = new Map<string, DeliveryRow>();
  const put = (row: DeliveryRow | undefined): DeliveryRow | undefined => {
    if (row !== undefined) rows.set(row.id, Object.freeze(row));
    return row;
  };
  return {
    open: async (delivery, at, evidence) => {
      const row = openRow(rows.get(delivery.id), delivery, at, evidence);
      put(row);
      return row;
    },
    begin: async (id, at) => put(beginRow(rows.get(id), at))?.epoch,
    settle: async (id, epoch, to, detail, at) => put(settleRow(rows.get(id), epoch, to, detail, at)) !== undefined,
    resolve: async (id, epoch, decision) => put(resolveRow(rows.get(id), epoch, decision)),
    find: async (id) => rows.get(id),
    unknown: async (limit, after) => unknownAmong([...rows.values()], limit, after),
    list: async (run) => [...rows.values()].filter((row) => row.run === run),
  };
}
