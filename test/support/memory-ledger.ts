import {
  type ArchivedState,
  type AttemptState,
  additionText,
  type DeliveryRow,
  isAfter,
  isSupersededBy,
  type Ledger,
  type NewDelivery,
  NOTICE_TARGET,
  type Resolution,
  resolutionText,
} from '../../src/deliver/ledger/ledger.ts';

/** The transitions of a row, like those of the scripts `ledger-*.lua`. A refused transition returns undefined. */

function openRow(
  row: DeliveryRow | undefined,
  { id, run, org, report, target, recipient, added }: NewDelivery,
  at: number,
  archived: ArchivedState | undefined,
): DeliveryRow {
  if (row !== undefined)
    return archived !== undefined && isSupersededBy(row, archived) ? { ...row, ...stateOf(archived), at } : row;
  const { state, epoch, detail } = archived ?? { state: 'pending', epoch: 0, detail: null };
  return {
    id,
    run,
    org,
    report,
    target,
    recipient,
    ...(added && { added }),
    state,
    epoch,
    detail,
    at,
    decisions: [],
  };
}

const stateOf = ({ state, epoch, detail }: ArchivedState) => ({ state, epoch, detail });

const beginRow = (row: DeliveryRow | undefined, at: number): DeliveryRow | undefined =>
  row?.state === 'pending' ? { ...row, state: 'sending', epoch: row.epoch + 1, detail: null, at } : undefined;

function settleRow(
  row: DeliveryRow | undefined,
  epoch: number,
  to: AttemptState,
  detail: string | null,
  at: number,
): DeliveryRow | undefined {
  if (row === undefined || row.epoch !== epoch) return undefined;
  if (row.state === to) return row;
  const isAllowed = row.state === 'sending' || (row.state === 'unknown' && (to === 'sent' || to === 'refused'));
  return isAllowed ? { ...row, state: to, detail, at } : undefined;
}

function resolveRow(row: DeliveryRow | undefined, epoch: number, decision: Resolution): DeliveryRow | undefined {
  const { to, at } = decision;
  if (row === undefined || row.epoch !== epoch) return undefined;
  const from = { sent: ['unknown'], pending: ['unknown', 'refused', 'skipped'], skipped: ['pending'] };
  if (to === 'replaced' || to === 'withdrawn' || !from[to].includes(row.state)) return undefined;
  return {
    ...row,
    state: to,
    epoch: to === 'pending' ? epoch + 1 : epoch,
    detail: resolutionText(decision),
    at,
    decisions: [...row.decisions, decision],
  };
}

function withdrawIfReplaced(row: DeliveryRow, decision: Omit<Resolution, 'to'> | undefined): DeliveryRow {
  const isOpen = (row.state === 'pending' || row.state === 'refused') && row.target !== NOTICE_TARGET;
  if (decision === undefined || !isOpen) return row;
  const made = { to: 'withdrawn' as const, ...decision };
  const changed = { state: made.to, detail: resolutionText(made), epoch: row.epoch + 1 };
  return { ...row, ...changed, at: decision.at, decisions: [...row.decisions, made] };
}

/** A ledger in memory. */
export function memoryLedger(): Ledger & { lose(): void } {
  const rows = new Map<string, DeliveryRow>();
  const withdrawals = new Map<string, Omit<Resolution, 'to'>>();
  const put = (row: DeliveryRow | undefined): DeliveryRow | undefined => {
    const kept = row && withdrawIfReplaced(row, withdrawals.get(row.run));
    if (kept !== undefined) rows.set(kept.id, Object.freeze(kept));
    return kept;
  };
  return {
    lose: () => {
      rows.clear();
      withdrawals.clear();
    },
    open: async (delivery, at, archived) => {
      const row = openRow(rows.get(delivery.id), delivery, at, archived);
      return put(row) ?? row;
    },
    begin: async (id, at) => put(beginRow(rows.get(id), at))?.epoch,
    settle: async (id, epoch, to, detail, at) => put(settleRow(rows.get(id), epoch, to, detail, at)) !== undefined,
    resolve: async (id, epoch, decision) => {
      const row = rows.get(id);
      const isReplaced = row !== undefined && row.target !== NOTICE_TARGET && withdrawals.has(row.run);
      return decision.to === 'pending' && isReplaced ? undefined : put(resolveRow(row, epoch, decision));
    },
    add: async (delivery, decision, replaced) => {
      const existing = rows.get(delivery.id);
      if (existing !== undefined) return { added: false, row: existing };
      if (withdrawals.has(delivery.run)) return undefined;
      const old = replaced && rows.get(replaced.id);
      if (replaced !== undefined) {
        const isOpen = (old?.state === 'pending' || old?.state === 'refused') && old.epoch === replaced.epoch;
        if (old === undefined || !isOpen) return undefined;
        const to = 'replaced' as const;
        const detail = `${resolutionText({ to, ...decision })} (now ${delivery.recipient})`;
        const decisions = [...old.decisions, { to, ...decision }];
        put({ ...old, state: to, epoch: old.epoch + 1, detail, at: decision.at, decisions });
      }
      const row: DeliveryRow = {
        ...openRow(undefined, delivery, decision.at, undefined),
        detail: additionText(decision),
        decisions: [{ to: 'pending', ...decision }],
      };
      put(row);
      return { added: true, row };
    },
    withdraw: async (run, decision) => {
      withdrawals.set(run, withdrawals.get(run) ?? decision);
      const own = [...rows.values()].filter((row) => row.run === run);
      return own.map((row) => put(row) ?? row);
    },
    isWithdrawn: async (run) => withdrawals.has(run),
    find: async (id) => rows.get(id),
    listUnknown: async (limit, after) =>
      [...rows.values()]
        .filter((row) => row.state === 'unknown' && (after === undefined || isAfter(row, after)))
        .sort((one, other) => (isAfter(one, other) ? 1 : -1))
        .slice(0, limit),
    list: async (run) => [...rows.values()].filter((row) => row.run === run),
  };
}
