import type { DeliveryRow, Ledger } from './ledger.ts';
import { beginRow, openRow, resolveRow, selectUnknown, settleRow } from './ledger-transitions.ts';

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
