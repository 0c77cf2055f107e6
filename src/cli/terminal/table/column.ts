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
