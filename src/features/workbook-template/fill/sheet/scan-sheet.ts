import { DocketError } from '../../../../base/error.ts';
import type { GrowthPlan, ReferenceMap } from '../../growth/growth.ts';
import { mapFormula } from '../../growth/map-formula.ts';
import { createSheetMapper } from '../../growth/map-sheet.ts';
import type { TemplatePackage } from '../../package/template-package.ts';
import { tokenizeXmlStream } from '../../package/tokenize-xml.ts';
import type { XmlToken } from '../../package/xml-tokens.ts';
import { type CellRange, MAX_ROW, parseRange } from '../../workbook/addresses.ts';
import { namesIn } from '../stale-sheets.ts';
import { formulaText, type SharedFormula, type SheetFormulas } from './formula-cells.ts';
import { type BandFill, fallsOff, type SheetFill, shrinks } from './sheet-fill.ts';
import { createSheetReader } from './sheet-reader.ts';
import { isEmpty, type SheetCell, type SheetRow } from './sheet-rows.ts';

/** The result of scanning a sheet. Rows are written one by one, so it must be known before. */
export interface SheetScan extends SheetFormulas {
  /** Whether the sheet changes: it gets values, or growth changes its formulas or the elements around its rows. */
  readonly changes: boolean;
  /** Names used in its formulas, in lower case. */
  readonly mentions: ReadonlySet<string>;
  /** Totals rows that move up, by row number. */
  readonly totals: ReadonlyMap<number, SheetRow>;
}

/** The planned rows of the tables, and where references move. */
export interface Growth {
  readonly plan: GrowthPlan;
  readonly map: ReferenceMap;
}

/** Reads a sheet once. Only keeps in memory what it returns. */
export async function scanSheet(
  template: TemplatePackage,
  { sheet, bands, names }: SheetFill,
  { plan, map }: Growth,
): Promise<SheetScan> {
  const shared = new Map<string, SharedFormula>();
  const arrays: CellRange[] = [];
  const totals = new Map<number, SheetRow>();
  const movedTotals = new Set(bands.flatMap(({ band }) => (shrinks(band) ? [band.last + 1] : [])));
  const mentions = new Set<string>();
  let changes = bands.length > 0 || names.size > 0;

  const mapper = createSheetMapper(sheet.name, plan, map);
  const isReplaced = (row: number, column: number): boolean =>
    names.get(row)?.has(column) === true || bands.some((band) => writesCell(band, row, column));

  const scanShared = (cell: SheetCell, row: number, id: string): void => {
    const { formula, column } = cell;
    if (formula === undefined) return;
    if (formula.text !== '')
      shared.set(id, { text: formula.text, row, column, changes: shared.get(id)?.changes ?? false });
    const first = shared.get(id);
    if (first === undefined || first.changes) return;
    const text = formulaText(formula, row, column, shared);
    const place = { row, filled: isFilled(bands, row, column) };
    const changed =
      isReplaced(row, column) ||
      map.row(sheet.name, row) !== row ||
      movedTotals.has(row) ||
      mapFormula(text, sheet.name, map, place) !== text;
    if (changed) shared.set(id, { ...first, changes: true });
    changes ||= changed;
  };
  const scanCell = (cell: SheetCell, row: number): void => {
    if (cell.formula === undefined) return;
    const { open, text } = cell.formula;
    for (const name of namesIn(text)) mentions.add(name);
    const { t: kind, si, ref } = open.attributes;
    if (kind === 'shared') {
      scanShared(cell, row, si ?? '');
      return;
    }
    const range = ref === undefined ? undefined : parseRange(ref);
    if (range !== undefined && (range.from.row < range.to.row || range.from.column < range.to.column))
      arrays.push(range);
    changes ||=
      text !== '' && mapFormula(text, sheet.name, map, { row, filled: isFilled(bands, row, cell.column) }) !== text;
  };

  for (const row of names.keys()) assertStays(sheet.name, bands, row);
  const reader = createSheetReader(`${template.file}:${sheet.name}`);
  for await (const tokens of tokenizeXmlStream(await template.openPart(sheet.part), sheet.part)) {
    const around: XmlToken[] = [];
    for (const piece of reader.read(tokens)) {
      if (piece.kind === 'around') around.push(piece.token);
      if (piece.kind !== 'row') continue;
      if (movedTotals.has(piece.row.row)) totals.set(piece.row.row, piece.row);
      if (!piece.row.cells.every(isEmpty)) assertStays(sheet.name, bands, piece.row.row);
      for (const cell of piece.row.cells) scanCell(cell, piece.row.row);
    }
    if (map.changes) for (const _ of mapper.map(around));
  }
  return { changes: changes || mapper.changed, mentions, shared, arrays, totals };
}

/** Like Excel, refuses to insert rows that would push content off the sheet. */
function assertStays(sheet: string, bands: readonly BandFill[], row: number): void {
  if (!fallsOff(bands, row)) return;
  throw new DocketError('render.failed', `The sheet "${sheet}" of the template would have too many rows for Excel.`, {
    expected: `content that stays within ${MAX_ROW.toLocaleString('en')} rows`,
    got: `content in row ${row.toLocaleString('en')} of the template, below a table that grows`,
    next: 'Move that content up, or delete it.',
  });
}

/** Whether the cell is in the body of a bound table. */
export const isFilled = (bands: readonly BandFill[], row: number, column: number): boolean =>
  bands.some(
    ({ band }) =>
      band.first <= row &&
      row <= band.last &&
      band.tables.some(({ fromColumn, toColumn }) => fromColumn <= column && column <= toColumn),
  );

/** Whether the cell gets a value, is cleared, or is replaced by another cell. */
const writesCell = ({ band, tables }: BandFill, row: number, column: number): boolean =>
  tables.some(({ table, bound, length }) => {
    const { from, to } = table.range;
    if (column < from.column || to.column < column) return false;
    if (row < band.first || row > band.last) return shrinks(band) && row === band.last + 1;
    return bound[column - from.column] === true || row - band.first >= Math.max(1, length);
  });
