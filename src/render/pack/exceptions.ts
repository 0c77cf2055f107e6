import type { Judgement, Row, Status, Table } from '../../fetch/dataset.ts';
import { iterateRows } from '../../fetch/rows.ts';
import { judgementsByMetric } from '../figures/status-text.ts';
import type { PackContext } from './pack-context.ts';

/** The rows of an exceptions section. */
export interface Exceptions {
  /** The first `top` ones, breached before watch before the rest. */
  readonly rows: readonly { readonly row: Row; readonly status?: Status }[];
  /** All rows. */
  readonly of: number;
  /** Whether any row is breached or on watch, so that the order is by status. */
  readonly sorted: boolean;
}

/** How bad a row is; compared field by field, the larger first. */
interface Severity {
  /** 2 breached, 1 watch, 0 the rest. */
  readonly rank: number;
  /** Distance from the target as a share of it; infinite for a target of 0. */
  readonly relative: number;
  /** Distance in the metric's unit: tells rows apart whose target is 0. */
  readonly absolute: number;
}

const RANKS = { breached: 2, watch: 1, on_target: 0, undefined: 0 } as const satisfies Record<Status, number>;
/** Which of several statuses a row shows. */
const SHOWN_RANKS = { breached: 3, watch: 2, undefined: 1, on_target: 0 } as const satisfies Record<Status, number>;

const inOrder = (one: number, other: number): number => (one === other ? 0 : other > one ? 1 : -1);
const bySeverity = (one: Severity, other: Severity): number =>
  inOrder(one.rank, other.rank) || inOrder(one.relative, other.relative) || inOrder(one.absolute, other.absolute);

function severityOf({ figure, status }: Judgement, target: number | null): Severity {
  const rank = RANKS[status];
  if (rank === 0 || figure === null || target === null) return { rank, relative: 0, absolute: 0 };
  const absolute = Math.abs(figure - target);
  return { rank, relative: absolute === 0 ? 0 : absolute / Math.abs(target), absolute };
}

/** The worst rows of a table: breached, then on watch, each by their distance from the target, then the others as they are. */
export function exceptionRows(table: Table, top: number, { dataset }: PackContext): Exceptions {
  const { targets = [], judgements = [] } = dataset;
  const judged = [
    ...judgementsByMetric(
      table,
      judgements.filter(({ section }) => section === table.id),
    ).values(),
  ];
  const bad: { readonly row: Row; readonly status: Status; readonly severity: Severity }[] = [];
  const rest: { readonly row: Row; readonly status?: Status }[] = [];
  for (const row of iterateRows(table.rows)) {
    const own = judged.flatMap(({ ofRow }) => ofRow(row) ?? []);
    const [worst] = own
      .map((judgement) => severityOf(judgement, targets[judgement.target]?.target ?? null))
      .sort(bySeverity);
    const [status] = own.map((judgement) => judgement.status).sort((a, b) => SHOWN_RANKS[b] - SHOWN_RANKS[a]);
    if (worst !== undefined && status !== undefined && worst.rank > 0) bad.push({ row, status, severity: worst });
    else if (rest.length < top) rest.push({ row, ...(status === undefined ? {} : { status }) });
    // Nothing can come before the first rows of a table without statuses.
    else if (judged.length === 0) break;
  }
  // Sorting is stable: equally bad rows stay in the table's order.
  const worst = bad.sort((one, other) => bySeverity(one.severity, other.severity));
  return {
    rows: [...worst.map(({ row, status }) => ({ row, status })), ...rest].slice(0, top),
    of: table.rows.length,
    sorted: bad.length > 0,
  };
}
