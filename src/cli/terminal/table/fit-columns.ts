/** A column of a table. */
export interface Column {
  readonly name: string;
  /** The header where cells have their brief form; default: `name`. */
  readonly briefName?: string;
  /**
   * On a narrow terminal. Default: cells are cut. `keep`: never cut, for values that are copied. `drop`: left out before
   * anything else is cut. `drop-last`: left out only before other columns become unreadable.
   */
  readonly whenNarrow?: 'keep' | 'drop' | 'drop-last';
  /** Of columns to drop: the one with the lowest rank is shown first. Default: 0, and columns of one rank in their order. */
  readonly rank?: number;
  /**
   * Where a cell is cut; default: `end`. `middle` and `report` (`<org>/<report>`, where the organization is cut first) keep
   * different values different.
   */
  readonly cut?: 'end' | 'middle' | 'report';
}

/** A column that is shown. */
export interface FittedColumn {
  /** Among all columns. */
  readonly index: number;
  /** Cells. */
  readonly width: number;
}

/** Cells; cut to less, a column says too little, and columns to drop are left out instead. */
const READABLE_WIDTH = { end: 16, middle: 16, report: 20 } as const;
/** Cells; on a terminal on which nothing else helps. */
const MIN_WIDTH = 6;
/** What is cut first. A report's name is cut last. */
const CUT_ORDER = ['end', 'middle', 'report'] as const;

/** The columns to show within `maxWidth` cells, in their order. Columns to keep may exceed it. */
export function fitColumns(
  columns: readonly Column[],
  natural: readonly number[],
  maxWidth: number,
  gap: number,
): readonly FittedColumn[] {
  const naturalOf = (index: number): number => natural[index] ?? 0;
  const cutOf = (index: number) => columns[index]?.cut ?? 'end';
  const readableOf = (index: number): number =>
    columns[index]?.whenNarrow === 'keep' ? naturalOf(index) : Math.min(naturalOf(index), READABLE_WIDTH[cutOf(index)]);
  const total = (widths: readonly number[]): number =>
    widths.reduce((sum, width) => sum + width, gap * Math.max(0, widths.length - 1));
  const indicesOf = (wanted: (when: Column['whenNarrow']) => boolean): number[] =>
    columns.flatMap(({ whenNarrow }, index) => (wanted(whenNarrow) ? index : []));

  const chosen = indicesOf((when) => when !== 'drop' && when !== 'drop-last');
  for (const index of byRank(
    columns,
    indicesOf((when) => when === 'drop-last'),
  )) {
    if (total([...chosen, index].map(readableOf)) <= maxWidth) chosen.push(index);
  }
  for (const index of byRank(
    columns,
    indicesOf((when) => when === 'drop'),
  )) {
    if (total([...chosen.map(naturalOf), readableOf(index)]) <= maxWidth) chosen.push(index);
  }

  const widths = new Map(chosen.sort((a, b) => a - b).map((index) => [index, naturalOf(index)]));
  /** Narrows the widest column first, so that short ones stay whole. */
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
        readableOf,
      );
    narrow(cuttable, () => MIN_WIDTH);
  }
  return [...widths].map(([index, width]) => ({ index, width }));
}

const byRank = (columns: readonly Column[], indices: readonly number[]): number[] =>
  [...indices].sort((a, b) => (columns[a]?.rank ?? 0) - (columns[b]?.rank ?? 0));
