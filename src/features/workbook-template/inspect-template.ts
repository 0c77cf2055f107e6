import { headerAt } from './binding/bind-tables.ts';
import { bindTemplate } from './binding/bind-template.ts';
import type { BoundTable, ReportOutline, TemplateBindings } from './binding/bindings.ts';
import { headerReader } from './binding/column-headers.ts';
import { durationCells, readNumberFormats, unitProblems } from './binding/unit-problems.ts';
import { findObstacles } from './growth/find-obstacles.ts';
import { readObstacles, type SheetObstacles } from './growth/sheet-obstacles.ts';
import { findRefusedContent } from './package/refused-content.ts';
import type { TemplatePackage } from './package/template-package.ts';
import { tokenizeXmlStream } from './package/tokenize-xml.ts';
import { quoted, sample, type TemplateProblem } from './template-problem.ts';
import { type CellRange, formatCell, formatRange, isSingle } from './workbook/addresses.ts';
import { readWorkbook } from './workbook/read-workbook.ts';
import { bodyRows, type DefinedName, type TemplateWorkbook } from './workbook/workbook.ts';

/** A template that was read, with its bindings and everything known about it without figures. */
export interface InspectedTemplate {
  readonly workbook: TemplateWorkbook;
  readonly bindings: TemplateBindings;
  /** Includes the problems of the bindings. A template with an error is not filled. */
  readonly problems: readonly TemplateProblem[];
}

/**
 * Reads and binds an opened template. Check and run both use it, so they see the same problems. Throws
 * `template.invalid` for parts that cannot be read.
 */
export async function inspectTemplate(template: TemplatePackage, outline: ReportOutline): Promise<InspectedTemplate> {
  const refused = await findRefusedContent(template);
  const workbook = await readWorkbook(template);
  const bindings = bindTemplate(workbook, outline);
  const known = [...refused, ...bindings.problems];
  // Damaged or external content is reported alone, because reading the sheets would fail at the first such part.
  if (refused.some(({ severity }) => severity === 'error')) return { workbook, bindings, problems: known };
  const cells = await findCellProblems(template, workbook, bindings, outline);
  return { workbook, bindings, problems: [...known, ...cells, ...(await findObstacles(template, workbook, bindings))] };
}

/** The facts about a sheet that problems of its names and columns depend on. */
type SheetFacts = Pick<SheetObstacles, 'merged' | 'formulaCells' | 'styles'>;

const isIn = ({ row, column }: CellRange['from'], { from, to }: CellRange): boolean =>
  row >= from.row && row <= to.row && column >= from.column && column <= to.column;

/** The problem of a name whose cells are not one merged area, or whose cell is hidden by a merged area. */
function nameProblem({ name, target }: DefinedName, { merged }: SheetFacts): TemplateProblem | undefined {
  if (target === undefined) return undefined;
  const { sheet, range } = target;
  const area = merged.find((each) => isIn(range.from, each));
  const isWhole = area === undefined ? isSingle(range) : isIn(range.to, area);
  const isFirst = area === undefined || formatCell(area.from) === formatCell(range.from);
  if (isWhole && isFirst) return undefined;
  return {
    severity: 'error',
    code: 'workbook.unknown',
    at: { sheet, cell: formatRange(range) },
    expected: `one cell, or one merged area, for ${quoted(name)}`,
    got: isWhole && area !== undefined ? `a cell inside the merged area ${formatRange(area)}` : formatRange(range),
    next: `let the name point to ${formatCell(area?.from ?? range.from)}`,
  };
}

/** Problems of columns that may be meant for Docket: they get no values, and no formula computes them. */
function columnProblems(
  { table, section: id, columns }: BoundTable,
  { sections, labelsKnown }: ReportOutline,
  { formulaCells }: SheetFacts,
): readonly TemplateProblem[] {
  const section = sections.find((each) => each.id === id);
  // The service determines the fields of a list, and the catalog the labels.
  if (section === undefined || section.list || !labelsKnown) return [];
  const read = headerReader(section);
  const { last: row } = bodyRows(table);
  return table.columns.flatMap(({ header, formula }, index): TemplateProblem[] => {
    const column = table.range.from.column + index;
    const computed = formula !== undefined || formulaCells.some((cell) => cell.row === row && cell.column === column);
    const found = columns[index] === null && !computed ? read(header) : undefined;
    if (found?.kind !== 'unknown' || found.id) return [];
    const known = sample(section.columns.map(({ name }) => name));
    const renamed = found.closest === undefined ? '' : `rename it to ${quoted(found.closest)}, or `;
    return [
      {
        severity: 'warning',
        code: 'workbook.unknown',
        at: headerAt(table, index),
        expected: `a column of section ${quoted(id)} (${known}), or one with formulas`,
        got: quoted(header),
        next: `${renamed}check that the column is your own: its cells stay as they are`,
      },
    ];
  });
}

/**
 * Problems of bound names and tables that need a look at the cells: names of several or hidden cells, and columns
 * without values and formulas. Streams the sheets. Throws `template.invalid` for a sheet that cannot be read.
 */
async function findCellProblems(
  template: TemplatePackage,
  { sheets }: Pick<TemplateWorkbook, 'sheets'>,
  bindings: Pick<TemplateBindings, 'tables' | 'names'>,
  outline: ReportOutline,
): Promise<readonly TemplateProblem[]> {
  const problems: TemplateProblem[] = [];
  const durations = durationCells(bindings, outline);
  const formats = durations.length === 0 ? [] : await readNumberFormats(template);
  for (const { name: sheet, part } of sheets) {
    const names = bindings.names.filter(({ name: { target } }) => target?.sheet === sheet);
    const tables = bindings.tables.filter(({ table, columns }) => table.sheet === sheet && columns.includes(null));
    const shown = durations.filter(({ at }) => at.sheet === sheet);
    if (names.length === 0 && tables.length === 0 && shown.length === 0) continue;
    const rows = new Set(tables.map(({ table }) => bodyRows(table).last));
    const styled = new Set(shown.map(({ at: { cell } }) => cell));
    const tokens = tokenizeXmlStream(await template.openPart(part), part);
    const facts = await readObstacles(tokens, rows, undefined, styled);
    problems.push(...shown.flatMap((cell) => unitProblems(cell, formats[facts.styles.get(cell.at.cell) ?? 0])));
    problems.push(...names.flatMap(({ name }) => nameProblem(name, facts) ?? []));
    problems.push(...tables.flatMap((table) => columnProblems(table, outline, facts)));
  }
  return problems;
}
