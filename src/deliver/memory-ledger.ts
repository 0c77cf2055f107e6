import { comesAfter, type DeliveryRow, type DeliveryState, decisionText, type Ledger, yieldsTo } from './ledger.ts';

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
    open: async (delivery, at, evidence) => {
      const { id, run, org, report, target, recipient } = delivery;
      const row = rows.get(id);
      if (row !== undefined) {
        return evidence !== undefined && yieldsTo(row, evidence) ? put({ ...row, ...evidence, at }) : row;
      }
      const { state, epoch, detail } = evidence ?? { state: 'pending', epoch: 0, detail: null };
      return put({ id, run, org, report, target, recipient, state, epoch, detail, at, decisions: [] });
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
    resolve: async (id, epoch, decision) => {
      const row = rows.get(id);
      const { to, at } = decision;
      if (row === undefined || row.epoch !== epoch) return undefined;
      if (row.state !== 'unknown' && !(row.state === 'refused' && to === 'pending')) return undefined;
      const detail = decisionText(decision);
      const decisions = [...row.decisions, decision];
      return put({ ...row, state: to, epoch: to === 'pending' ? epoch + 1 : epoch, detail, at, decisions });
    },
    find: async (id) => rows.get(id),
    unknown: async (limit, after) =>
      [...rows.values()]
        .filter((row) => row.state === 'unknown' && (after === undefined || comesAfter(row, after)))
        .sort((one, other) => (comesAfter(one, other) ? 1 : -1))
        .slice(0, limit),
    list: async (run) => [...rows.values()].filter((row) => row.run === run),
  };
}
