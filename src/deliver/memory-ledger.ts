import type { DeliveryRow, DeliveryState, Ledger } from './ledger.ts';

/** Whether `settle` may write: the rule of the ledger, which `ledger-settle-1.lua` says in Lua. */
function settles(row: DeliveryRow, epoch: number, to: Exclude<DeliveryState, 'sending'>): boolean {
  if (row.epoch !== epoch) return false;
  return row.state === 'sending' || (row.state === 'unknown' && (to === 'sent' || to === 'refused'));
}

/** The ledger of an inline run: it lives as long as the process, so a run that is started again is a new run. */
export function memoryLedger(): Ledger {
  const rows = new Map<string, DeliveryRow>();
  const put = (row: DeliveryRow): DeliveryRow => {
    rows.set(row.id, Object.freeze(row));
    return row;
  };
  return {
    open: async (delivery, at) => {
      const { id, run, org, report, target, recipient } = delivery;
      return (
        rows.get(id) ?? put({ id, run, org, report, target, recipient, state: 'pending', epoch: 0, detail: null, at })
      );
    },
    begin: async (id, at) => {
      const row = rows.get(id);
      if (row?.state !== 'pending') return undefined;
      return put({ ...row, state: 'sending', epoch: row.epoch + 1, detail: null, at }).epoch;
    },
    settle: async (id, epoch, to, detail, at) => {
      const row = rows.get(id);
      if (row === undefined) return false;
      if (row.epoch === epoch && row.state === to) return true;
      if (!settles(row, epoch, to)) return false;
      put({ ...row, state: to, detail, at });
      return true;
    },
    list: async (run) => [...rows.values()].filter((row) => row.run === run),
  };
}
