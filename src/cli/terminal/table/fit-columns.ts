/** A column of a table. */
export interface Column {
  readonly name: string;
  /** The header if cells have their brief form; default: `name`. */
  readonly briefName?: string;
  /**
   * What happens on a narrow terminal. Default: cells are cut. `keep`: never cut, for values that are copied. `drop`:
   * left out before any cell is cut. `drop-last`: left out only before other columns become unreadable.
   */
  readonly whenNarrow?: 'keep' | 'drop' | 'drop-last';
  /**
   * For columns that can be dropped: those with the lowest rank stay longest. Default: 0. Equal ranks stay in column
   * order.
   */
  readonly rank?: number;
  /**
   * Where a cell is cut; default: `end`. With `middle` and `report` (`<org>/<report>`, the organization is cut first),
   * different values stay different.
   */
  readonly cut?: 'end' | 'middle' | 'report';
}

/** A column to show. */
export interface FittedColumn {
  /** Index among all columns. */
  readonly index: number;
  /** Width in cells. */
  readonly width: number;
}

/** Minimum cells of a readable column. Rather than cutting below it, columns are dropped. */
const READABLE_WIDTH = { end: 16, middle: 16, report: 20 } as const;
/** Minimum cells if nothing else helps. */
const MIN_WIDTH = 6;
/** The order of cutting. A report's name is cut last. */
const CUT_ORDER = ['end', 'middle', 'report'] as const;

/** The columns to show within `maxWidth` cells, in their order. Columns with `keep` may exceed it. */
export function fitColumns(
  columns: readonly Column[],
  natural: readonly number[],
  maxWidth: number,
  gap: number,
): readonly FittedColumn[] {
  const naturalOf = (index: number): number => natural[index] ?? 0;
  const cutOf = (index: number) => columns[index]?.cut ?? 'end';
  const getReadableWidth = (index: number): number =>
    columns[index]?.whenNarrow === 'keep' ? naturalOf(index) : Math.min(naturalOf(index), READABLE_WIDTH[cutOf(index)]);
  const total = (widths: readonly number[]): number =>
    widths.reduce((sum, width) => sum + width, gap * Math.max(0, widths.length - 1));
  const selectIndices = (wanted: (when: Column['whenNarrow']) => boolean): number[] =>
    columns.flatMap(({ whenNarrow }, index) => (wanted(whenNarrow) ? index : []));

  const chosen = selectIndices((when) => when !== 'drop' && when !== 'drop-last');
  for (const index of byRank(
    columns,
    selectIndices((when) => when === 'drop-last'),
  )) {
    if (total([...chosen, index].map(getReadableWidth)) <= maxWidth) chosen.push(index);
  }
  for (const index of byRank(
    columns,
    selectIndices((when) => when === 'drop'),
  )) {
    if (total([...chosen.map(naturalOf), getReadableWidth(index)]) <= maxWidth) chosen.push(index);
  }

  const widths = new Map(chosen.sort((a, b) => a - b).map((index) => [index, naturalOf(index)]));
  /** Narrows the widest columns first, so that short ones stay complete. */
  const narrow = (candidates: readonly number[], minOf: (index: number) => number): void => {
    for (let excess = total([...widths.values()]) - maxWidth; excess > 0; excess -= 1) {
      const [widest] = candidates
        .filter((index) => (widths.get(index) ?? 0) > minOf(index))
        .sort((a, b) => (widths.get(b) ?? 0) - (widths.get(a) ?? 0));
      if (widest === undefined) return;
      widths.set(widest, (widths.get(widest) ?? 0) - 1);
    }
  };
  if (maxWidth !== Number.POSITIVE_INFINITY) {
    const cuttable = chosen.filter((index) => columns[index]?.whenNarrow !== 'keep');
    for (const cut of CUT_ORDER)
      narrow(
        cuttable.filter((index) => cutOf(index) === cut),
        getReadableWidth,
      );
    narrow(cuttable, () => MIN_WIDTH);
  }
  return [...widths].map(([index, width]) => ({ index, width }));
}

const byRank = (columns: readonly Column[], indices: readonly number[]): number[] =>
  [...indices].sort((a, b) => (columns[a]?.rank ?? 0) - (columns[b]?.rank ?? 0));
