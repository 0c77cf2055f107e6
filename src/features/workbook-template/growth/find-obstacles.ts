import type { TemplateBindings } from '../binding/bindings.ts';
import type { TemplatePackage } from '../package/template-package.ts';
import { tokenizeXml, tokenizeXmlStream } from '../package/tokenize-xml.ts';
import type { TemplateProblem } from '../template-problem.ts';
import {
  type CellRange,
  formatCell,
  formatRange,
  intersects,
  isSingle,
  parseRange,
  sameName,
} from '../workbook/addresses.ts';
import { bodyRows, type TemplateSheet, type TemplateTable, type TemplateWorkbook } from '../workbook/workbook.ts';
import { findNotFollowed, type NotFollowed } from './not-followed.ts';
import { findStretchedDrawings } from './parts/find-stretched-drawings.ts';
import { findConflicts, isSplitBy } from './plan-growth.ts';
import { type BlockFormula, readObstacles, type SheetObstacles } from './sheet-obstacles.ts';

/**
 * What would keep the bound tables from growing, and what would not follow the growth. Does not depend on data: any
 * table that can grow is assumed to grow.
 * @throws DocketError `template.invalid` for a part that cannot be read
 */
export async function findObstacles(
  template: TemplatePackage,
  workbook: TemplateWorkbook,
  bindings: TemplateBindings,
): Promise<readonly TemplateProblem[]> {
  const bound = bindings.tables.map(({ table }) => table);
  const problems: TemplateProblem[] = findConflicts(bound).map(({ table, other, shareData }) =>
    obstacle(table.sheet, formatRange(table.range), {
      expected: shareData
        ? `the first and last row of data of the table "${other.name}"`
        : `a table below or above "${other.name}", without common rows`,
      got: `"${table.name}" in ${formatRange(table.range)}, "${other.name}" in ${formatRange(other.range)}`,
      next: 'Align the two tables, or move one of them below the other or to a sheet of its own',
    }),
  );
  if (bound.length > 0) problems.push(...notFollowedByNames(workbook));
  for (const sheet of workbook.sheets) {
    if (sheet.kind !== 'worksheet') continue;
    const tables = bound.filter((table) => sameName(table.sheet, sheet.name));
    const rows = new Set(tables.flatMap((table) => [bodyRows(table).last, bodyRows(table).last - 1]));
    const found = await readObstacles(tokenizeXmlStream(await template.openPart(sheet.part), sheet.part), rows, (row) =>
      tables.some((table) => bodyRows(table).first <= row && row <= bodyRows(table).last),
    );
    problems.push(...outOfOrder(sheet, found));
    if (bound.length === 0) continue;
    problems.push(...notFollowedBySheet(sheet, found), ...tooLongFormulas(sheet, found));
    if (tables.length === 0) continue;
    problems.push(...findSplitTables(workbook, tables), ...inTheWay(sheet, tables, found));
    problems.push(...findRowProblems(sheet, tables, found), ...(await findSplitPivots(template, sheet, tables)));
    problems.push(...(await findStretchedDrawings(template, sheet, tables)));
  }
  return problems;
}

/** Unbound tables that inserted rows would split. */
function findSplitTables(workbook: TemplateWorkbook, tables: readonly TemplateTable[]): readonly TemplateProblem[] {
  const names = new Set(tables.map(({ name }) => name));
  return workbook.tables
    .filter(({ name, sheet }) => sheet === tables[0]?.sheet && !names.has(name))
    .flatMap((other) => {
      const growing = splitting(other.range, tables);
      if (growing === undefined) return [];
      return obstacle(other.sheet, formatRange(other.range), {
        expected: `a table that ends at or above row ${bodyRows(growing).last}, or starts below it`,
        got: `the table "${other.name}" in ${formatRange(other.range)}, where "${growing.name}" grows`,
        next: `Move "${other.name}" below "${growing.name}" or to a sheet of its own`,
      });
    });
}

const MERGED = { what: 'merged cells', without: 'merged cells', next: 'Undo the merge' };
const BLOCKS: Readonly<Record<BlockFormula['kind'], typeof MERGED>> = {
  array: {
    what: 'an array formula',
    without: 'array formulas',
    next: 'Enter it as an ordinary formula, or move it out of the table',
  },
  spill: {
    what: 'a formula that spills',
    without: 'formulas that spill',
    next: 'Put @ in front of what has several values, or move the formula out of the table',
  },
  'data table': { what: 'a data table', without: 'data tables (what-if analysis)', next: 'Move it out of the table' },
};

