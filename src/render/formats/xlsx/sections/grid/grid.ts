import type { ConditionalFormat } from '../../package/conditional-formatting.ts';
import type { Cell } from '../../package/sheet-rows.ts';

/** The figures of a section as cells. */
export interface Grid {
  /** Characters of each column. */
  readonly widths: readonly number[];
  /** Number of label columns on the left. */
  readonly labels: number;
  /** Unique texts, which name the columns of the Excel table. A cell may show a shorter one. */
  readonly header: readonly Cell[];
  /** As the header cells show them. */
  readonly headings: readonly string[];
  /** As the columns are called in a list, without a header row above. */
  readonly names: readonly string[];
  /** The metric above each column. Equal neighbours share a heading. Absent without a second header row. */
  readonly over?: readonly (string | undefined)[];
  /** What each column belongs to: a page break never separates equal neighbours. Undefined for labels. */
  readonly groups: readonly (string | undefined)[];
  readonly rows: Iterable<readonly Cell[]>;
  readonly count: number;
  readonly totals?: readonly Cell[];
  /** Whether totals are shown, in a row or in columns. */
  readonly showsTotals: boolean;
  /** Which header cells have a filter button. None: the range has no filter. */
  readonly filters: readonly boolean[];
  /** One per column. */
  readonly conditionalFormats: readonly (ConditionalFormat['kind'] | undefined)[];
  /** In place of `change`, one per row: where each row is another metric. */
  readonly rowChanges?: readonly (ConditionalFormat['kind'] | undefined)[];
}
