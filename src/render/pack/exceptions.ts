import type { Judgement, Row, Status, Table, TableLayout } from '../../fetch/dataset.ts';
import { iterateRows } from '../../fetch/rows.ts';
import type { Words } from '../../i18n/messages.ts';
import { judgementsByMetric } from '../figures/status-text.ts';
import type { ExceptionCounts, Exceptions } from './pack.ts';
import type { PackContext } from './pack-context.ts';

/**
 * A text about the rows, or in place of them.
 * @param shown less than all rows, if a page has no room for all
 */
export function exceptionsText(
  { behind, judged, notJudged, of, worst }: ExceptionCounts,
  shown: number,
  { pack }: Words,
) {
  if (judged + notJudged === 0) return pack.noTargetApplies;
  if (worst && judged > 0) return pack.worstRows(shown, judged);
  return behind === 0 ? pack.nothingBehind(notJudged) : pack.rowsBehind(shown, behind, of, notJudged);
}

/** How bad a row is. Compared field by field; the larger value comes first. */
interface Severity {
  /** 2: breached. 1: on watch. 0: all others. */
  readonly rank: number;
  /** Distance from the target relative to it; negative on the better side, infinite for a target of 0. */
  readonly relative: number;
  /** Distance in the metric's unit, with the same sign. Separates rows whose target is 0. */
  readonly absolute: number;
}

const RANKS = { breached: 2, watch: 1, on_target: 0, undefined: 0 } as const satisfies Record<Status, number>;

const inOrder = (one: number, other: number): number => (one === other ? 0 : other > one ? 1 : -1);
const bySeverity = (one: Severity, other: Severity): number =>
  inOrder(one.rank, other.rank) || inOrder(one.relative, other.relative) || inOrder(one.absolute, other.absolute);

function computeSeverity({ figure, status }: Judgement, target: number | null): Severity {
  const rank = RANKS[status];
  if (figure === null || target === null) return { rank, relative: 0, absolute: 0 };
  const absolute = Math.abs(figure - target) * (rank === 0 ? -1 : 1);
  return { rank, relative: absolute === 0 ? 0 : absolute / Math.abs(target), absolute };
}

/** The rows that a table of exceptions lists. */
export function exceptionRows(
  table: Table,
  { top, worst }: Extract<TableLayout, { kind: 'exceptions' }>,
  { dataset }: Pick<PackContext, 'dataset'>,
): Exceptions {
  const { targets = [], judgements = [] } = dataset;
  const byMetric = [
    ...judgementsByMetric(
      table,
      judgements.filter(({ section }) => section === table.id),
    ).values(),
  ];
  const found: { readonly row: Row; readonly status: Status; readonly severity: Severity }[] = [];
  let notJudged = 0;
  // Rows of a list are in a file and have no statuses.
  for (const row of byMetric.length === 0 ? [] : iterateRows(table.rows)) {
    const own = byMetric.flatMap(({ ofRow }) => ofRow(row) ?? []);
    const [first] = own
      .filter(({ status, few }) => status !== 'undefined' && few === undefined)
      .map((judgement) => ({
        status: judgement.status,
        severity: computeSeverity(judgement, targets[judgement.target]?.target ?? null),
      }))
      .sort((one, other) => bySeverity(one.severity, other.severity));
    if (first !== undefined) found.push({ row, ...first });
    else if (own.length > 0) notJudged += 1;
  }
  const behind = found.filter(({ severity }) => severity.rank > 0);
  // Sorting is stable, so equally bad rows keep the table's order.
  const listed = (worst === true ? found : behind).toSorted((one, other) => bySeverity(one.severity, other.severity));
  return {
    rows: listed.slice(0, top).map(({ row, status }) => ({ row, status })),
    counts: { of: table.rows.length, behind: behind.length, judged: found.length, notJudged, worst: worst === true },
  };
}