/** Merged cells, and formulas whose results fill a range, that are in a table or that inserted rows would split. */
function inTheWay(
  sheet: TemplateSheet,
  tables: readonly TemplateTable[],
  { merged, blocks }: SheetObstacles,
): readonly TemplateProblem[] {
  const ranges = [
    ...merged.map((range) => ({ range, ...MERGED })),
    // An array formula in a single cell of a table is fine: new rows copy it like any other formula.
    ...blocks
      .filter(({ kind, range }) => kind === 'data table' || !isSingle(range))
      .map(({ kind, range }) => ({ range, ...BLOCKS[kind] })),
  ];
  // Reports one problem per kind and table, however many ranges there are.
  const first = new Map<string, { readonly problem: TemplateProblem; more: number }>();
  for (const { range, what, without, next } of ranges) {
    const inside = tables.find((table) => intersects(range, dataRange(table)));
    const growing = inside ?? splitting(range, tables);
    if (growing === undefined) continue;
    const key = JSON.stringify([what, growing.name, inside === undefined]);
    const seen = first.get(key);
    if (seen !== undefined) seen.more += 1;
    else {
      const problem = obstacle(sheet.name, formatRange(range), {
        expected: inside
          ? `the table "${growing.name}" without ${without}`
          : `cells that end at or above row ${bodyRows(growing).last}, or start below it`,
        got: `${what} in ${formatRange(range)}, where "${growing.name}" grows`,
        next: inside ? next : 'Move what is there above or below the table, or to another sheet',
      });
      first.set(key, { problem, more: 0 });
    }
  }
  return [...first.values()].map(({ problem, more }) =>
    more === 0 ? problem : { ...problem, got: `${problem.got}; ${more} more such ${more === 1 ? 'range' : 'ranges'}` },
  );
}

/** Warns about how a table's new rows will look: hidden, or without the formulas beside the table. */
function findRowProblems(
  sheet: TemplateSheet,
  tables: readonly TemplateTable[],
  { formulaCells, hiddenRows }: SheetObstacles,
): readonly TemplateProblem[] {
  const problems: TemplateProblem[] = [];
  for (const last of new Set(tables.map((table) => bodyRows(table).last))) {
    const inRows = tables.filter((table) => bodyRows(table).last === last);
    const [table] = inRows;
    if (table === undefined) continue;
    if (hiddenRows.has(last)) {
      problems.push({
        ...obstacle(sheet.name, `${last}:${last}`, {
          expected: `a visible last row of the table "${table.name}", because new rows look like it`,
          got: `row ${last} is hidden or filtered out`,
          next: 'Show the row, or clear the filter',
        }),
        severity: 'warning',
      });
    } else {
      const hidden = [...hiddenRows].filter((row) => bodyRows(table).first <= row && row <= last);
      const [row] = hidden;
      if (row !== undefined) {
        problems.push({
          ...obstacle(sheet.name, `${row}:${row}`, {
            expected: `visible rows of data in the table "${table.name}", because they get figures`,
            got:
              hidden.length === 1
                ? `row ${row} is hidden or filtered out`
                : `${hidden.length} rows are hidden or filtered out`,
            next: 'Show the rows, or clear the filter',
          }),
          severity: 'warning',
        });
      }
    }
    const above = new Set(formulaCells.filter(({ row }) => row === last - 1).map(({ column }) => column));
    const column = formulaCells.find(
      (cell) =>
        cell.row === last && above.has(cell.column) && !inRows.some(({ range }) => isBetween(cell.column, range)),
    )?.column;
    if (column === undefined || bodyRows(table).first === last) continue;
    const cell = { row: last, column };
    problems.push({
      severity: 'warning',
      code: 'workbook.not_followed',
      at: { sheet: sheet.name, cell: formatCell(cell) },
      expected: 'formulas for each row in columns of the table',
      got: `formulas beside the table "${table.name}", which new rows do not get`,
      next: `Extend "${table.name}" over their columns, or ignore this if they are not for each row`,
    });
  }
  return problems;
}

