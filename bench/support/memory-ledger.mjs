/**
 * A ledger in memory, for runs without failures. @returns
 * {import('../../dist-modules/deliver/ledger/ledger.js').Ledger}
 */
export function memoryLedger() {
  /** @type {Map<string, import('../../dist-modules/deliver/ledger/ledger.js').DeliveryRow>} */
  const rows = new Map();
  return {
    open: async (row, at) => {
      const opened = rows.get(row.id) ?? { ...row, state: 'pending', epoch: 0, detail: null, at, decisions: [] };
      rows.set(row.id, opened);
      return opened;
    },
    begin: async (id, at) => {
      const row = rows.get(id);
      if (row === undefined) return undefined;
      rows.set(id, { ...row, state: 'sending', epoch: row.epoch + 1, at });
      return row.epoch + 1;
    },
    settle: async (id, _, state, detail, at) => {
      const row = rows.get(id);
      if (row !== undefined) rows.set(id, { ...row, state, detail, at });
      return row !== undefined;
    },
    resolve: async () => undefined,
    add: async () => undefined,
    withdraw: async () => [],
    isWithdrawn: async () => false,
    find: async (id) => rows.get(id),
    list: async (run) => [...rows.values()].filter((row) => row.run === run),
    listUnknown: async () => [],
  };
}
