import type { Row, Table, Value } from '../../../../../fetch/dataset.ts';
import { firstRows, iterateRows } from '../../../../../fetch/rows.ts';
import { messagesFor } from '../../../../../i18n/messages.ts';
import type { Figures } from '../../../../figures/change-text.ts';
import { isFigureColumn, isTransposed, type ViewColumn } from '../../../../figures/columns.ts';
import { absoluteChange, casesBehind, type FewRules, fewText, isFewChange } from '../../../../figures/few.ts';
import { changeIn } from '../../../../figures/quantity.ts';
import type { Cell } from '../../package/sheet-rows.ts';
import { differenceNumberFormat, withSuffix } from '../../style/number-formats.ts';
import { type CellStyle, COLOURS } from '../../style/styles.ts';
import type { Grid } from './grid.ts';

/**
 * Creates cells for few cases. The number format of a figure shows the number of cases; a change is a difference
 * without a colour. Both stay numbers.
 */
export function createFewCells(rules: FewRules, columns: readonly ViewColumn[], locale: string) {
  const words = messagesFor(locale);
  const styles = new Map<CellStyle, Map<string, CellStyle>>();
  const styled = (style: CellStyle, numFmt: string): CellStyle => {
    const known = styles.get(style) ?? new Map<string, CellStyle>();
    styles.set(style, known);
    const made = known.get(numFmt) ?? { ...style, numFmt, font: { ...style.font, color: { argb: COLOURS.quiet } } };
    known.set(numFmt, made);
    return made;
  };
  return (view: ViewColumn, value: Value | undefined, figures: Figures | undefined, cell: Cell): Cell => {
    const { source, role, comparison } = view;
    if (rules.small === undefined || figures === undefined || source.kind !== 'metric') return cell;
    const suffix = fewText(rules, source, value, casesBehind(view, figures));
    if (suffix !== undefined)
      return { ...cell, style: styled(cell.style, withSuffix(cell.style.numFmt ?? '', suffix)) };
    const compared = comparison === undefined ? undefined : figures.compare?.[comparison];
    if (role !== 'change' || comparison === undefined || !isFewChange(rules, source, figures, compared)) return cell;
    const figure = columns.find((each) => each.role === 'value' && each.source === source);
    if (figure === undefined) return cell;
    const [now, before] = [figures.values[source.name], compared?.values[source.name]];
    const { kind, value: change } = absoluteChange(
      changeIn(source, figures.values, compared),
      now,
      before,
      figure.quantity,
    );
    if (change === null) return cell;
    if (kind === 'points') return { ...cell, style: styled(cell.style, cell.style.numFmt ?? '') };
    return {
      ...cell,
      value: change,
      style: styled(cell.style, differenceNumberFormat(figure.quantity, change, words)),
    };
  };
}

/** Marks the cells with few cases in a section's grid, and widens columns as needed. */
export function withFewCells(
  grid: Grid,
  rules: FewRules,
  table: Table,
  columns: readonly ViewColumn[],
  locale: string,
): Grid {
  if (rules.small === undefined || table.columns.every(({ kind }) => kind !== 'metric')) return grid;
  const fewCell = createFewCells(rules, columns, locale);
  const measureSuffix = (view: ViewColumn, row: Row): number =>
    fewText(rules, view.source, view.read(row), casesBehind(view, row))?.length ?? 0;
  if (isTransposed(table, columns)) {
    const [row] = firstRows(table.rows, 1);
    const figures = columns.filter(isFigureColumn);
    const metrics = figures.filter(({ role }) => role === 'value');
    const widest = Math.max(0, ...figures.map((view) => (row === undefined ? 0 : measureSuffix(view, row))));
    return {
      ...grid,
      widths: grid.widths.map((width, index) => (index === 0 || widest === 0 ? width : width + widest + 1)),
      rows: [...grid.rows].map((cells, index) => {
        const own = figures.filter(({ source }) => source === metrics[index]?.source);
        return cells.map((cell, at) => {
          // The figures of the row come first, then those of the totals.
          const view = own[(at - 1) % own.length];
          if (at === 0 || view === undefined) return cell;
          return at <= own.length
            ? fewCell(view, row && view.read(row), row, cell)
            : fewCell(view, view.total, table.totals && { ...table.totals }, cell);
        });
      }),
    };
  }
  const rows = function* (): Iterable<readonly Cell[]> {
    const read = iterateRows(table.rows)[Symbol.iterator]();
    try {
      for (const cells of grid.rows) {
        const { value: row, done } = read.next();
        yield done
          ? cells
          : cells.map((cell, index) => {
              const view = columns[index];
              return view === undefined ? cell : fewCell(view, view.read(row), row, cell);
            });
      }
    } finally {
      read.return?.();
    }
  };
  const { totals } = grid;
  return {
    ...grid,
    widths: grid.widths.map((width, index) => {
      const view = columns[index];
      if (view === undefined || !isFigureColumn(view)) return width;
      let widest = fewText(rules, view.source, view.total, casesBehind(view, table.totals))?.length ?? 0;
      for (const row of iterateRows(table.rows)) widest = Math.max(widest, measureSuffix(view, row));
      return widest === 0 ? width : width + widest + 1;
    }),
    rows: { [Symbol.iterator]: () => rows()[Symbol.iterator]() },
    ...(totals === undefined
      ? {}
      : {
          totals: totals.map((cell, index) => {
            const view = columns[index];
            return view === undefined ? cell : fewCell(view, view.total, table.totals, cell);
          }),
        }),
  };
}