/** Pivot tables that inserted rows would split. */
async function findSplitPivots(
  template: TemplatePackage,
  sheet: TemplateSheet,
  tables: readonly TemplateTable[],
): Promise<readonly TemplateProblem[]> {
  const problems: TemplateProblem[] = [];
  for (const { type, target } of await template.relationships(sheet.part)) {
    if (!type.endsWith('/pivotTable')) continue;
    const range = pivotRange(await template.readText(target), target);
    const growing = range && splitting(range, tables);
    if (range === undefined || growing === undefined) continue;
    problems.push(
      obstacle(sheet.name, formatRange(range), {
        expected: `a pivot table that ends at or above row ${bodyRows(growing).last}, or starts below it`,
        got: `a pivot table in ${formatRange(range)}, where "${growing.name}" grows`,
        next: 'Move the pivot table to a sheet of its own',
      }),
    );
  }
  return problems;
}

function pivotRange(xml: string, part: string): CellRange | undefined {
  for (const token of tokenizeXml(xml, part)) {
    if (token.kind === 'open' && token.local === 'location') return parseRange(token.attributes.ref ?? '');
  }
  return undefined;
}

const outOfOrder = ({ name }: TemplateSheet, { outOfOrder: cell }: SheetObstacles): readonly TemplateProblem[] =>
  cell === null
    ? []
    : [
        {
          severity: 'error',
          code: 'workbook.invalid',
          at: { sheet: name, cell },
          expected: 'rows and cells in ascending order',
          got: 'rows or cells out of order',
          next: 'Open the workbook in Excel, save it again, and check it',
        },
      ];

/** Reports only the first formula that is too long. */
const tooLongFormulas = ({ name }: TemplateSheet, { tooLong }: SheetObstacles): readonly TemplateProblem[] =>
  tooLong === null
    ? []
    : [
        {
          severity: 'error',
          code: 'workbook.invalid',
          at: { sheet: name, ...(tooLong.cell === undefined ? {} : { cell: tooLong.cell }) },
          expected: 'formulas of at most 8,192 characters, as in Excel',
          got: 'a longer formula',
          next: 'Split the formula into several cells',
        },
      ];

const notFollowedBySheet = ({ name }: TemplateSheet, { notFollowed }: SheetObstacles): readonly TemplateProblem[] =>
  [...notFollowed].map(([kind, { cell, formulas }]) => ({
    ...notFollowedProblem(kind, formulas === 1 ? kind : `${kind} in ${formulas} formulas`),
    at: { sheet: name, ...(cell === undefined ? {} : { cell }) },
  }));

const notFollowedByNames = ({ names }: TemplateWorkbook): readonly TemplateProblem[] =>
  names.flatMap(({ name, scope, formula }) =>
    [...findNotFollowed(formula)].map((kind) => ({
      ...notFollowedProblem(kind, `${kind} in the name "${name}"`),
      ...(scope === null ? {} : { at: { sheet: scope } }),
    })),
  );

const notFollowedProblem = (kind: NotFollowed, got: string): TemplateProblem => ({
  severity: 'warning',
  code: 'workbook.not_followed',
  expected: 'references that follow when tables grow',
  got,
  next:
    kind === 'references across several sheets'
      ? 'Name each sheet, or make sure that no table grows above these cells'
      : 'Use a range, INDEX, or the table and column by name, or make sure that no table grows above these cells',
});

const obstacle = (
  sheet: string,
  cell: string,
  text: { readonly expected: string; readonly got: string; readonly next: string },
): TemplateProblem => ({ severity: 'error', code: 'workbook.obstacle', at: { sheet, cell }, ...text });

/** The table whose new rows would split the range. */
const splitting = (range: CellRange, tables: readonly TemplateTable[]): TemplateTable | undefined =>
  tables.find((table) => isSplitBy(range, bodyRows(table).last));

/** The header and data of a table. Its totals row may have any content. */
const dataRange = (table: TemplateTable): CellRange => ({
  from: table.range.from,
  to: { row: bodyRows(table).last, column: table.range.to.column },
});

const isBetween = (column: number, { from, to }: CellRange): boolean => from.column <= column && column <= to.column;
