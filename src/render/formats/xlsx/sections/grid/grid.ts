import type { ConditionalFormat } from '../../package/conditional-formatting.ts';
import type { Cell } from '../../package/sheet-rows.ts';

/** The figures of a section as cells. */
export interface Grid {
  /** The width of each column, in characters. */
  readonly widths: readonly number[];
  /** The number of label columns on the left. */
  readonly labels: number;
  /** Unique texts, which name the columns of the Excel table. A cell may show a shorter text. */
  readonly header: readonly Cell[];
  /** The texts that the header cells show. */
  readonly headings: readonly string[];
  /** Names of the columns for a list, without a header row above. */
  readonly names: readonly string[];
  /** The metric above each column. Adjacent equal metrics share a heading. Absent without a second header row. */
  readonly over?: readonly (string | undefined)[];
  /** The group of each column. A page break never separates adjacent columns of a group. Undefined for labels. */
  readonly groups: readonly (string | undefined)[];
  readonly rows: Iterable<readonly Cell[]>;
  readonly count: number;
  readonly totals?: readonly Cell[];
  /** Whether totals are shown, in a row or in columns. */
  readonly showsTotals: boolean;
  /** Which header cells have a filter button. If none has, the range has no filter. */
  readonly filters: readonly boolean[];
  /** One entry per column. */
  readonly conditionalFormats: readonly (ConditionalFormat['kind'] | undefined)[];
  /** One entry per row, in place of `change`, for grids in which each row is another metric. */
  readonly rowChanges?: readonly (ConditionalFormat['kind'] | undefined)[];
}
