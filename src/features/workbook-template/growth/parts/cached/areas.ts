import { type CellRange, columnNumber, MAX_COLUMN, MAX_ROW, sameName } from '../../../workbook/addresses.ts';
import type { DefinedName } from '../../../workbook/workbook.ts';
import { type FormulaReference, parseFormula } from '../../formula-references.ts';

/** Cells of the template that a chart or a pivot table reads. */
export interface Area {
  readonly sheet: string;
  readonly range: CellRange;
  /** Whether it is written as a single cell, without `:`. */
  readonly lone: boolean;
  /** Whether a defined name stands for it. Names follow growth by themselves. */
  readonly named: boolean;
}

/**
 * The areas that a reference, or the name of a reference, covers.
 * @returns `computed` if functions decide which cells it covers; `none` if it covers no cells, such as `#REF!`
 */
export function findAreas(
  formula: string,
  names: readonly DefinedName[],
  depth = 0,
): readonly Area[] | 'computed' | 'none' {
  const pieces = parseFormula(formula);
  const areas: Area[] = [];
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      if (/^[\s(),]*$/.test(piece)) continue;
      const named = pieces.length === 1 && depth < MAX_DEPTH ? findName(piece, names) : undefined;
      if (named !== undefined) return findAreas(named.formula, names, depth + 1);
      return piece.includes('(') ? 'computed' : 'none';
    }
    const area = toArea(piece, depth > 0);
    if (area === undefined) return 'none';
    areas.push(area);
  }
  return areas.length === 0 ? 'none' : areas;
}

/** Names of names are followed up to this depth. */
const MAX_DEPTH = 8;

/** Finds `Sales`, `Board!Sales` or `[0]!Sales`. */
function findName(text: string, names: readonly DefinedName[]): DefinedName | undefined {
  const end = text.lastIndexOf('!');
  const prefix = text.slice(0, Math.max(0, end)).replace(/^'|'$/g, '').replaceAll("''", "'");
  const found = names.filter(({ name }) => sameName(name, text.slice(end + 1).trim()));
  return (
    found.find(({ scope }) => scope !== null && sameName(scope, prefix)) ?? found.find(({ scope }) => scope === null)
  );
}

function toArea({ sheet, elsewhere, from, to }: FormulaReference, named: boolean): Area | undefined {
  if (sheet === null || elsewhere !== null) return undefined;
  const other = to ?? from;
  const columns = [from, other].map(({ column }, end) =>
    column === undefined ? (end === 0 ? 1 : MAX_COLUMN) : columnNumber(column.letters),
  );
  const rows = [from, other].map(({ row }, end) => row?.number ?? (end === 0 ? 1 : MAX_ROW));
  return {
    sheet,
    range: {
      from: { row: Math.min(...rows), column: Math.min(...columns) },
      to: { row: Math.max(...rows), column: Math.max(...columns) },
    },
    lone: to === undefined,
    named,
  };
}
