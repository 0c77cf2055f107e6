import type { ConditionalFormat } from '../package/conditional-formatting.ts';
import type { Cell } from '../package/sheet-rows.ts';
import { MIN_SCALE, type Page, pageAt } from '../style/page-layout.ts';
import { STYLES } from '../style/styles.ts';
import { textRowPoints, totalWidth } from '../style/text-size.ts';
import { MAX_VALUE_WIDTH } from './grid/column-width.ts';
import type { Grid } from './grid/grid.ts';

/** A copy of a grid with few rows, for paper, with its columns as rows. The table itself stays on the screen. */
export interface PrintedCopy {
  readonly rows: readonly {
    readonly cells: readonly (Cell | undefined)[];
    readonly points: number;
    /** The conditional format of its figures. */
    readonly change?: ConditionalFormat['kind'];
  }[];
  /** The number of rows at the top that name the columns. */
  readonly labels: number;
  /** The number of the sheet's columns that it takes. */
  readonly columns: number;
  readonly characters: number;
  readonly points: number;
}

const LABEL_CHARACTERS = 38;
const MIN_VALUE_CHARACTERS = 15;

/** Combines adjacent columns until each group is as wide as wanted; undefined if there are too few columns. */
function combineColumns(widths: readonly number[], wanted: readonly number[]): number[] | undefined {
  let column = 0;
  const spans = wanted.map((characters) => {
    const from = column;
    let width = 0;
    while (column < widths.length && width < characters) {
      width += widths[column] ?? 0;
      column += 1;
    }
    return width < characters ? 0 : column - from;
  });
  return spans.includes(0) ? undefined : spans;
}

const numberFormat = ({ style: { numFmt } }: Cell): Pick<Cell['style'], 'numFmt'> =>
  numFmt === undefined ? {} : { numFmt };

/** The copy of a grid; undefined if it does not fit across a page. */
export function printedCopy(grid: Grid, page: Page): PrintedCopy | undefined {
  const lines = [...grid.rows];
  const columns = grid.totals === undefined ? lines : [...lines, grid.totals];
  // Wide enough for each of its figures in the table.
  const widest = Math.max(0, ...grid.widths.slice(grid.labels));
  const valueCharacters = Math.max(MIN_VALUE_CHARACTERS, Math.min(MAX_VALUE_WIDTH, widest));
  const spans = combineColumns(grid.widths, [LABEL_CHARACTERS, ...columns.map(() => valueCharacters)]);
  if (spans === undefined) return undefined;
  const count = spans.reduce((sum, span) => sum + span, 0);
  const characters = totalWidth(grid.widths.slice(0, count));
  if (characters > pageAt(page, MIN_SCALE).characters) return undefined;
  const spread = (cells: readonly Cell[]): (Cell | undefined)[] => {
    const row: (Cell | undefined)[] = [];
    let column = 0;
    for (const [index, cell] of cells.entries()) {
      const span = spans[index] ?? 1;
      row[column] = { value: cell.value, style: cell.style, ...(span > 1 ? { span } : {}) };
      column += span;
    }
    return row;
  };
  const rows = grid.header.map((header, index) => {
    const isLabel = index < grid.labels;
    const text = grid.names[index] ?? String(header.value);
    const name: Cell = { value: text, style: isLabel ? STYLES.headerLabel : STYLES.scorecardLabel };
    const cells = columns.map((line): Cell => {
      const cell = line[index] ?? { value: null, style: STYLES.scorecardText };
      return isLabel ? { value: cell.value, style: { ...STYLES.headerValue, ...numberFormat(cell) } } : cell;
    });
    const texts = cells.map(({ value }) => [typeof value === 'string' ? value : '', valueCharacters] as const);
    const points = textRowPoints([text, LABEL_CHARACTERS], ...texts);
    const kind = grid.conditionalFormats[index];
    return {
      cells: spread([name, ...cells]),
      points,
      ...(kind === undefined || kind === 'bar' ? {} : { change: kind }),
    };
  });
  return {
    rows,
    labels: grid.labels,
    columns: count,
    characters,
    points: rows.reduce((sum, row) => sum + row.points, 0),
  };
}
